"""What the nouns of the API ask in turn; no script's business."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from msgspec import structs

from leslied.api.entries import Entries
from leslied.api.nouns import Session, make_session, make_unit
from leslied.lookup import (
    add_costs,
    gather_sessions,
    redact_placed,
    redact_unit,
    resolve,
)
from leslied.model.codec import session_to_dict
from leslied.model.query import Selection
from leslied.redact.deep import redact_json, redact_summary
from leslied.sessions import Stream, assemble, tell_status
from leslied.store import RecordFilter, SqlReader
from leslied.store.views import SESSIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from leslied.api.nouns import Unit
    from leslied.clock import Clock
    from leslied.lookup import Found
    from leslied.model.query import Filter
    from leslied.model.record import PlacedRecord
    from leslied.model.session import SessionSummary
    from leslied.model.session import Unit as StoredUnit


class Inside:
    """The store's reader, and how what it reads is told."""

    redact: Callable[[str], str] | None = None

    def __init__(self, path: Path, clock: Clock) -> None:
        self._clock = clock
        self.reader = SqlReader(path, clock, self._session_rows)

    def find(self, wanted: str) -> SessionSummary:
        """The session or subagent that an id stands for."""
        found = resolve(self.reader, wanted, with_costs=True)
        if not found.subagent:
            return found.session
        return add_costs(self.reader, [self._find_below(found)])[0]

    def _find_below(self, found: Found) -> SessionSummary:
        below = self.reader.list_children(found.session)
        return next(s for s in below if s.subagent_id == found.subagent)

    def load_units(self, summary: SessionSummary) -> Iterator[Unit]:
        """The units of one stream in order, one in memory at a time."""
        files = self.reader.find_transcript_paths(summary.row)
        self.reader.clear_cache()
        for number in self.reader.get_session_order(summary.row).chat_ids:
            wanted = RecordFilter(streams=(summary.row,), unit=number)
            entries = list(chain.from_iterable(self.reader.iter_pages(wanted)))
            for unit in assemble(Stream(summary, entries), ()):
                found = structs.replace(unit, transcript=files.get(number, ""))
                yield make_unit(self._clear_unit(found))

    def entries_of(self, summary: SessionSummary) -> Entries:
        """The entries of a subagent, or of a session with its subagents."""
        return Entries(self, RecordFilter(streams=self._streams(summary)))

    def subagents_of(self, summary: SessionSummary) -> list[Session]:
        """The subagents of a session; those of a subagent count as its session's."""
        below = self._children(summary)
        # No streams at all would mean every one.
        priced = add_costs(self.reader, below) if below else []
        return [self.tell(each) for each in priced]

    def want(self, wanted: str) -> RecordFilter:
        """The question for the entries of what an id stands for.

        An entry that several sessions share is wanted in all of them.
        """
        found = resolve(self.reader, wanted)
        if found.entry:
            return RecordFilter(entry=found.entry)
        if found.unit is not None:
            return RecordFilter(streams=(found.session.row,), unit=found.unit)
        meant = self._find_below(found) if found.subagent else found.session
        return RecordFilter(streams=self._streams(meant))

    def clear(self, placed: PlacedRecord) -> PlacedRecord:
        """The record as it may be told."""
        return redact_placed(placed, self.redact) if self.redact else placed

    def _clear_unit(self, unit: StoredUnit) -> StoredUnit:
        return redact_unit(unit, self.redact) if self.redact else unit

    def clear_row(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        if not (redact := self.redact):
            return row
        return tuple(
            redact_json(cell, redact) if isinstance(cell, str) else cell for cell in row
        )

    def _streams(self, summary: SessionSummary) -> tuple[int, ...]:
        below = self._children(summary)
        return tuple({summary.row, *(each.row for each in below)})

    def _children(self, summary: SessionSummary) -> list[SessionSummary]:
        return [] if summary.is_subagent else self.reader.list_children(summary)

    def gather(
        self, filters: tuple[Filter, ...] = (), *, with_subagents: bool = False
    ) -> list[SessionSummary]:
        return gather_sessions(
            self.reader,
            Selection(filters=filters),
            with_subagents=with_subagents,
            with_costs=True,
        )

    def tell(self, found: SessionSummary) -> Session:
        told = redact_summary(found, self.redact) if self.redact else found
        return make_session(told, tell_status(found, self._clock.now()), self)

    def _session_rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows of the view `sessions`, in the order of its columns."""
        now = self._clock.now()
        for each in self.gather():
            plain = session_to_dict(each, tell_status(each, now), each.cwd)
            plain |= plain.pop("usage")
            plain["session_id"] = plain.pop("id")
            yield tuple(plain[column.name] for column in SESSIONS.columns)
