"""Texts of which only the beginning is in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from msgspec import structs

if TYPE_CHECKING:
    from collections.abc import Callable

    from leslied.model.record import PlacedRecord
    from leslied.model.session import Unit

    LoadText = Callable[[int, str], str]
    """Returns the whole text of one field of a record. The arguments are the record's
    `read_order` and the name of the field."""

_TEXT_FIELDS = ("content", "tool_input", "spilled")
_START_CHARACTERS = 16
"""Length of the start of an omitted text, which stays in memory. The start must not be
blank, because whether a text is blank decides whether it is shown."""


class OmittedText(str):
    """The beginning of a text, its size, and how the whole is loaded.

    A unit may have many, so each takes little memory.
    """

    __slots__ = ("_field", "_load", "_prefix", "_read_order", "size")
    size: int
    """Bytes of the whole text in UTF-8."""
    _load: LoadText
    _read_order: int
    _field: str
    _prefix: str
    """Text that `load` puts before the loaded text."""

    def __new__(
        cls,
        start: str,
        size: int,
        load: LoadText,
        read_order: int,
        field: str,
        prefix: str = "",
    ) -> Self:
        """Return a text that begins with `start`, which must not be blank."""
        text = super().__new__(cls, start)
        text.size = size
        text._load, text._read_order, text._field = load, read_order, field
        text._prefix = prefix
        return text

    def load(self) -> str:
        """Return the whole text."""
        return self._prefix + self._load(self._read_order, self._field)

    def add_prefix(self, prefix: str) -> OmittedText:
        """Return the text with something before it."""
        return OmittedText(
            prefix + self,
            len(prefix.encode()) + self.size,
            self._load,
            self._read_order,
            self._field,
            prefix + self._prefix,
        )


def load_whole(text: str) -> str:
    """Return the whole text; load it if only its beginning is in memory."""
    return text.load() if isinstance(text, OmittedText) else text


def add_prefix(prefix: str, text: str) -> str:
    """Return the text with something before it, whether it is in memory or not."""
    return text.add_prefix(prefix) if isinstance(text, OmittedText) else prefix + text


def count_bytes(text: str) -> int:
    """Return the bytes of a text in UTF-8; do not encode a large text at once."""
    if isinstance(text, OmittedText):
        return text.size
    if text.isascii():
        return len(text)
    step = 1 << 16
    starts = range(0, len(text), step)
    return sum(len(text[n : n + step].encode(errors="surrogatepass")) for n in starts)


def count_characters(placed: PlacedRecord) -> int:
    """Return the length of the entry's texts."""
    return sum(len(getattr(placed.record, name)) for name in _TEXT_FIELDS)


def omit_texts(
    placed: PlacedRecord, load: LoadText, max_characters: int
) -> PlacedRecord:
    """Return the entry with only the starts of texts longer than `max_characters`."""
    texts = {
        name: OmittedText(
            text[:_START_CHARACTERS], count_bytes(text), load, placed.read_order, name
        )
        for name in _TEXT_FIELDS
        if len(text := getattr(placed.record, name)) > max_characters
        # The start must not be blank: see `_START_CHARACTERS`.
        and not text[:_START_CHARACTERS].isspace()
    }
    if not texts:
        return placed
    return structs.replace(placed, record=structs.replace(placed.record, **texts))


def load_omitted_texts(unit: Unit) -> Unit:
    """Return the unit and its subagents with all texts in memory."""
    return structs.replace(
        unit,
        prompt=load_whole(unit.prompt),
        entries=tuple(map(_load_entry, unit.entries)),
        subagents=tuple(map(load_omitted_texts, unit.subagents)),
    )


def _load_entry(placed: PlacedRecord) -> PlacedRecord:
    texts = {
        name: text.load()
        for name in _TEXT_FIELDS
        if isinstance(text := getattr(placed.record, name), OmittedText)
    }
    if not texts:
        return placed
    return structs.replace(placed, record=structs.replace(placed.record, **texts))
