"""What a thread is on disk: its assets, its relations, and what an agent is told of it.

No door: the hook program starts in a few milliseconds and takes only the module it
needs.
"""
