"""Making values fit for SQLite, for the rare reading that holds what it cannot take.

Lone surrogates become U+FFFD. A commit tries without: the check would cost every
record what one in a million needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs

if TYPE_CHECKING:
    from leslied.model.decoded_chunk import DecodedChunk


def sanitize_reading(reading: DecodedChunk) -> DecodedChunk:
    """The reading with every text in it made whole."""
    from dataclasses import replace  # noqa: PLC0415 - the rare path

    return replace(
        reading,
        entries=tuple(
            structs.replace(_sanitize(entry), prepared=()) for entry in reading.entries
        ),
        noise=_sanitize(reading.noise),
        rejected=_sanitize(reading.rejected),
        cursor=replace(reading.cursor, state=replace_surrogates(reading.cursor.state)),
    )


def replace_surrogates(text: str) -> str:
    """The text with every lone surrogate shown as U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _sanitize(value: Any) -> Any:
    if isinstance(value, str):
        return value if value.isascii() else replace_surrogates(value)
    if isinstance(value, dict):
        return {_sanitize(key): _sanitize(item) for key, item in value.items()}
    if isinstance(value, Struct):
        fields = {
            name: _sanitize(getattr(value, name)) for name in value.__struct_fields__
        }
        return structs.replace(value, **fields)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(_sanitize, value))
    if isinstance(value, (tuple, list)):
        return type(value)(map(_sanitize, value))
    return value
