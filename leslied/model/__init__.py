"""The nouns every room shares: frozen, no I/O, nothing but nouns."""

from __future__ import annotations
