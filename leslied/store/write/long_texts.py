"""Write long texts of records piece by piece.

A text that is bound to a statement exists four times: as a string, as UTF-8 (which
Python keeps with the string), in the statement, and in the row that SQLite builds. A
text that is written in pieces exists as a string and, for a moment, twice as zeros.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec import structs

from leslied.store.columns import iter_encoded

if TYPE_CHECKING:
    import sqlite3

    from leslied.model.record import Record

MAX_BOUND_CHARACTERS = 1024 * 1024
"""Longest text that is bound to a statement."""
_TEXT_COLUMNS = ("tool_input", "content", "spilled")
"""Columns of texts that may be long."""


class LongText(NamedTuple):
    """A text that is written after its row."""

    record_id: int
    column: str
    text: str

    def write(self, db: sqlite3.Connection) -> None:
        """Write the text into its row, which must exist."""
        size = sum(map(len, iter_encoded(self.text)))
        # A blob handle keeps the type of the value that it overwrites: it must be text.
        db.execute(
            f"UPDATE record SET {self.column} = CAST(zeroblob(?) AS TEXT) WHERE id = ?",
            (size, self.record_id),
        )
        with db.blobopen("record", self.column, self.record_id) as blob:
            for piece in iter_encoded(self.text):
                blob.write(piece)


def may_be_long(record: Record) -> bool:
    """Return whether a text of the record may be too long to be bound."""
    characters = len(record.content) + len(record.tool_input) + len(record.spilled)
    return characters > MAX_BOUND_CHARACTERS


def take_long_texts(record: Record, record_id: int) -> tuple[Record, list[LongText]]:
    """Return the record with "" for each long text, and these texts."""
    texts = [
        LongText(record_id, column, text)
        for column in _TEXT_COLUMNS
        if len(text := getattr(record, column)) > MAX_BOUND_CHARACTERS
    ]
    return structs.replace(
        record, **dict.fromkeys((t.column for t in texts), "")
    ), texts
