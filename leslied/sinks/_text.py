"""Text and JSON that are safe to print, and the names of a session's files."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from leslied.sinks._names import make_session_name
from leslied.sinks.leslie.names import make_slug

if TYPE_CHECKING:
    from leslied.model.session import Session

_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028\u2029"
    "\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
"""Control characters, and characters that a reader cannot see."""


def replace_controls(text: str) -> str:
    """Return the text with LF line ends and U+FFFD for each control character."""
    return _CONTROLS.sub("\ufffd", text.replace("\r\n", "\n"))


def dump_json(value: Any, indent: int | None = None) -> str:
    """Encode the value as JSON in which control characters are escaped."""
    separators = (",", ":") if indent is None else (",", ": ")
    text = json.dumps(
        value, ensure_ascii=False, indent=indent, separators=separators, default=str
    )
    return _CONTROLS.sub(lambda m: f"\\u{ord(m[0]):04x}", text)


def dump_json_lines(values: list[Any]) -> bytes:
    """Encode the values as JSON, one per line."""
    return encode_text("".join(dump_json(value) + "\n" for value in values))


def encode_text(text: str) -> bytes:
    """Encode the text as UTF-8, with `?` for characters that cannot be encoded."""
    return text.encode(errors="replace")


def make_file_stem(session: Session) -> str:
    """Return a stable file name without its suffix: start time, prompt, session."""
    starts = [unit.started_at for unit in session.units if unit.started_at]
    start = session.summary.started_at or min(starts, default=None)
    prompt = next((unit.prompt for unit in session.units if unit.prompt.strip()), "")
    prefix = f"{start.astimezone(session.zone):%Y%m%d-%H%M}-" if start else ""
    return f"{prefix}{make_slug(prompt)}-{make_session_name(session.summary)}"


def first_line(text: str, limit: int = 80) -> str:
    """Return the first line that is not blank, shortened to `limit` characters."""
    line = " ".join(replace_controls(text).strip().split("\n", 1)[0].split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
