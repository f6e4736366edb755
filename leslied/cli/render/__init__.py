"""Texts for the terminal: tables, sessions, records, diffs, Markdown."""

from __future__ import annotations
