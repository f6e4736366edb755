"""JSON that is safe to print, and the names of a session's files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from leslied.control_characters import escape_control_characters
from leslied.sessions.titles import find_subject
from leslied.sinks._names import make_session_name
from leslied.sinks.leslie.names import make_slug

if TYPE_CHECKING:
    from leslied.model.session import Session


def dump_json(value: Any, indent: int | None = None) -> str:
    """Encode the value as JSON in which control characters are escaped."""
    separators = (",", ":") if indent is None else (",", ": ")
    text = json.dumps(
        value, ensure_ascii=False, indent=indent, separators=separators, default=str
    )
    return escape_control_characters(text)


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
    slug = make_slug(find_subject(prompt))
    return f"{prefix}{slug}-{make_session_name(session.summary)}"
