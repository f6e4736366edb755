"""A home with presentable sessions, for pictures of the page.

`logs.py` writes logs as agents do, `history.py` and `feature.py` hold the sessions.
Everything in them is invented.
"""
