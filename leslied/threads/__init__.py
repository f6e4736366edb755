"""Threads on disk: their assets, their relations, and the context agents receive.

This package re-exports nothing: the hook program must start within a few milliseconds
and imports only the modules that it needs.
"""
