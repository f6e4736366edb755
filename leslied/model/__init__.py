"""The nouns every room shares: frozen, standard library only, no I/O."""

from __future__ import annotations
