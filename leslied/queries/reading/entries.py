"""One entry with its whole text and its line in the log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leslied.errors import UserError
from leslied.model.field_tables import record_to_dict
from leslied.queries.reading.raw_lines import load_raw_line
from leslied.queries.reading.session import open_session
from leslied.rendering.messages import get_report_or_text
from leslied.rendering.text import replace_controls

if TYPE_CHECKING:
    from leslied.model.record import PlacedRecord
    from leslied.queries.context import QueryContext

_MAX_SHOWN_CHARACTERS = 2_000_000
_MAX_REDACTED_CHARACTERS = 20_000
"""Longer texts in a line, such as images, are cut before they are redacted."""
_MAX_LINE_TEXT_CHARACTERS = 16_000
"""Longer texts in a line are not shown.

This is less than the length that is redacted, so a secret that was cut is not shown.
"""


@dataclass(frozen=True, slots=True)
class LoadedEntry:
    """An entry and its line in the log, redacted."""

    placed: PlacedRecord
    line: Any
    """The parsed line, with long texts cut; None if it cannot be read."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        text = replace_controls(get_report_or_text(self.placed.record)).strip("\n")
        return {
            "entry": record_to_dict(self.placed),
            "text": text[:_MAX_SHOWN_CHARACTERS],
            "is_cut": len(text) > _MAX_SHOWN_CHARACTERS,
            "line": self.line,
        }


def load_entry(context: QueryContext, session_id: str, entry_id: str) -> LoadedEntry:
    """Return an entry of a session and its line; raise UserError if it does not exist.

    In the line, long texts are cut.
    """
    placed = get_entry(context, session_id, entry_id)
    line = context.redact_value(_cut_texts(load_raw_line(context, placed)))
    return LoadedEntry(context.redact_entry(placed), _shorten_texts(line))


def get_entry(context: QueryContext, session_id: str, entry_id: str) -> PlacedRecord:
    """Return an entry of a session, not redacted; raise UserError if there is none."""
    session = open_session(context, session_id)
    streams = [session.summary.stream, *(child.key for child in session.subagents)]
    placed = context.reader.reading.find_entry(streams, entry_id)
    if placed is None:
        raise UserError(f"The session has no entry {entry_id!r}.", "Reload the page.")
    return placed


def _cut_texts(value: Any) -> Any:
    """Return a JSON value whose texts are cut to a length that can be redacted."""
    return _map_texts(value, lambda text: text[:_MAX_REDACTED_CHARACTERS])


def _shorten_texts(value: Any) -> Any:
    """Return a JSON value with only the beginning of texts too long to show."""
    return _map_texts(
        value,
        lambda text: (
            text
            if len(text) <= _MAX_LINE_TEXT_CHARACTERS
            else f"{text[:200]}… (long text, not shown here)"
        ),
    )


def _map_texts(value: Any, change: Any) -> Any:
    """Return a copy of a JSON value with changed texts."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: _map_texts(item, change) for key, item in value.items()}
    if isinstance(value, list):
        return [_map_texts(item, change) for item in value]
    return value
