"""The query that selects records with their placement, and decoding of its rows."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from leslied.model.record import PlacedRecord, SessionKey
from leslied.store.columns import RECORD_COLUMNS, unpack_record
from leslied.store.sql import list_columns

if TYPE_CHECKING:
    from collections.abc import Iterable

SELECT_RECORDS = (
    "SELECT p.id, p.unit, p.generation, p.offset, p.length, o.path, o.agent, "
    f"s.session_id, s.source, r.entry_id, {list_columns(RECORD_COLUMNS, table='r')} "
    "FROM placement p "
    "JOIN record r ON r.entry = p.entry AND r.is_current = 1 "
    "JOIN source o ON o.id = p.source JOIN session s ON s.id = p.session"
)
# Most records of a query have the same values, which then take memory only once.
_make_key = lru_cache(maxsize=64)(SessionKey)
_decode_path = lru_cache(maxsize=64)(os.fsdecode)
IS_VISIBLE = "(p.is_copy = 0 OR s.originals = 0)"
"""Condition on a placement: copies are hidden if the session has original entries."""


def unpack_placed_record(row: Iterable[Any], sequence: int) -> PlacedRecord:
    """Return the record of a row of SELECT_RECORDS, with this sequence number."""
    # The names are those of the columns of SELECT_RECORDS, in the same order.
    (
        placement,
        unit,
        generation,
        offset,
        length,
        path,
        agent,
        session_id,
        source,
        entry_id,
        *values,
    ) = row
    session = _make_key(agent, session_id, source)
    record, observed_at, version = unpack_record(values, session)
    return PlacedRecord(
        record=record,
        entry_id=entry_id.hex(),
        sequence=sequence,
        unit=unit,
        read_order=placement,
        observed_at=observed_at,
        decoder_version=version,
        path=_decode_path(path),
        generation=generation,
        offset=offset,
        length=length,
    )
