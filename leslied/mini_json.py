"""JSON without the `json` module, whose regular expressions cost half of a hook's time.

The same C code that `json` itself uses; where a Python has none, `json` it is.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


class _Rules:
    """What `json.loads` asks of the scanner by default."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float
    memo: Mapping[str, str] = {}


def loads(data: bytes) -> Any:
    """The value; ValueError or RecursionError where it is no JSON."""
    text = data.decode("utf-8").removeprefix("\ufeff").strip(" \t\r\n")
    try:
        from _json import make_scanner  # noqa: PLC0415
    except ImportError:
        import json  # noqa: PLC0415

        return json.loads(text)
    try:
        value, end = make_scanner(_Rules)(text, 0)  # type: ignore[arg-type]
    except StopIteration as error:
        raise ValueError("no JSON") from error
    if end != len(text):
        raise ValueError("more than JSON")
    return value


def dumps(value: Mapping[str, Any]) -> bytes:
    """An object of texts, truths and such objects, in ASCII."""
    return _dump(value).encode("ascii")


def _dump(value: Any) -> str:
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    members = [f"{_quote(name)}: {_dump(each)}" for name, each in value.items()]
    return "{" + ", ".join(members) + "}"


def _quote(text: str) -> str:
    try:
        from _json import encode_basestring_ascii  # noqa: PLC0415
    except ImportError:
        import json  # noqa: PLC0415

        return json.dumps(text)
    quoted: str = encode_basestring_ascii(text)
    return quoted
