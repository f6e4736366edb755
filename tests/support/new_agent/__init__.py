"""Making the beginning of an adapter."""

from __future__ import annotations
