"""JSON without importing `json`, which would take half of a hook's time.

The module calls the C functions that `json` uses, and `json` itself if this Python
does not have them.
"""

from __future__ import annotations

# Type checkers treat this name like `typing.TYPE_CHECKING`, which is slow to import.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


class _ScannerOptions:
    """The default options of `json.loads`, in the form that the scanner expects."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float
    memo: Mapping[str, str] = {}


def loads(data: bytes) -> Any:
    """Parse JSON; raise ValueError, or RecursionError if it is nested too deeply."""
    text = data.decode("utf-8").removeprefix("\ufeff").strip(" \t\r\n")
    try:
        from _json import make_scanner  # noqa: PLC0415
    except ImportError:
        import json  # noqa: PLC0415

        return json.loads(text)
    try:
        value, end = make_scanner(_ScannerOptions)(text, 0)  # type: ignore[arg-type]
    except StopIteration as error:
        raise ValueError("not JSON") from error
    if end != len(text):
        raise ValueError("extra data after JSON")
    return value


def dumps(value: Mapping[str, Any]) -> bytes:
    """Encode a mapping as ASCII JSON; values are strings, booleans or mappings."""
    return _dump(value).encode("ascii")


def _dump(value: Any) -> str:
    """Return the JSON of a text, a bool, or an object of these."""
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    members = [f"{_quote(name)}: {_dump(member)}" for name, member in value.items()]
    return "{" + ", ".join(members) + "}"


def _quote(text: str) -> str:
    try:
        from _json import encode_basestring_ascii  # noqa: PLC0415
    except ImportError:
        import json  # noqa: PLC0415

        return json.dumps(text)
    quoted: str = encode_basestring_ascii(text)
    return quoted
