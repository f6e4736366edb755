"""A filterable selection of entries, loaded in pages."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, get_args

from leslied.api.types import Entry, make_entry
from leslied.errors import UserError
from leslied.model.record import MAIN, RecordType, Role
from leslied.queries.scripts import RecordFilter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from leslied.model.record import PlacedRecord
    from leslied.queries.scripts import ScriptQueries

    EntryTest = Callable[[Entry], bool]


class Identified(Protocol):
    """An object with an id, such as a session."""

    @property
    def id(self) -> str:
        """The object's id."""


@dataclass(frozen=True, slots=True)
class Entries:
    """A selection of entries; every iteration queries the store again.

    Entries come in the order in which leslied read them; those of one source keep the
    order of that source.
    """

    _queries: ScriptQueries
    _filter: RecordFilter
    _tests: tuple[EntryTest, ...] = ()

    def __iter__(self) -> Iterator[Entry]:
        return self._iter_matching(self._queries.iter_entries(self._filter))

    def all(self) -> Iterator[Entry]:
        """Yield the selected entries, with one page in memory at a time."""
        return iter(self)

    def latest(self) -> Entry | None:
        """Return the selected entry with the latest time; None without entries."""
        latest = self._queries.iter_latest_entries(self._filter)
        return next(self._iter_matching(latest), None)

    def where(
        self,
        test: EntryTest | None = None,
        /,
        *,
        role: str = "",
        source: str = "",
        tool: str = "",
        type: str = "",  # noqa: A002 - the name of the field
        session: str | Identified = "",
    ) -> Entries:
        """Return the entries that have all these values and pass the test.

        `source` is `main`, its synonym `primary`, or `subagent:` and an id. `tool`
        matches calls and results. `session` is a session, or the id of a session,
        thread, unit, subagent or entry. Filters of chained calls all apply. Raise
        UserError for an unknown role, type or id.
        """
        _check_choice("role", role, get_args(Role))
        _check_choice("type", type, get_args(RecordType))
        source = MAIN if source == "primary" else source
        conditions = RecordFilter(role=role, type=type, source=source, tool=tool)
        if session:
            id_prefix = session if isinstance(session, str) else session.id
            conditions = conditions.intersect(
                self._queries.make_record_filter(id_prefix)
            )
        tests = [_make_tool_test(tool)] if tool else []
        tests += [test] if test else []
        return replace(
            self,
            _filter=self._filter.intersect(conditions),
            _tests=(*self._tests, *tests),
        )

    def _iter_matching(self, records: Iterator[PlacedRecord]) -> Iterator[Entry]:
        for placed in records:
            entry = make_entry(placed)
            if all(test(entry) for test in self._tests):
                yield entry


def _make_tool_test(tool: str) -> EntryTest:
    """Return a test for entries of this tool.

    The store's filter is not enough: it selects the results of all tools, because only
    a call names its tool there.
    """
    return lambda entry: entry.tool_name == tool


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    """Raise UserError if a value is set and not one of the choices."""
    if value and value not in choices:
        raise UserError(
            f"There is no {name} {value!r}.", f"Use one of: {', '.join(choices)}"
        )
