"""Define the types that all packages share: immutable data, no I/O."""

from __future__ import annotations
