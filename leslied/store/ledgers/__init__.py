"""Ledgers: what each stage has done and what is due, one table or two each."""

from __future__ import annotations
