"""Questions about threads: their assets, context, messages and briefings."""

from __future__ import annotations
