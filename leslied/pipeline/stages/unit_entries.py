"""Load the entries of a unit within bounded memory.

A transcript shows a few kilobytes of its unit, which may have hundreds of megabytes.
So only the first texts are loaded with their entries, and others when they are shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import structs

from leslied.model.omitted_text import count_characters, omit_texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leslied.model.omitted_text import LoadText
    from leslied.model.record import PlacedRecord, SessionKey
    from leslied.model.session import SessionSummary, Unit
    from leslied.store import StoreReader

MAX_CHARACTERS = 1_000_000
"""Characters of texts after which further long texts are omitted."""
_MAX_SHORT_CHARACTERS = 100
"""Longest text that is never omitted."""
_UNUSED_FIELDS: dict[str, Any] = {
    "native_id": "",
    "parent_id": "",
    "message_id": "",
    "usage": None,
}
"""Values for the fields that transcripts do not depend on."""


class UnitEntries:
    """Loader of the entries of one unit and its subagents."""

    def __init__(self, reader: StoreReader) -> None:
        self.reader = reader
        # Every access to `reader.load_text` makes an object; keep one for all texts.
        self._load_text: LoadText = reader.load_text
        self.has_omitted_texts = False
        """Whether the store is needed for some of the texts."""
        self._characters = 0
        """Characters of all texts so far."""
        self._has_prompt = False
        """Whether the first user message of the stream was loaded."""

    def load_units(
        self, main: SessionSummary, number: int, children: Sequence[SessionSummary]
    ) -> tuple[Unit, ...]:
        """Return the unit of a session with its subagents; none if it has no entry."""
        from leslied.sessions.assemble import RecordStream, assemble  # noqa: PLC0415

        stream = RecordStream(main, self.load(main.key, number))
        return assemble(stream, [RecordStream(c, self.load(c.key)) for c in children])

    def load(
        self, key: SessionKey, unit: int | None = None
    ) -> tuple[PlacedRecord, ...]:
        """Return the entries of a unit, or of a subagent."""
        self._has_prompt = False
        entries = self.reader.list_records(
            key, unit, with_sequence=False, transform=self._omit_texts
        )
        return tuple(entries)

    def _omit_texts(self, placed: PlacedRecord) -> PlacedRecord:
        """Return the entry, without its long texts once MAX_CHARACTERS are exceeded.

        The first user message keeps its text.
        """
        self._characters += count_characters(placed)
        is_message = placed.record.type == "user_message"
        is_prompt = is_message and not self._has_prompt
        self._has_prompt = self._has_prompt or is_message
        # The file name is made from the prompt.
        if is_prompt or self._characters <= MAX_CHARACTERS:
            return placed
        short = omit_texts(placed, self._load_text, _MAX_SHORT_CHARACTERS)
        self.has_omitted_texts = self.has_omitted_texts or short is not placed
        record = structs.replace(short.record, **_UNUSED_FIELDS)
        # Transcripts do not need these numbers, each of which takes memory.
        return structs.replace(placed, record=record, sequence=0, offset=0, length=0)
