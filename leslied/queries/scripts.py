"""Questions of scripts: SQL, and sessions, units and entries loaded lazily."""

from __future__ import annotations

import math
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from msgspec import structs

from leslied.model.field_tables import session_to_dict
from leslied.model.query import Selection
from leslied.queries.resolve import resolve_id
from leslied.queries.session_list import ListedSession
from leslied.queries.sessions import add_costs, list_sessions
from leslied.redact.session import (
    redact_entry,
    redact_summary,
    redact_unit,
)
from leslied.sessions.assemble import RecordStream, assemble
from leslied.sessions.status import compute_status
from leslied.store import SQL_TIMEOUT_SECONDS, VIEWS, RecordFilter, SqlReader
from leslied.store.read.sql_query import make_timeout_error
from leslied.store.read.views import SESSIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from leslied.clock import Clock
    from leslied.model.query import Filter
    from leslied.model.record import PlacedRecord
    from leslied.model.session import SessionSummary, Unit
    from leslied.queries.resolve import ResolvedId
    from leslied.store.read.view import View

__all__ = [
    "SQL_TIMEOUT_SECONDS",
    "RecordFilter",
    "ScriptQueries",
    "SqlRows",
    "SqlTable",
    "list_views",
    "make_timeout_error",
]


class SqlRows(NamedTuple):
    """Result of a query: column names and an iterator that fetches the rows."""

    columns: tuple[str, ...]
    rows: Iterator[tuple[Any, ...]]

    def iter_json_rows(self) -> Iterator[list[Any]]:
        """Fetch rows of JSON values; bytes become hexadecimal digits."""
        for row in self.rows:
            yield [_to_json_value(cell) for cell in row]


class SqlTable(NamedTuple):
    """Fetched rows of JSON values, and the names of their columns."""

    columns: tuple[str, ...]
    rows: list[list[Any]]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form: each row as an object."""
        rows = [dict(zip(self.columns, row, strict=True)) for row in self.rows]
        return {"columns": list(self.columns), "rows": rows}


class ViewList(NamedTuple):
    """The views that SQL can query."""

    views: tuple[View, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        views = [
            {
                "name": view.name,
                "about": view.about,
                "columns": [{"name": c.name, "about": c.about} for c in view.columns],
            }
            for view in self.views
        ]
        return {"views": views}


class ScriptQueries:
    """A store that was opened for scripts; use it in a `with` statement.

    `load_redact` returns the function that removes secrets from all answers; None
    reveals them.
    """

    def __init__(
        self,
        path: Path,
        clock: Clock,
        load_redact: Callable[[], Callable[[str], str]] | None,
    ) -> None:
        self._clock = clock
        self._redact = load_redact() if load_redact else None
        self._reader = SqlReader(path, clock, self._iter_session_rows, self._redact)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the store."""
        self._reader.__exit__()

    def execute(self, query: str, values: Sequence[Any], timeout: float) -> SqlRows:
        """Run one SELECT; raise UserError if it is invalid or exceeds the timeout."""
        result = self._reader.execute(query, values, timeout)
        return SqlRows(result.columns, result.rows)

    def list_sessions(
        self, filters: tuple[Filter, ...] = (), *, with_subagents: bool = False
    ) -> list[SessionSummary]:
        """Return the matching sessions with their costs, last active first.

        They are not redacted: see `describe`.
        """
        return list_sessions(
            self._reader,
            Selection(filters=filters),
            with_subagents=with_subagents,
            with_costs=True,
        )

    def get_session(self, id_prefix: str) -> SessionSummary:
        """Return the session or subagent that an id names.

        Raise UserError if there is none or the id is ambiguous.
        """
        resolved = resolve_id(self._reader, id_prefix, with_costs=True)
        if not resolved.subagent:
            return resolved.session
        return add_costs(self._reader, [self._get_subagent(resolved)])[0]

    def list_subagents(self, summary: SessionSummary) -> list[SessionSummary]:
        """Return a session's subagents, at any depth; none for a subagent."""
        return add_costs(self._reader, self._list_children(summary))

    def describe(self, summary: SessionSummary) -> ListedSession:
        """Return the session with its status, without secrets unless revealed."""
        status = compute_status(summary, self._clock.now())
        redacted = redact_summary(summary, self._redact) if self._redact else summary
        return ListedSession(redacted, status)

    def iter_units(self, summary: SessionSummary) -> Iterator[Unit]:
        """Yield the units of a session or subagent, with one in memory at a time."""
        transcript_paths = self._reader.find_transcript_paths(summary.stream)
        self._reader.clear_cache()
        for number in self._reader.list_units(summary.stream):
            record_filter = RecordFilter(streams=(summary.stream,), unit=number)
            entries = list(chain.from_iterable(self._reader.iter_pages(record_filter)))
            for unit in assemble(RecordStream(summary, entries), ()):
                path = transcript_paths.get(number, "")
                unit_with_path = structs.replace(unit, transcript=path)
                yield (
                    redact_unit(unit_with_path, self._redact)
                    if self._redact
                    else unit_with_path
                )

    def iter_entries(self, record_filter: RecordFilter) -> Iterator[PlacedRecord]:
        """Yield the selected entries, with one page in memory at a time."""
        self._reader.clear_cache()
        return self._iter_redacted(self._reader.iter_pages(record_filter))

    def iter_latest_entries(
        self, record_filter: RecordFilter
    ) -> Iterator[PlacedRecord]:
        """Yield the selected entries, the latest first."""
        self._reader.clear_cache()
        return self._iter_redacted(self._reader.iter_newest_pages(record_filter))

    def make_session_filter(self, summary: SessionSummary) -> RecordFilter:
        """Return the filter for the entries of a session and its subagents.

        For a subagent, return the filter for its own entries.
        """
        children = self._list_children(summary)
        streams = (summary.stream, *(child.key for child in children))
        return RecordFilter(streams=streams)

    def make_record_filter(self, id_prefix: str) -> RecordFilter:
        """Return the filter for the entries that an id names.

        The id of an entry that forks share selects the entry in each of them. Raise
        UserError if the id does not exist or is ambiguous.
        """
        resolved = resolve_id(self._reader, id_prefix)
        if resolved.entry:
            return RecordFilter(entry=resolved.entry)
        if resolved.unit is not None:
            return RecordFilter(streams=(resolved.session.stream,), unit=resolved.unit)
        is_subagent = bool(resolved.subagent)
        summary = self._get_subagent(resolved) if is_subagent else resolved.session
        return self.make_session_filter(summary)

    def _get_subagent(self, resolved: ResolvedId) -> SessionSummary:
        children = self._reader.list_children(resolved.session)
        return next(
            child for child in children if child.subagent_id == resolved.subagent
        )

    def _list_children(self, summary: SessionSummary) -> list[SessionSummary]:
        return [] if summary.is_subagent else self._reader.list_children(summary)

    def _iter_redacted(
        self, pages: Iterable[list[PlacedRecord]]
    ) -> Iterator[PlacedRecord]:
        for placed in chain.from_iterable(pages):
            yield redact_entry(placed, self._redact) if self._redact else placed

    def _iter_session_rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of the SQL view `sessions`, in the order of its columns."""
        redact = self._redact or (lambda text: text)
        now = self._clock.now()
        for summary in self.list_sessions():
            listed = ListedSession(summary, compute_status(summary, now))
            fields = session_to_dict(listed)
            fields |= fields.pop("usage")
            fields["session_id"] = fields.pop("id")
            cells = (fields[column.name] for column in SESSIONS.columns)
            yield tuple(redact(c) if isinstance(c, str) else c for c in cells)


def list_views() -> ViewList:
    """Return the views that SQL can query, with their columns."""
    return ViewList(VIEWS)


def _to_json_value(cell: Any) -> Any:
    if isinstance(cell, bytes):
        return cell.hex()
    if isinstance(cell, float) and not math.isfinite(cell):
        return str(cell)
    return cell
