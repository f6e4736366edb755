"""Prompts typed while the agent works.

Three kinds of line tell of them, in different versions and any order: the queue
operation, an attachment, and the user line of the next turn. Paired by text, each
prompt is told once, and the same words typed twice are two prompts.
"""

from __future__ import annotations

import hashlib
from typing import Any, Literal

from leslied.agents._parsing import to_json

QueueLineKind = Literal["remove", "attachment"]

_MAX_QUEUED = 12
_MAX_QUEUED_BYTES = 1600
_MAX_DELIVERED = 16


def add_queued(state: dict[str, Any], text: str) -> dict[str, Any]:
    """The text waits; where the notes would grow too long, it waits cut short."""
    waiting = [*state.get("queued", []), _truncate(text, _MAX_QUEUED_BYTES // 2)]
    while (
        len(waiting) > _MAX_QUEUED or len(to_json(waiting).encode()) > _MAX_QUEUED_BYTES
    ):
        waiting = waiting[1:]
    return {**state, "queued": waiting}


def pop_queued(state: dict[str, Any], text: str | None) -> tuple[str, dict[str, Any]]:
    """The oldest waiting text, or the one named, which then waits no more."""
    waiting = state.get("queued", [])
    if text is None:
        text = waiting[0] if waiting else ""
    return text, remove_queued(state, text)


def remove_queued(state: dict[str, Any], *texts: str) -> dict[str, Any]:
    """The first of the texts that waits was told elsewhere: it waits no more."""
    waiting = state.get("queued")
    if not waiting:
        return state
    for text in texts:
        cut = _truncate(text, _MAX_QUEUED_BYTES // 2)
        if cut in waiting:
            at = waiting.index(cut)
            return {**state, "queued": waiting[:at] + waiting[at + 1 :]}
    return state


def clear_queued(state: dict[str, Any]) -> dict[str, Any]:
    """Everything that waited went back to the person."""
    return {name: value for name, value in state.items() if name != "queued"}


def mark_delivered(
    state: dict[str, Any], text: str, line_kind: QueueLineKind
) -> tuple[bool, dict[str, Any]]:
    """Whether no line of the other kind has told this delivery already."""
    digest = hashlib.sha256(text.encode(errors="replace")).hexdigest()[:12]
    other = "attachment" if line_kind == "remove" else "remove"
    told = state.get("told", [])
    mark = f"{other}:{digest}"
    if mark in told:
        at = told.index(mark)
        return False, {**state, "told": told[:at] + told[at + 1 :]}
    return True, {**state, "told": [*told, f"{line_kind}:{digest}"][-_MAX_DELIVERED:]}


def _truncate(text: str, size: int) -> str:
    """The text, or as much of its beginning as takes so many bytes of JSON."""
    if len(to_json(text).encode()) <= size:
        return text
    cut = text[:size]
    while len(to_json(cut).encode()) > size:
        cut = cut[: len(cut) * 3 // 4]
    return cut
