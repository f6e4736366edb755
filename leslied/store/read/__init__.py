"""The read side of the store: read-only queries over sessions and records."""

from __future__ import annotations
