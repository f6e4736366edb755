"""Control, bidirectional and invisible characters, which must not reach a reader.

A terminal obeys some of them, and others hide or reorder what stands around them.
"""

from __future__ import annotations

import re

CONTROL_CHARACTER = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028\u2029"
    "\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
"""One control, invisible or bidirectional character, except tab and newline.

Lone surrogates count too, because they cannot be encoded. The joiners U+200C and U+200D
do not: words in some scripts, and emoji, need them.
"""
_TITLE_SEPARATORS = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]+"
)


def replace_control_characters(text: str, replacement: str = "\ufffd") -> str:
    """Replace each control character; keep tabs and newlines."""
    return CONTROL_CHARACTER.sub(replacement, text)


def escape_control_characters(json_text: str) -> str:
    """Escape the control characters in JSON, which leaves its value unchanged."""
    return CONTROL_CHARACTER.sub(lambda match: f"\\u{ord(match[0]):04x}", json_text)


def clean_title(text: str) -> str:
    """Return the text on one line, without control characters."""
    return _TITLE_SEPARATORS.sub(" ", text).strip()
