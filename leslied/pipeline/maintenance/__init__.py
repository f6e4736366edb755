"""Work that runs only on request: prune and rebuild."""

from __future__ import annotations
