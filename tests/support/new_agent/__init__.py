"""Create the skeleton of an adapter."""

from __future__ import annotations
