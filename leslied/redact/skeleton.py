"""Replace everything in a JSON value that a user or a model wrote; keep its structure.

What remains are the names of keys, the kinds of objects, the types of values, and which
ids are equal. All other data is replaced, whether or not it looks private.
"""

from __future__ import annotations

import json
import re
from typing import Any

MAX_DEPTH = 40
MAX_ITEMS = 8
"""Items of a list that are kept: the first of each kind."""
MAX_KEYS = 100
_TOO_DEEP = "<nested more deeply>"
_KIND_KEYS = {
    *("type", "kind", "role", "subtype", "event", "status", "method", "op", "format"),
    *("version", "schema", "source_type", "level", "mode", "phase", "state"),
}
_KIND_SUFFIXES = ("type", "version", "reason", "kind", "status", "role")
_KIND = re.compile(r"[A-Za-z$][A-Za-z0-9_$:/.-]{0,39}")
_VERSION = re.compile(r"v?\d{1,5}(?:\.\d{1,5}){0,3}(?:[-+][a-z]{1,8}[.\d]{0,6})?")
_MANY_DIGITS = re.compile(r"(?:\d[^\d]*){6}")
_KEY = re.compile(r"[A-Za-z_$@][A-Za-z0-9_$-]{0,39}")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_TIME = re.compile(
    r"\d{4}-\d\d-\d\d([T ])\d\d:\d\d(:\d\d)?(\.\d{1,9})?(Z|[+-]\d\d:?\d\d)?"
)
_ID_SUFFIXES = ("id", "uuid", "ids", "hash", "ref")
_SECONDS = (10**9, 10**10)
"""Range of numbers that are seconds since 1970; milliseconds are a thousand times
more, and so on."""
_EPOCH_2000 = 946_684_800


class Skeleton:
    """Replaces the values of one sample; equal ids get equal replacements."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}

    def replace(self, value: Any, key: str = "", depth: int = 0) -> Any:
        """Return the value with all texts and numbers replaced.

        `key` is the name of the key that has the value.
        """
        if depth > MAX_DEPTH:
            return _TOO_DEEP
        if isinstance(value, dict):
            return self._replace_object(value, depth)
        if isinstance(value, list):
            items = _list_distinct(value)
            return [self.replace(item, key, depth + 1) for item in items]
        if isinstance(value, str):
            return self._replace_text(value, key, depth)
        if isinstance(value, bool) or value is None:
            return value
        return _replace_number(value)

    def _replace_object(self, value: dict[str, Any], depth: int) -> dict[str, Any]:
        """Return the object with its values replaced, and its keys if they are data."""
        is_map = _is_map(value)
        items = list(value.items())[: MAX_ITEMS if is_map else MAX_KEYS]
        return {
            f"key-{number}" if is_map else key: self.replace(item, key, depth + 1)
            for number, (key, item) in enumerate(items, 1)
        }

    def _replace_text(self, text: str, key: str, depth: int) -> str:
        if not text:
            return ""
        if _is_kind(text, key):
            return text
        if _UUID.fullmatch(text):
            return self._map_id(text, "00000000-0000-4000-8000-{:012d}")
        if match := _TIME.fullmatch(text):
            return _replace_time(match)
        if key.lower().endswith(_ID_SUFFIXES) and not any(map(str.isspace, text)):
            return self._map_id(text, "id-{}")
        if text[0] in "{[":
            return self._replace_json(text, depth)
        if text.startswith(("/", "~/")) and "\n" not in text:
            return self._map_id(text, "/folder/path-{}")
        return _describe_text(text)

    def _replace_json(self, text: str, depth: int) -> str:
        """Return JSON in a text with its values replaced, or a description."""
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return _describe_text(text)
        return json.dumps(self.replace(value, "", depth + 1))

    def _map_id(self, text: str, form: str) -> str:
        """Return the same stand-in for the same text."""
        return self._ids.setdefault(text, form.format(len(self._ids) + 1))


def list_kinds(value: Any, path: str = "", depth: int = 0) -> set[str]:
    """Return the kinds of all objects in a replaced value, each with its position."""
    if depth > MAX_DEPTH:
        return set()
    if isinstance(value, list):
        nested = [list_kinds(item, f"{path}[]", depth + 1) for item in value]
        return set().union(*nested)
    if not isinstance(value, dict):
        return set()
    kinds = {
        f"{path}.{key}={item}"
        for key, item in value.items()
        if isinstance(item, str) and _is_kind(item, key)
    }
    for key, item in value.items():
        kinds |= list_kinds(item, f"{path}.{key}", depth + 1)
    return kinds


def replace_unless_kind(name: str) -> str:
    """Return the name of a kind, or a description of a text that is not a name."""
    return name if _is_kind(name, "type") else _describe_text(name)


def replace_damaged(data: bytes, limit: int = 400) -> str:
    """Return the shape of bytes that are not JSON: letters as `a`, digits as `0`."""
    text = data[:limit].decode(errors="replace")
    shape = re.sub(r"[^\W\d_]", "a", text)
    shape = re.sub(r"\d", "0", shape)
    return re.sub(r"[^\x20-\x7e]", "?", shape)


def _is_kind(text: str, key: str) -> bool:
    """Return whether a text is the kind of its object, or a version."""
    name = key.lower()
    if name not in _KIND_KEYS and not name.endswith(_KIND_SUFFIXES):
        return False
    if _VERSION.fullmatch(text):
        return True
    return bool(_KIND.fullmatch(text)) and not _MANY_DIGITS.search(text)


def _is_map(value: dict[str, Any]) -> bool:
    """Return whether the keys of an object are data.

    They are if they do not look like names, or if all values are objects with the same
    keys.
    """
    if not all(_KEY.fullmatch(k) and not _MANY_DIGITS.search(k) for k in value):
        return True
    shapes = {tuple(sorted(v)) if isinstance(v, dict) else None for v in value.values()}
    return len(value) > 1 and len(shapes) == 1 and None not in shapes


def _list_distinct(items: list[Any]) -> list[Any]:
    """Return the first item of each kind."""
    distinct: dict[tuple[str, str], Any] = {}
    for item in items:
        kind = item.get("type") if isinstance(item, dict) else ""
        distinct.setdefault((type(item).__name__, str(kind)), item)
        if len(distinct) >= MAX_ITEMS:
            break
    return list(distinct.values())


def _replace_time(match: re.Match[str]) -> str:
    """Return another time in the same form."""
    separator, seconds, fraction, zone = match.groups()
    digits = f".{'0' * (len(fraction) - 1)}" if fraction else ""
    offset = zone if not zone or zone == "Z" else "+00:00"
    return f"2000-01-01{separator}00:00{':00' if seconds else ''}{digits}{offset or ''}"


def _replace_number(number: Any) -> Any:
    """Return 0, 1 or -1; for a float, 0.0 or 1.5; for a time, the start of 2000."""
    if isinstance(number, float):
        return 0.0 if number == 0 else 1.5
    low, high = _SECONDS
    for factor in (1, 1000, 1_000_000, 1_000_000_000):
        if low * factor <= number < high * factor:
            return _EPOCH_2000 * factor
    return (number > 0) - (number < 0)


def _describe_text(text: str) -> str:
    return f"<text of {len(text)} characters>"
