"""The texts by which entries are compared, and how similar such texts are. Pure."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leslied.model.record import Record

_COMPARED_CHARACTERS = 2_000
"""Number of characters of each text from which the similarity is computed."""
CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
"""Characters of Chinese, Japanese and Korean, for a character class of a regex."""
_WORD = re.compile(rf"[{CJK}]|[^\W{CJK}]+")
"""A word; in Chinese, Japanese and Korean text, each character counts as a word."""


def record_to_text(record: Record) -> str:
    """Return the text by which an entry is compared, without trailing space."""
    if record.type == "tool_use":
        return _strip_trailing_space(_input_to_text(record.tool_input))
    if record.type == "system_event":
        return str(record.metadata.get("note") or "")
    return _strip_trailing_space(record.spilled or record.content)


def compute_similarity(a: str, b: str) -> float:
    """Return the share of words that two texts have in common, from 0 to 1."""
    if a == b:
        return 1.0
    words_a, words_b = _find_words(a), _find_words(b)
    # The factor is below 2 so that only equal texts reach 1.
    return 1.98 * len(words_a & words_b) / (len(words_a) + len(words_b) or 1)


@lru_cache(maxsize=16_384)
def _find_words(text: str) -> frozenset[str]:
    """Return the set of words from which the similarity is computed."""
    return frozenset(_WORD.findall(text[:_COMPARED_CHARACTERS].casefold()))


def _strip_trailing_space(text: str) -> str:
    lines = text.replace("\r\n", "\n").split("\n")
    return "\n".join(line.rstrip() for line in lines).strip("\n")


def _input_to_text(tool_input: str) -> str:
    """Return one argument per line, sorted by name: their order means nothing in JSON.

    An input that is not JSON is returned unchanged.
    """
    try:
        return _arguments_to_text(json.loads(tool_input))
    except (ValueError, RecursionError):
        return tool_input


def _arguments_to_text(arguments: Any) -> str:
    if not isinstance(arguments, dict):
        return _value_to_text(arguments)
    return "\n".join(
        f"{key}: {_value_to_text(arguments[key])}" for key in sorted(arguments)
    )


def _value_to_text(value: Any) -> str:
    if isinstance(value, str):
        return "\n" + value if "\n" in value else value
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
