"""The write side of the store: one transaction per commit."""

from __future__ import annotations
