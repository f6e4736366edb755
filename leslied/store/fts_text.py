"""What the full-text index sees of a record, and of a query.

CJK runs are spaced into single characters on both sides and matched as phrases: the
tokenizer alone finds no word inside a run.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from leslied.model.record import Record

MAX_RESULT_CHARACTERS = 10_000
"""Of a tool result, so much is indexed; the store keeps all of it."""

_CJK_CHARACTER = re.compile(
    "([\u3040-\u30ff\u3100-\u318f\u31a0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff])"
)
_VISIBLE_ASCII = re.compile("[!-~]")
_PARTIAL_TOKEN = re.compile(r"(?<![!-~])(?=[!-~]*\d)(?=[!-~]*[A-Za-z])[!-~]+$")
"""What a text ends with, where it is one run of letters and digits."""
_BELOW_CJK = bytes(range(0xE3))
"""UTF-8 bytes that occur in text without CJK: dropping them leaves nothing."""
INDEXED_TYPES = frozenset(
    {"user_message", "assistant_message", "thinking", "tool_use", "tool_result"}
)


def extract_index_text(record: Record) -> str:
    """The words a record can be found by; empty for what nobody searches."""
    if record.type not in INDEXED_TYPES:
        return ""
    if record.type == "tool_use":
        text = f"{record.tool_name} {extract_strings(record.tool_input)}"
    elif record.type == "tool_result":
        text = (record.spilled or record.content)[:MAX_RESULT_CHARACTERS]
    else:
        text = record.content
    return space_cjk(text)


def truncate_text(text: str, limit: int) -> str:
    """So many characters at most, and nothing in part that may be half a secret."""
    if len(text) <= limit:
        return text
    cut = text[: limit - 1]
    return (
        _PARTIAL_TOKEN.sub("", cut) if _VISIBLE_ASCII.match(text[limit - 1]) else cut
    ) + "…"


def space_cjk(text: str) -> str:
    """The text with every CJK character standing alone."""
    if text.isascii() or not text.encode(errors="replace").translate(None, _BELOW_CJK):
        return text
    return _CJK_CHARACTER.sub(r" \1 ", text)


def extract_strings(tool_input: str) -> str:
    """Every string in a call's arguments, names of arguments left out."""
    if not tool_input:
        return ""
    try:
        value = msgspec.json.decode(tool_input)
    except (msgspec.DecodeError, RecursionError):
        return tool_input
    words: list[str] = []
    try:
        _collect_strings(value, words)
    except RecursionError:
        return tool_input
    return "\n".join(words)


def _collect_strings(value: Any, words: list[str]) -> None:
    if isinstance(value, str):
        words.append(value)
    elif isinstance(value, dict):
        for item in value.values():
            _collect_strings(item, words)
    elif isinstance(value, list):
        for item in value:
            _collect_strings(item, words)
