"""Track prompts that were typed while the agent worked.

Depending on the version, up to three kinds of lines report such a prompt, in any order:
the queue operation, an attachment, and the user line of the next turn. They are paired
by text, so that each prompt is decoded once and the same text typed twice is two
prompts.
"""

from __future__ import annotations

import hashlib
from typing import Any, Literal

from leslied.agents._parsing import to_json

QueueLineKind = Literal["remove", "attachment"]

# The queue is part of the decode state, which must stay small.
_MAX_QUEUED = 12
_MAX_QUEUED_BYTES = 1600
_MAX_TEXT_BYTES = _MAX_QUEUED_BYTES // 2
_MAX_DELIVERED = 16
_DELIVERED_KEY = "told"
"""Key of the delivered prompts; it must stay, because stored states contain it."""


def add_queued(state: dict[str, Any], text: str) -> dict[str, Any]:
    """Return the state with the text, maybe truncated, at the end of the queue.

    If the queue is full, its oldest texts are dropped.
    """
    queued = [*state.get("queued", []), _truncate(text, _MAX_TEXT_BYTES)]
    while (
        len(queued) > _MAX_QUEUED or len(to_json(queued).encode()) > _MAX_QUEUED_BYTES
    ):
        queued = queued[1:]
    return {**state, "queued": queued}


def pop_queued(state: dict[str, Any], text: str | None) -> tuple[str, dict[str, Any]]:
    """Remove `text`, or the oldest queued text if `text` is None.

    Return the removed text, or "" if there is none to remove, and the new state.
    """
    queued = state.get("queued", [])
    if text is None:
        text = queued[0] if queued else ""
    return text, remove_queued(state, text)


def remove_queued(state: dict[str, Any], *texts: str) -> dict[str, Any]:
    """Return the state without the first of these texts that is in the queue."""
    queued = state.get("queued")
    if not queued:
        return state
    for text in texts:
        truncated = _truncate(text, _MAX_TEXT_BYTES)
        if truncated in queued:
            index = queued.index(truncated)
            return {**state, "queued": queued[:index] + queued[index + 1 :]}
    return state


def clear_queued(state: dict[str, Any]) -> dict[str, Any]:
    """Return the state without the queue: its prompts are in the input field again."""
    return {name: value for name, value in state.items() if name != "queued"}


def mark_delivered(
    state: dict[str, Any], text: str, line_kind: QueueLineKind
) -> tuple[bool, dict[str, Any]]:
    """Record a delivered prompt; return whether it is new, and the new state.

    The prompt is not new if a line of the other kind has already reported it.
    """
    digest = hashlib.sha256(text.encode(errors="replace")).hexdigest()[:12]
    other_kind = "attachment" if line_kind == "remove" else "remove"
    delivered_marks = state.get(_DELIVERED_KEY, [])
    other_mark = f"{other_kind}:{digest}"
    if other_mark in delivered_marks:
        index = delivered_marks.index(other_mark)
        unpaired_marks = delivered_marks[:index] + delivered_marks[index + 1 :]
        return False, {**state, _DELIVERED_KEY: unpaired_marks}
    marks = [*delivered_marks, f"{line_kind}:{digest}"][-_MAX_DELIVERED:]
    return True, {**state, _DELIVERED_KEY: marks}


def _truncate(text: str, size: int) -> str:
    """Return the text, or a prefix of it that is at most `size` bytes of JSON."""
    if len(to_json(text).encode()) <= size:
        return text
    prefix = text[:size]
    while len(to_json(prefix).encode()) > size:
        prefix = prefix[: len(prefix) * 3 // 4]
    return prefix
