"""Convert records, usage and times to column values and back."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import astuple

from leslied.model.record import Record, SessionKey, Usage
from leslied.model.times import from_us, to_us

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator
    from datetime import datetime
    from pathlib import Path

_BATCH_SIZE = 500
"""Values in one query; SQLite limits the number of placeholders."""
_CONTEXT_KINDS = ("opened", "context")

RECORD_COLUMNS = (
    "type, role, native_id, created_us, utc_offset, observed_us, tool_name, "
    "tool_call_id, model, usage, message_id, parent_id, metadata, decoder_version, "
    "tool_input, content, spilled"
)


def digest_record(record: Record) -> bytes:
    """Hash the content of a record, ignoring ids and times.

    A record with the same digest is not a new version of its entry.
    """
    parts = [
        record.type,
        record.role,
        record.tool_name,
        record.tool_call_id,
        record.tool_input,
        record.content,
    ]
    kind = record.metadata.get("kind")
    # The context that a line records depends on the lines before it in its file: a
    # fork's copy may contain more or less of it and is still the same entry.
    if kind and kind not in _CONTEXT_KINDS:
        parts.append(_to_json(record.metadata))
    text = "\0".join(parts).encode(errors="replace")
    return hashlib.blake2b(text, digest_size=12).digest()


def pack_record(
    record: Record, observed_us: int, decoder_version: int
) -> tuple[Any, ...]:
    """Return the values of RECORD_COLUMNS for a record."""
    created = record.created_at
    offset = created.utcoffset() if created else None
    usage = record.usage
    return (
        record.type,
        record.role,
        record.native_id,
        to_us(created) if created else None,
        int(offset.total_seconds() // 60) if offset else 0,
        observed_us,
        record.tool_name,
        record.tool_call_id,
        record.model,
        pack_usage(usage) if usage else "",
        record.message_id,
        record.parent_id,
        _to_json(record.metadata) if record.metadata else "",
        decoder_version,
        record.tool_input,
        record.content,
        record.spilled,
    )


def unpack_record(
    row: tuple[Any, ...], session: SessionKey
) -> tuple[Record, datetime, int]:
    """Unpack the values of RECORD_COLUMNS.

    Return the record, the time it was observed, and the decoder version.
    """
    created = from_us(row[3], row[4]) if row[3] is not None else None
    record = Record(
        session=session,
        type=row[0],
        role=row[1],
        native_id=row[2],
        created_at=created,
        tool_name=row[6],
        tool_call_id=row[7],
        model=row[8],
        usage=unpack_usage(row[9]) if row[9] else None,
        message_id=row[10],
        parent_id=row[11],
        metadata=msgspec.json.decode(row[12]) if row[12] else {},
        tool_input=row[14],
        content=row[15],
        spilled=row[16],
    )
    return record, from_us(row[5]), row[13]


def pack_path(path: Path) -> bytes:
    """Return a path as the bytes that the file system uses."""
    return os.fsencode(path)


def _to_json(value: object) -> str:
    return msgspec.json.encode(value, order="sorted").decode()


def pack_usage(usage: Usage) -> str:
    """Encode usage as numbers in one column; omit a fifth number that is 0."""
    numbers = astuple(usage)
    packed = numbers if usage.cache_write_1h_tokens else numbers[:4]
    return " ".join(map(str, packed))


def unpack_usage(text: str) -> Usage:
    """Decode what `pack_usage` returned."""
    return Usage(*map(int, text.split()))


def select_in_batches(
    db: sqlite3.Connection, query: str, values: Iterable[Any]
) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of `query IN (values)`, selected in batches.

    The query must end in a column name.
    """
    all_values = list(values)
    for start in range(0, len(all_values), _BATCH_SIZE):
        batch = all_values[start : start + _BATCH_SIZE]
        placeholders = ", ".join("?" * len(batch))
        yield from db.execute(f"{query} IN ({placeholders})", batch)
