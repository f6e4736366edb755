"""Prompts typed while the agent works.

Three kinds of line tell of them, in different versions and any order: the queue
operation, an attachment, and the user line of the next turn. Paired by text, each
prompt is told once.
"""

from __future__ import annotations

import hashlib
from typing import Any

_MOST_TEXT = 2400
_MOST_TOLD = 24


def remember_queued(state: dict[str, Any], text: str) -> dict[str, Any]:
    """The text waits; what would not fit in the notes waits cut short."""
    waiting = [*state.get("queued", []), text]
    while len(waiting) > 1 and sum(map(len, waiting)) > _MOST_TEXT:
        waiting = waiting[1:]
    return {**state, "queued": [text[:_MOST_TEXT] for text in waiting]}


def take_queued(state: dict[str, Any], text: str | None) -> tuple[str, dict[str, Any]]:
    """The oldest waiting text, or the one named, which then waits no more."""
    waiting = state.get("queued", [])
    if text is None:
        text = waiting[0] if waiting else ""
    return text, forget_queued(state, text)


def forget_queued(state: dict[str, Any], text: str) -> dict[str, Any]:
    """The text was told elsewhere: it no longer waits."""
    waiting = state.get("queued")
    if not waiting:
        return state
    cut = text[:_MOST_TEXT]
    if cut not in waiting:
        return state
    at = waiting.index(cut)
    return {**state, "queued": waiting[:at] + waiting[at + 1 :]}


def clear_queued(state: dict[str, Any]) -> dict[str, Any]:
    """Everything that waited went back to the person."""
    return {name: value for name, value in state.items() if name != "queued"}


def tell_once(state: dict[str, Any], text: str) -> tuple[bool, dict[str, Any]]:
    """Whether a text delivered in mid-turn is told for the first time."""
    mark = hashlib.sha256(text.encode(errors="replace")).hexdigest()[:12]
    told = state.get("told", [])
    if mark in told:
        at = told.index(mark)
        return False, {**state, "told": told[:at] + told[at + 1 :]}
    return True, {**state, "told": [*told, mark][-_MOST_TOLD:]}
