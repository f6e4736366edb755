"""Name the kind of entries that no decoder knows, from their text and metadata."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from leslied.control_characters import format_one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

HEAD_CHARACTERS = 4000
"""How much of an entry's text is searched for its kind and version."""
MAX_KIND_CHARACTERS = 60
"""A longer name of a kind is cut: everything in a log is untrusted."""
UNNAMED_KIND = "(no type)"
_KIND_KEYS = ("type", "kind", "event", "subtype")
_NAME = re.compile(r"[\w$@.:/-]+")
_FIRST_KIND = re.compile(rf'"(?:{"|".join(_KIND_KEYS)})"\s*:\s*"([^"\\]+)"')
_VERSION = re.compile(r"v?\d[\w.+-]{0,39}")
_FIRST_VERSION = re.compile(r'"version"\s*:\s*"([^"\\]{1,40})"')


def find_kind(head: str, metadata: Mapping[str, Any]) -> str:
    """Return the kind of an unknown record, from its metadata or its text.

    Adapters store the log's name of the kind as `line_type`, `part_type` or the like.
    `head` is the beginning of the text; no more than HEAD_CHARACTERS are used, so that
    the name is the same wherever it is computed.
    """
    for name, value in metadata.items():
        if name.endswith("_type") and isinstance(value, str) and value:
            return _shorten(value)
    return _shorten(_find_kind_in_text(head[:HEAD_CHARACTERS])) or UNNAMED_KIND


def find_version(head: str) -> str:
    """Return the agent's version that the text itself states, or ""."""
    match = _FIRST_VERSION.search(head[:HEAD_CHARACTERS])
    return as_version(match[1]) if match else ""


def as_version(value: object) -> str:
    """Return the value if it looks like a version, or ""."""
    is_version = isinstance(value, str) and _VERSION.fullmatch(value)
    return str(value) if is_version else ""


def _find_kind_in_text(text: str) -> str:
    """Return the type that a JSON object states, or the name of its only key."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        match = _FIRST_KIND.search(text)
        return match[1] if match else ""
    if not isinstance(value, dict):
        return ""
    for key in _KIND_KEYS:
        if isinstance(value.get(key), str) and value[key]:
            return str(value[key])
    names = [key for key in value if _NAME.fullmatch(key)]
    return names[0] if len(names) == len(value) == 1 else ""


def _shorten(kind: str) -> str:
    """Return a kind on one line, without control characters, and not too long."""
    text = format_one_line(kind)
    if len(text) <= MAX_KIND_CHARACTERS:
        return text
    return text[: MAX_KIND_CHARACTERS - 1] + "…"
