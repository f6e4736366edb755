"""What comes out: one public module per output, each pure."""

from __future__ import annotations
