"""Convert records and usage to column values and back.

A field that is stored unchanged needs one line here, in `_COPIED_FIELDS`.
"""

from __future__ import annotations

import hashlib
import os
from functools import lru_cache
from operator import attrgetter
from sys import intern
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import astuple

from leslied.model.record import Record, SessionKey, Usage
from leslied.model.times import from_us, to_us

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime
    from pathlib import Path

    from leslied.model.decoded_chunk import PreparedRecord

_PIECE_CHARACTERS = 64 * 1024
"""Characters of a text that are encoded at once."""
_CONTEXT_KINDS = ("opened", "context")
IS_CONTEXT = (
    "(type = 'system_event' AND "
    "ifnull(json_extract(nullif(metadata, ''), '$.kind'), '') IN "
    f"({', '.join(map(repr, _CONTEXT_KINDS))}))"
)
"""Condition on a row of `record`: it describes the session, not what happened in it."""

_COPIED_FIELDS = (
    "type",
    "role",
    "native_id",
    "tool_name",
    "tool_call_id",
    "model",
    "message_id",
    "parent_id",
    "tool_input",
    "content",
    "spilled",
)
"""Fields of a record that are stored unchanged, in columns of the same name."""
_REPEATED_FIELDS = ("type", "role", "tool_name", "model")
"""Fields with the same value in many records; it is interned to save memory."""
DIGESTED_FIELDS = (
    "type",
    "role",
    "tool_name",
    "tool_call_id",
    "tool_input",
    "content",
)
"""Fields whose change makes a record a new version of its entry."""
_CONVERTED_COLUMNS = ("created_us", "utc_offset", "usage", "metadata")
_OBSERVATION_COLUMNS = ("observed_us", "decoder_version")
RECORD_COLUMNS = (*_CONVERTED_COLUMNS, *_OBSERVATION_COLUMNS, *_COPIED_FIELDS)
"""Columns of a record's content, in the order of `pack_record`."""
_get_converted_fields = attrgetter(*_CONVERTED_COLUMNS)
_get_copied_fields = attrgetter(*_COPIED_FIELDS)
_get_digested_fields = attrgetter(*DIGESTED_FIELDS)
# All records of a commit were observed at the same time.
_get_observed_time = lru_cache(maxsize=64)(from_us)


def is_context(record: Record) -> bool:
    """Return whether the record describes the session; see IS_CONTEXT."""
    is_event = record.type == "system_event"
    return is_event and record.metadata.get("kind") in _CONTEXT_KINDS


def digest_record(record: Record) -> bytes:
    """Hash the content of a record, ignoring ids and times.

    A record with the same digest is not a new version of its entry.
    """
    parts = list(_get_digested_fields(record))
    kind = record.metadata.get("kind")
    # The context that a line records depends on the lines before it in its file: a
    # fork's copy may contain more or less of it and is still the same entry.
    if kind and kind not in _CONTEXT_KINDS:
        parts.append(_to_json(record.metadata))
    digest = hashlib.blake2b(digest_size=12)
    if sum(map(len, parts)) <= _PIECE_CHARACTERS:
        parts = ["\0".join(parts)]
    for number, part in enumerate(parts):
        digest.update(b"\0" if number else b"")
        for piece in iter_encoded(part, errors="replace"):
            digest.update(piece)
    return digest.digest()


def iter_encoded(text: str, errors: str = "strict") -> Iterator[bytes]:
    """Yield a text in UTF-8 piece by piece, so that a long one is not copied."""
    for start in range(0, len(text), _PIECE_CHARACTERS):
        yield text[start : start + _PIECE_CHARACTERS].encode(errors=errors)


def convert_fields(record: Record) -> tuple[int | None, int, str, str]:
    """Return the values of _CONVERTED_COLUMNS for a record."""
    created = record.created_at
    offset = created.utcoffset() if created else None
    usage = record.usage
    return (
        to_us(created) if created else None,
        int(offset.total_seconds() // 60) if offset else 0,
        pack_usage(usage) if usage else "",
        _to_json(record.metadata) if record.metadata else "",
    )


def pack_record(
    record: Record, prepared: PreparedRecord, observed_us: int, decoder_version: int
) -> tuple[Any, ...]:
    """Return the values of RECORD_COLUMNS for a record."""
    return (
        *_get_converted_fields(prepared),
        observed_us,
        decoder_version,
        *_get_copied_fields(record),
    )


def unpack_record(
    values: Iterable[Any], session: SessionKey
) -> tuple[Record, datetime, int]:
    """Unpack the values of RECORD_COLUMNS.

    Return the record, the time it was observed, and the decoder version.
    """
    created_us, utc_offset, usage, metadata, observed_us, version, *copied = values
    fields = dict(zip(_COPIED_FIELDS, copied, strict=True))
    for name in _REPEATED_FIELDS:
        fields[name] = intern(fields[name])
    record = Record(
        session=session,
        created_at=from_us(created_us, utc_offset) if created_us is not None else None,
        usage=unpack_usage(usage) if usage else None,
        metadata=msgspec.json.decode(metadata) if metadata else {},
        **fields,
    )
    return record, _get_observed_time(observed_us), version


def pack_path(path: Path) -> bytes:
    """Return a path as the bytes that the file system uses."""
    return os.fsencode(path)


def _to_json(value: object) -> str:
    return msgspec.json.encode(value, order="sorted").decode()


def pack_usage(usage: Usage) -> str:
    """Encode usage as numbers separated by spaces.

    Omit the fifth, `cache_write_1h_tokens`, if it is 0.
    """
    numbers = astuple(usage)
    packed = numbers if usage.cache_write_1h_tokens else numbers[:4]
    return " ".join(map(str, packed))


def unpack_usage(text: str) -> Usage:
    """Decode a text that `pack_usage` returned."""
    return Usage(*map(int, text.split()))
