"""Text and JSON that are safe to print, and what a session's files are called."""

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
"""What a terminal obeys or a reader cannot see."""


def replace_controls(text: str) -> str:
    """The text with one kind of line end, and a mark for what nobody should obey."""
    return _CONTROLS.sub("\ufffd", text.replace("\r\n", "\n"))


def dump_json(value: Any, indent: int | None = None) -> str:
    """JSON that means the same and holds no character a terminal obeys."""
    separators = (",", ":") if indent is None else (",", ": ")
    text = json.dumps(
        value, ensure_ascii=False, indent=indent, separators=separators, default=str
    )
    return _CONTROLS.sub(lambda m: f"\\u{ord(m[0]):04x}", text)


def dump_json_lines(values: list[Any]) -> bytes:
    """One value on each line."""
    return encode_text("".join(dump_json(value) + "\n" for value in values))


def encode_text(text: str) -> bytes:
    """The text as a file holds it."""
    return text.encode(errors="replace")


def make_file_stem(session: Session) -> str:
    """The beginning of a file name: when, about what, and which; it never changes."""
    starts = [unit.started_at for unit in session.units if unit.started_at]
    began = session.summary.started_at or min(starts, default=None)
    prompt = next((unit.prompt for unit in session.units if unit.prompt.strip()), "")
    when = f"{began.astimezone(session.zone):%Y%m%d-%H%M}-" if began else ""
    return f"{when}{make_slug(prompt)}-{make_session_name(session.summary)}"


def first_line(text: str, limit: int = 80) -> str:
    """The first line with anything in it, cut where it is long."""
    line = " ".join(replace_controls(text).strip().split("\n", 1)[0].split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
