"""Restore a chat from VS Code's log of changes."""

from __future__ import annotations

from typing import Any

from leslied.agents._entry import as_list
from leslied.agents._parsing import parse_object, parse_value
from leslied.errors import DecodeError

_WHOLE, _SET, _PUSH, _DELETE = 0, 1, 2, 3
"""Kinds of changes: the whole chat, a field's value, items of a list, a deletion."""


def restore_chat(data: bytes) -> Any:
    """Return the chat after all changes, or raise DecodeError.

    A change that does not fit is skipped. So is a line that cannot be parsed, unless it
    is the first line. Usually, such a line is the last one and not complete yet.
    """
    chat: Any = None
    for line in data.split(b"\n"):
        if not line.strip():
            continue
        try:
            change = parse_value(line) if chat is None else parse_object(line)
        except DecodeError:
            if chat is None:
                raise
            continue
        if chat is None or change.get("kind") == _WHOLE:
            chat = _get_chat(change)
        else:
            _apply_change(chat, change)
    return chat


def _get_chat(change: Any) -> Any:
    """Return the chat in a change of kind `_WHOLE`; any other value is a chat."""
    is_change = isinstance(change, dict) and change.get("kind") == _WHOLE
    return change.get("v") if is_change else change


def _apply_change(chat: Any, change: dict[str, Any]) -> None:
    """Apply a change to the chat, which is modified."""
    path = as_list(change.get("k"))
    holder = chat
    for step in path[:-1]:
        holder = _get_item(holder, step)
    if not path:
        return
    step, value, kind = path[-1], change.get("v"), change.get("kind")
    if kind == _PUSH:
        items = _get_item(holder, step)
        if not isinstance(items, list):
            items = []
        if type(length := change.get("i")) is int and length >= 0:
            items = items[:length]
        _set_item(holder, step, [*items, *as_list(value)])
    elif kind in (_SET, _DELETE):
        _set_item(holder, step, value if kind == _SET else None)


def _get_item(holder: Any, step: Any) -> Any:
    if isinstance(holder, dict) and isinstance(step, str):
        return holder.get(step)
    if isinstance(holder, list) and type(step) is int and 0 <= step < len(holder):
        return holder[step]
    return None


def _set_item(holder: Any, step: Any, value: Any) -> None:
    if isinstance(holder, dict) and isinstance(step, str):
        holder[step] = value
    elif isinstance(holder, list) and type(step) is int:
        if 0 <= step < len(holder):
            holder[step] = value
        elif step == len(holder):
            holder.append(value)
