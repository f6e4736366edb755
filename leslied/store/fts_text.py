"""Text of a record for the full-text index.

CJK runs are split into single characters, in records and in queries, and matched as
phrases, because the tokenizer does not find words inside a run.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from leslied.model.record import Record

MAX_RESULT_CHARACTERS = 10_000
"""Characters of a tool result that are indexed; the store has the whole text."""
UNINDEXED_FROM = "unindexed_from"
"""Key in `meta` of the first record that is not indexed yet; missing if all are."""

MAX_INDEXED_CHARACTERS = 1024 * 1024
"""Characters of any other text that are indexed. Spaced CJK text takes six bytes for
each character, and a lock is held while the index reads the text."""

CJK_CHARACTERS = (
    "\u3040-\u30ff\u3100-\u318f\u31a0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
"""Ranges of CJK characters, for a set in a pattern."""
_CJK_RUN = f"[{CJK_CHARACTERS}]{{1,4096}}"
"""CJK characters in a row; a run is limited, because Python splits it into objects."""
_BELOW_CJK = bytes(range(0xE3))
"""Bytes below the first byte of any CJK character in UTF-8.

A text that consists only of these bytes contains no CJK.
"""
INDEXED_TYPES = frozenset(
    {"user_message", "assistant_message", "thinking", "tool_use", "tool_result"}
)


def extract_index_text(
    record: Record, max_characters: int | None = MAX_INDEXED_CHARACTERS
) -> str:
    """Return the text to index for a record; empty for types that are not indexed."""
    if record.type not in INDEXED_TYPES and not record.is_output:
        return ""
    if record.type == "tool_use":
        text = f"{record.tool_name} {extract_strings(record.tool_input)}"
    elif record.is_output:
        text = (record.spilled or record.content)[:MAX_RESULT_CHARACTERS]
    else:
        text = record.content
    return space_cjk(text[:max_characters])


def space_cjk(text: str) -> str:
    """Surround every CJK character with spaces."""
    if text.isascii() or not text.encode(errors="replace").translate(None, _BELOW_CJK):
        return text
    # Compiled on first use: that takes 3 ms.
    return re.sub(_CJK_RUN, lambda run: f" {'  '.join(run[0])} ", text)


def extract_strings(tool_input: str) -> str:
    """Return every string in a call's arguments, without the argument names.

    Return the arguments unchanged if they cannot be decoded as JSON.
    """
    if not tool_input:
        return ""
    try:
        value = msgspec.json.decode(tool_input)
    except (msgspec.DecodeError, RecursionError):
        return tool_input
    strings: list[str] = []
    try:
        _collect_strings(value, strings)
    except RecursionError:
        return tool_input
    return "\n".join(strings)


def _collect_strings(value: Any, strings: list[str]) -> None:
    """Append every string inside a JSON value to `strings`."""
    if isinstance(value, str):
        strings.append(value)
    elif isinstance(value, dict):
        for item in value.values():
            _collect_strings(item, strings)
    elif isinstance(value, list):
        for item in value:
            _collect_strings(item, strings)
