"""Update one stream after entries of it were decoded again.

Its placements are merged, its units and totals are computed again from all of its
records, and only transcripts of units that changed become due.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import structs

from leslied.model.record import MAIN, SessionKey
from leslied.sessions.rewinds import UNKNOWN_FORKS, list_changed, list_rewound
from leslied.store.columns import RECORD_COLUMNS, unpack_record
from leslied.store.ledgers.archive import clamp_checkpoints
from leslied.store.ledgers.transcripts import TranscriptLedger, UnitMove
from leslied.store.sql import fetch_value, list_columns, make_insert
from leslied.store.write.placement_merge import (
    assign_ids,
    merge_entries,
    reorder,
)
from leslied.store.write.record_versions import iter_free_ids
from leslied.store.write.session_fold import SessionFold

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Container

    from leslied.store.write.session_rows import SessionRow, SessionRows

_LINK_COLUMNS = (
    "spawn_call_id",
    "parent_agent",
    "agent_type",
    "description",
    "started_us",
)
"""Columns of a subagent that decide which unit of its parent shows it, and how."""


class Coverage(NamedTuple):
    """Part of a source that was decoded again completely.

    An entry of this part is removed if it is no longer decoded. Entries of other parts
    remain: they may be missing because the agent deleted them.
    """

    generation: int = 0
    """The generation, or 0 if nothing may be removed."""
    end: int = 0
    """Offset of the end."""


class DecodedPlacement(NamedTuple):
    """Position at which a newer decoder found an entry."""

    source: int
    generation: int
    offset: int
    length: int
    is_copy: int


class _Placement(NamedTuple):
    """Row of the table of placements."""

    id: int
    session: int
    entry: int
    unit: int
    source: int
    generation: int
    offset: int
    length: int
    is_copy: int


@dataclass(slots=True, kw_only=True)
class SessionRefold:
    """Update streams, one after the other; the caller holds the transaction."""

    db: sqlite3.Connection
    sessions: SessionRows
    source: int
    """The source that was decoded again."""
    coverage: Coverage
    changed_entries: set[int]
    """Numbers of entries whose content changed."""
    observed_us: int
    entry_ids: set[bytes] = field(default_factory=set)
    """Ids of all entries of the updated streams."""
    _removed_entries: set[int] = field(default_factory=set)
    """Numbers of entries that were removed from a stream."""

    def apply(self, session: int, decoded: dict[int, DecodedPlacement]) -> bool:
        """Update a stream if anything in it changed; return whether anything did.

        `decoded` has the placements of the source's entries, by number and in order.
        """
        old = self._load_placements(session)
        remaining = [p for p in old if p.entry in decoded or not self._is_covered(p)]
        ordered = reorder(
            [p.entry for p in remaining],
            self._list_reordered(remaining, decoded),
        )
        merged = merge_entries(ordered, decoded)
        # A copy is hidden if there is an original, so its mark affects all units.
        has_new_copies = any(self._get_copy_mark(p, decoded) != p.is_copy for p in old)
        is_same = merged == [p.entry for p in old] and not has_new_copies
        is_same = is_same and not self._has_unknown_forks(session)
        if is_same and self.changed_entries.isdisjoint(p.entry for p in old):
            return False
        # A reordered entry gets the id of the position that it takes.
        old_ids = {p.entry: p.id for p in old}
        old_ids |= {e: p.id for e, p in zip(ordered, remaining, strict=True)}
        ids = assign_ids(merged, old_ids, iter_free_ids(self.db, "placement"))
        new = self._merge_placements(session, old, ids, decoded)
        self._replace_placements(old, new)
        self._refold(session, old, new, are_all_changed=has_new_copies)
        return True

    def remove(self, session: int, entries: Container[int]) -> None:
        """Update a stream from which these entries are deleted."""
        old = self._load_placements(session)
        new = [p for p in old if p.entry not in entries]
        self._replace_placements(old, new)
        self._refold(session, old, new, are_all_changed=False)

    def finish(self) -> None:
        """Unset `is_current` of removed entries that have no placement left."""
        self.db.executemany(
            "UPDATE record SET is_current = 0 WHERE entry = ?1 AND NOT EXISTS "
            "(SELECT 1 FROM placement WHERE entry = ?1)",
            [(entry,) for entry in self._removed_entries],
        )

    def _has_unknown_forks(self, session: int) -> bool:
        query = "SELECT forks FROM session WHERE id = ?"
        return bool(fetch_value(self.db, query, (session,)) == UNKNOWN_FORKS)

    def _list_reordered(
        self, remaining: list[_Placement], decoded: dict[int, DecodedPlacement]
    ) -> list[int]:
        """List the entries whose order the newer decoder decides, in that order."""
        covered_entries = {p.entry for p in remaining if self._is_covered(p)}
        return [entry for entry in decoded if entry in covered_entries]

    def _load_placements(self, session: int) -> list[_Placement]:
        columns = list_columns(_Placement._fields)
        query = f"SELECT {columns} FROM placement WHERE session = ? ORDER BY id"
        return [_Placement(*row) for row in self.db.execute(query, (session,))]

    def _is_covered(self, placement: _Placement) -> bool:
        """Return whether the placement is in the part that was decoded again."""
        return (
            placement.source == self.source
            and placement.generation == self.coverage.generation
            and placement.offset < self.coverage.end
        )

    def _merge_placements(
        self,
        session: int,
        old: list[_Placement],
        ids: dict[int, int],
        decoded: dict[int, DecodedPlacement],
    ) -> list[_Placement]:
        """Return the merged placements; `ids` has the id of each, by entry number.

        A stored placement keeps its unit; a new one has unit 0 until `_refold`.
        """
        old_by_entry = {p.entry: p for p in old}
        placements = []
        for entry, placement_id in ids.items():
            old_placement = old_by_entry.get(entry)
            if old_placement is None:
                location = (session, entry, 0, *decoded[entry])
                placements.append(_Placement(placement_id, *location))
                continue
            is_copy = self._get_copy_mark(old_placement, decoded)
            placements.append(old_placement._replace(id=placement_id, is_copy=is_copy))
        return placements

    def _get_copy_mark(
        self, placement: _Placement, decoded: dict[int, DecodedPlacement]
    ) -> int:
        """Return 1 if the entry is a copy now, else 0.

        Only the mark of a placement in the source that was decoded again can change.
        """
        is_decoded = placement.source == self.source and placement.entry in decoded
        return (decoded[placement.entry] if is_decoded else placement).is_copy

    def _replace_placements(self, old: list[_Placement], new: list[_Placement]) -> None:
        """Delete the old placements that `new` lacks; insert those that `old` lacks."""
        old_set, new_set = set(old), set(new)
        self.db.executemany(
            "DELETE FROM placement WHERE id = ?", [(p.id,) for p in old_set - new_set]
        )
        self.db.executemany(
            make_insert("placement", _Placement._fields), new_set - old_set
        )
        self.db.executemany(
            "INSERT OR IGNORE INTO feed (session, source, first) VALUES (?, ?, ?)",
            [(p.session, p.source, p.id) for p in new_set - old_set],
        )
        self._removed_entries |= {p.entry for p in old} - {p.entry for p in new}
        if not new:
            # The newest placements of the store may be gone.
            clamp_checkpoints(self.db)

    def _refold(
        self,
        session: int,
        old: list[_Placement],
        new: list[_Placement],
        *,
        are_all_changed: bool,
    ) -> None:
        """Compute totals and units again, and mark changed outputs as due."""
        query = "SELECT agent, session_id, source FROM session WHERE id = ?"
        key = SessionKey(*self.db.execute(query, (session,)).fetchone())
        before = self.sessions.get(key)
        row, unit_by_placement = self._fold(key, before)
        self.db.executemany(
            "UPDATE placement SET unit = ? WHERE id = ?",
            [
                (unit_by_placement[p.id], p.id)
                for p in new
                if unit_by_placement[p.id] != p.unit
            ],
        )
        new = [p._replace(unit=unit_by_placement[p.id]) for p in new]
        # Copies are visible only in a stream that has no originals.
        has_other_visibility = (before.originals == 0) != (row.originals == 0)
        self._move_units(
            session, old, new, are_all_changed=are_all_changed or has_other_visibility
        )
        rewound_before = list_rewound(before.forks, before.units)
        rewound_after = list_rewound(row.forks, row.units)
        changed_units = list_changed(rewound_before, rewound_after)
        TranscriptLedger(self.db).mark_due(session, changed_units)
        row.is_dirty = 1
        self._mark_due(session, key)
        if any(getattr(before, name) != getattr(row, name) for name in _LINK_COLUMNS):
            self._mark_main_units_due(key)

    def _fold(
        self, key: SessionKey, before: SessionRow
    ) -> tuple[SessionRow, dict[int, int]]:
        """Add all records to empty totals; return the totals, and units by placement.

        A session that was marked as stopped remains stopped.
        """
        row = self.sessions.reset(key)
        row.seen_us = row.seen_us or self.observed_us
        fold = SessionFold(row)
        units: dict[int, int] = {}
        for placement, is_copy, entry_id, created_us, *values in self._iter_records(
            row.id
        ):
            record, *_ = unpack_record(values, key)
            if is_copy:
                record = structs.replace(record, is_copy=True)
            unit, moved_from = fold.add(record, created_us, placement)
            if moved_from:
                self._move_since(moved_from, units, row.units)
            units[placement] = unit
            self.entry_ids.add(entry_id)
        if before.stopped_us is not None:
            row.stopped_us = before.stopped_us
        return row, units

    @staticmethod
    def _move_since(start: int, units: dict[int, int], unit: int) -> None:
        """Move the placements since `start` from unit `unit - 1` into `unit`."""
        for placement in takewhile(lambda each: each >= start, reversed(units)):
            if units[placement] == unit - 1:
                units[placement] = unit

    def _iter_records(self, session: int) -> sqlite3.Cursor:
        columns = list_columns(RECORD_COLUMNS, table="r")
        return self.db.execute(
            f"SELECT p.id, p.is_copy, r.entry_id, r.created_us, {columns} "
            "FROM placement p "
            "JOIN record r ON r.entry = p.entry AND r.is_current "
            "WHERE p.session = ? ORDER BY p.id",
            (session,),
        )

    def _move_units(
        self,
        session: int,
        old: list[_Placement],
        new: list[_Placement],
        *,
        are_all_changed: bool,
    ) -> None:
        """Renumber the transcripts of the units; make those of changed units due.

        A unit is identified by its first entry, from which its chat id is derived.
        """
        old_units, new_units = _group_by_unit(old), _group_by_unit(new)
        numbers = {unit[0].entry: number for number, unit in new_units.items()}
        moves: dict[int, UnitMove] = {}
        for number, unit in old_units.items():
            new_number = numbers.get(unit[0].entry) if number else 0
            if new_number is None or new_number not in new_units:
                continue
            new_unit = new_units[new_number]
            entries = [p.entry for p in unit]
            is_same = entries == [p.entry for p in new_unit] and not are_all_changed
            moves[number] = UnitMove(
                number=new_number,
                is_changed=not (is_same and self.changed_entries.isdisjoint(entries)),
                old_newest=unit[-1].id,
                first=new_unit[0].id,
                newest=new_unit[-1].id,
            )
        TranscriptLedger(self.db).move_units(session, moves)

    def _mark_due(self, session: int, key: SessionKey) -> None:
        """Make the asset index and the exports process the whole stream again."""
        # The file changes of the session, and how far it was searched for them.
        for table in ("touch", "touched"):
            self.db.execute(f"DELETE FROM {table} WHERE session = ?", (session,))
        main: tuple[Any, ...] = (*key[:2], MAIN)
        of_main = "(SELECT id FROM session WHERE (agent, session_id, source) = (?,?,?))"
        self.db.execute(f"DELETE FROM published WHERE session = {of_main}", main)
        self.db.execute(
            f"UPDATE collected SET is_due = 1 WHERE session = {of_main}", main
        )

    def _mark_main_units_due(self, key: SessionKey) -> None:
        """Make all units of the main session due: a subagent may have changed unit."""
        self.db.execute(
            "UPDATE transcript SET newest = min(newest, ifnull((SELECT min(p.id) - 1 "
            "FROM placement p WHERE p.session = transcript.session "
            "AND p.unit = transcript.unit), newest)) WHERE unit > 0 AND session = "
            "(SELECT id FROM session WHERE (agent, session_id, source) = (?, ?, ?))",
            (*key[:2], MAIN),
        )


def _group_by_unit(placements: list[_Placement]) -> dict[int, list[_Placement]]:
    units: dict[int, list[_Placement]] = {}
    for placement in placements:
        units.setdefault(placement.unit, []).append(placement)
    return units
