"""What the nouns of the API ask in turn; no script's business."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from msgspec import structs

from leslied.api.entries import Entries
from leslied.api.types import SessionView, make_session_view, make_unit_view
from leslied.lookup import (
    add_costs,
    list_sessions,
    redact_entry,
    redact_unit,
    resolve_id,
)
from leslied.model.codec import session_to_dict
from leslied.model.query import Selection
from leslied.redact.session import redact_json, redact_summary
from leslied.sessions import RecordStream, assemble, compute_status
from leslied.store import RecordFilter, SqlReader
from leslied.store.views import SESSIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from leslied.api.types import UnitView
    from leslied.clock import Clock
    from leslied.lookup import ResolvedId
    from leslied.model.query import Filter
    from leslied.model.record import PlacedRecord
    from leslied.model.session import SessionSummary
    from leslied.model.session import Unit as StoredUnit


class Backend:
    """The store's reader, and how what it reads is told."""

    redact: Callable[[str], str] | None = None

    def __init__(self, path: Path, clock: Clock) -> None:
        self._clock = clock
        self.reader = SqlReader(path, clock, self._session_rows)

    def find_session(self, wanted: str) -> SessionSummary:
        """The session or subagent that an id stands for."""
        found = resolve_id(self.reader, wanted, with_costs=True)
        if not found.subagent:
            return found.session
        return add_costs(self.reader, [self._find_subagent(found)])[0]

    def _find_subagent(self, found: ResolvedId) -> SessionSummary:
        below = self.reader.list_children(found.session)
        return next(s for s in below if s.subagent_id == found.subagent)

    def load_units(self, summary: SessionSummary) -> Iterator[UnitView]:
        """The units of one stream in order, one in memory at a time."""
        files = self.reader.find_transcript_paths(summary.row)
        self.reader.clear_cache()
        for number in self.reader.get_session_order(summary.row).chat_ids:
            wanted = RecordFilter(streams=(summary.row,), unit=number)
            entries = list(chain.from_iterable(self.reader.iter_pages(wanted)))
            for unit in assemble(RecordStream(summary, entries), ()):
                found = structs.replace(unit, transcript=files.get(number, ""))
                yield make_unit_view(self._redact_unit(found))

    def list_entries(self, summary: SessionSummary) -> Entries:
        """The entries of a subagent, or of a session with its subagents."""
        return Entries(self, RecordFilter(streams=self._list_streams(summary)))

    def list_subagents(self, summary: SessionSummary) -> list[SessionView]:
        """The subagents of a session; those of a subagent count as its session's."""
        below = self._list_children(summary)
        # No streams at all would mean every one.
        priced = add_costs(self.reader, below) if below else []
        return [self.make_view(each) for each in priced]

    def make_entry_query(self, wanted: str) -> RecordFilter:
        """The question for the entries of what an id stands for.

        An entry that several sessions share is wanted in all of them.
        """
        found = resolve_id(self.reader, wanted)
        if found.entry:
            return RecordFilter(entry=found.entry)
        if found.unit is not None:
            return RecordFilter(streams=(found.session.row,), unit=found.unit)
        meant = self._find_subagent(found) if found.subagent else found.session
        return RecordFilter(streams=self._list_streams(meant))

    def redact_record(self, placed: PlacedRecord) -> PlacedRecord:
        """The record as it may be told."""
        return redact_entry(placed, self.redact) if self.redact else placed

    def _redact_unit(self, unit: StoredUnit) -> StoredUnit:
        return redact_unit(unit, self.redact) if self.redact else unit

    def redact_row(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        if not (redact := self.redact):
            return row
        return tuple(
            redact_json(cell, redact) if isinstance(cell, str) else cell for cell in row
        )

    def _list_streams(self, summary: SessionSummary) -> tuple[int, ...]:
        below = self._list_children(summary)
        return tuple({summary.row, *(each.row for each in below)})

    def _list_children(self, summary: SessionSummary) -> list[SessionSummary]:
        return [] if summary.is_subagent else self.reader.list_children(summary)

    def list_sessions(
        self, filters: tuple[Filter, ...] = (), *, with_subagents: bool = False
    ) -> list[SessionSummary]:
        return list_sessions(
            self.reader,
            Selection(filters=filters),
            with_subagents=with_subagents,
            with_costs=True,
        )

    def make_view(self, found: SessionSummary) -> SessionView:
        told = redact_summary(found, self.redact) if self.redact else found
        return make_session_view(told, compute_status(found, self._clock.now()), self)

    def _session_rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows of the view `sessions`, in the order of its columns."""
        now = self._clock.now()
        for each in self.list_sessions():
            plain = session_to_dict(each, compute_status(each, now), each.cwd)
            plain |= plain.pop("usage")
            plain["session_id"] = plain.pop("id")
            yield tuple(plain[column.name] for column in SESSIONS.columns)
