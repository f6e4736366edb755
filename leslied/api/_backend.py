"""The queries behind the types of the API; not public."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from msgspec import structs

from leslied.api.entries import Entries
from leslied.api.types import SessionView, make_session_view, make_unit_view
from leslied.model.codec import session_to_dict
from leslied.model.query import Selection
from leslied.queries import (
    add_costs,
    list_sessions,
    redact_entry,
    redact_unit,
    resolve_id,
)
from leslied.redact.session import redact_json, redact_summary
from leslied.sessions import RecordStream, assemble, compute_status
from leslied.store import RecordFilter, SqlReader
from leslied.store.read.views import SESSIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from leslied.api.types import UnitView
    from leslied.clock import Clock
    from leslied.model.query import Filter
    from leslied.model.record import PlacedRecord
    from leslied.model.session import SessionSummary
    from leslied.model.session import Unit as StoredUnit
    from leslied.queries import ResolvedId


class Backend:
    """The store's reader, and the conversion of its results to API types."""

    redact: Callable[[str], str] | None = None
    """Function that removes secrets from a text; None if texts stay unchanged."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._clock = clock
        self.reader = SqlReader(path, clock, self._iter_session_rows)

    def get_session(self, id_prefix: str) -> SessionSummary:
        """Return the session or subagent that an id names.

        Raise UserError if there is none or the id is ambiguous.
        """
        resolved = resolve_id(self.reader, id_prefix, with_costs=True)
        if not resolved.subagent:
            return resolved.session
        return add_costs(self.reader, [self._get_subagent(resolved)])[0]

    def _get_subagent(self, resolved: ResolvedId) -> SessionSummary:
        children = self.reader.list_children(resolved.session)
        return next(
            child for child in children if child.subagent_id == resolved.subagent
        )

    def load_units(self, summary: SessionSummary) -> Iterator[UnitView]:
        """Yield the units of a session or subagent, with one in memory at a time."""
        transcript_paths = self.reader.find_transcript_paths(summary.row)
        self.reader.clear_cache()
        for number in self.reader.get_session_order(summary.row).chat_ids:
            record_filter = RecordFilter(streams=(summary.row,), unit=number)
            entries = list(chain.from_iterable(self.reader.iter_pages(record_filter)))
            for unit in assemble(RecordStream(summary, entries), ()):
                path = transcript_paths.get(number, "")
                unit_with_path = structs.replace(unit, transcript=path)
                yield make_unit_view(self._redact_unit(unit_with_path))

    def list_entries(self, summary: SessionSummary) -> Entries:
        """Return the entries of a subagent, or of a session and its subagents."""
        return Entries(self, RecordFilter(streams=self._list_streams(summary)))

    def list_subagents(self, summary: SessionSummary) -> list[SessionView]:
        """Return a session's subagents, at any depth; none for a subagent."""
        children = add_costs(self.reader, self._list_children(summary))
        return [self.make_view(child) for child in children]

    def make_record_filter(self, id_prefix: str) -> RecordFilter:
        """Return the filter for the entries that an id names.

        The id of an entry that forks share selects the entry in each of them. Raise
        UserError if there is no such id or it is ambiguous.
        """
        resolved = resolve_id(self.reader, id_prefix)
        if resolved.entry:
            return RecordFilter(entry=resolved.entry)
        if resolved.unit is not None:
            return RecordFilter(streams=(resolved.session.row,), unit=resolved.unit)
        is_subagent = bool(resolved.subagent)
        summary = self._get_subagent(resolved) if is_subagent else resolved.session
        return RecordFilter(streams=self._list_streams(summary))

    def redact_record(self, placed: PlacedRecord) -> PlacedRecord:
        """Return the record, without secrets if the store was opened with `redact`."""
        return redact_entry(placed, self.redact) if self.redact else placed

    def _redact_unit(self, unit: StoredUnit) -> StoredUnit:
        return redact_unit(unit, self.redact) if self.redact else unit

    def redact_row(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the SQL row, without secrets if the store was opened with `redact`."""
        redact = self.redact
        if redact is None:
            return row
        return tuple(
            redact_json(value, redact) if isinstance(value, str) else value
            for value in row
        )

    def _list_streams(self, summary: SessionSummary) -> tuple[int, ...]:
        """Return the row ids of a session and its subagents, or of a subagent."""
        children = self._list_children(summary)
        return tuple({summary.row, *(child.row for child in children)})

    def _list_children(self, summary: SessionSummary) -> list[SessionSummary]:
        """Return a session's subagents, at any depth; none for a subagent."""
        return [] if summary.is_subagent else self.reader.list_children(summary)

    def list_sessions(
        self, filters: tuple[Filter, ...] = (), *, with_subagents: bool = False
    ) -> list[SessionSummary]:
        """Return the matching sessions with their costs, last active first."""
        return list_sessions(
            self.reader,
            Selection(filters=filters),
            with_subagents=with_subagents,
            with_costs=True,
        )

    def make_view(self, summary: SessionSummary) -> SessionView:
        """Return the session as scripts see it.

        Secrets are removed if the store was opened with `redact`.
        """
        status = compute_status(summary, self._clock.now())
        redacted = redact_summary(summary, self.redact) if self.redact else summary
        return make_session_view(redacted, status, self)

    def _iter_session_rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of the SQL view `sessions`, in the order of its columns."""
        now = self._clock.now()
        for summary in self.list_sessions():
            fields = session_to_dict(summary, compute_status(summary, now), summary.cwd)
            fields |= fields.pop("usage")
            fields["session_id"] = fields.pop("id")
            yield tuple(fields[column.name] for column in SESSIONS.columns)
