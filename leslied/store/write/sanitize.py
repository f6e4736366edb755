"""Replace lone surrogates, which SQLite cannot store, by U+FFFD.

A commit first tries to store texts unchanged: lone surrogates are rare, and checking
every record would cost time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs

if TYPE_CHECKING:
    from leslied.model.decoded_chunk import DecodedChunk


def sanitize_chunk(chunk: DecodedChunk) -> DecodedChunk:
    """Return the chunk without lone surrogates in any of its texts."""
    from dataclasses import replace  # noqa: PLC0415 - rarely needed

    # `prepared` has digests and index texts of the old texts, so it is dropped.

    return replace(
        chunk,
        entries=tuple(
            structs.replace(_sanitize(entry), prepared=()) for entry in chunk.entries
        ),
        noise=_sanitize(chunk.noise),
        rejected=_sanitize(chunk.rejected),
        cursor=replace(chunk.cursor, state=replace_surrogates(chunk.cursor.state)),
    )


def replace_surrogates(text: str) -> str:
    """Replace every lone surrogate in the text by U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _sanitize(value: Any) -> Any:
    """Return the value with lone surrogates replaced in all strings inside it."""
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
