"""The query that selects records with their placement, and decoding of its rows."""

from __future__ import annotations

import os
from typing import Any

from leslied.model.record import PlacedRecord, SessionKey
from leslied.store.columns import RECORD_COLUMNS, unpack_record

_PREFIXED_RECORD_COLUMNS = ", ".join(
    "r." + column for column in RECORD_COLUMNS.split(", ")
)
SELECT_RECORDS = (
    "SELECT p.id, p.unit, p.generation, p.offset, p.length, o.path, o.agent, "
    f"s.session_id, s.source, r.entry_id, {_PREFIXED_RECORD_COLUMNS} FROM placement p "
    "JOIN record r ON r.entry = p.entry AND r.is_current = 1 "
    "JOIN source o ON o.id = p.source JOIN session s ON s.id = p.session"
)
IS_VISIBLE = "(p.is_copy = 0 OR s.originals = 0)"
"""Condition on a placement: copies are hidden if the session has original entries."""


def unpack_placed_record(row: tuple[Any, ...], sequence: int) -> PlacedRecord:
    """Return the record of a row of SELECT_RECORDS, with this sequence number."""
    record, observed_at, version = unpack_record(row[10:], SessionKey(*row[6:9]))
    return PlacedRecord(
        record=record,
        entry_id=row[9].hex(),
        sequence=sequence,
        unit=row[1],
        placement=row[0],
        observed_at=observed_at,
        decoder_version=version,
        path=os.fsdecode(row[5]),
        generation=row[2],
        offset=row[3],
        length=row[4],
    )
