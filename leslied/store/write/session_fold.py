"""Adding records to a session in the order of their placements."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from leslied.sessions.rewinds import list_rewound
from leslied.sessions.unit_index import UnitIndex, UnitPosition
from leslied.store.write.entry_places import EntryPlaces
from leslied.store.write.unit_positions import StoredUnitPositions

if TYPE_CHECKING:
    import sqlite3

    from leslied.model.record import Record
    from leslied.store.write.session_rows import SessionRow


class FoldedUnit(NamedTuple):
    """The unit of a record that was added."""

    number: int
    moved_from: int
    """First placement of the unit, if the record started one that begins at an earlier
    placement; else 0. A command starts a unit only once the agent replies; the
    placements since the command then move into the new unit."""


class SessionFold:
    """Adds records to the totals of a session, and finds their units."""

    def __init__(self, row: SessionRow, db: sqlite3.Connection | None = None) -> None:
        """Continue after the entries in the store; without `db`, start with none."""
        self.row = row
        self.rewound_before = list_rewound(row.forks, row.units)
        """Units that were rewound before any record was added here."""
        stored = StoredUnitPositions(db, row.agent, row.id) if db else None
        self._units = UnitIndex(stored)
        self._places = EntryPlaces(row, self._units, db)

    def add(self, record: Record, created_us: int | None, placement: int) -> FoldedUnit:
        """Add a record; return its unit, and which earlier placements move into it."""
        row = self.row
        row.add_rewind(record, self._places)
        earlier_unit = self._units.find_earlier_unit(record, row.units)
        is_in_earlier_unit = earlier_unit is not None
        unit_start = row.add_record(
            record, created_us, placement, is_in_earlier_unit=is_in_earlier_unit
        )
        moved_from = unit_start if unit_start != placement else 0
        if moved_from:
            self._units.start_unit(range(moved_from, placement), row.units)
        number = row.units if earlier_unit is None else earlier_unit
        position = UnitPosition(placement, number)
        self._units.add(record, position)
        self._places.add(record, position, unit_start)
        return FoldedUnit(number, moved_from)
