"""Entries by what they are, loaded a page at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, get_args

from leslied.api.types import Entry, make_entry
from leslied.errors import UserError
from leslied.model.record import MAIN, RecordType, Role
from leslied.store import RecordFilter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from leslied.api._backend import Backend
    from leslied.api.types import SessionView
    from leslied.model.record import PlacedRecord

    EntryTest = Callable[[Entry], bool]


@dataclass(frozen=True, slots=True)
class Entries:
    """A question for entries; every iteration asks it anew.

    They come in the order they were read: those of one source in their own order.
    """

    _backend: Backend
    _wanted: RecordFilter
    _tests: tuple[EntryTest, ...] = ()

    def __iter__(self) -> Iterator[Entry]:
        reader = self._backend.reader
        reader.clear_cache()
        return self._iter_matching(reader.iter_pages(self._wanted))

    def all(self) -> Iterator[Entry]:
        """Every entry that was asked for, a page of them in memory at a time."""
        return iter(self)

    def latest(self) -> Entry | None:
        """The one with the latest time; None where there is none."""
        reader = self._backend.reader
        reader.clear_cache()
        return next(self._iter_matching(reader.iter_newest_pages(self._wanted)), None)

    def where(
        self,
        test: EntryTest | None = None,
        /,
        *,
        role: str = "",
        source: str = "",
        tool: str = "",
        type: str = "",  # noqa: A002 - the record's own word
        session: str | SessionView = "",
    ) -> Entries:
        """Those of them that have all these values and pass the test.

        `source` is `main`, its synonym `primary`, or `subagent:` and an id; `tool`
        finds calls and results; `session` is a session, or the id of what is wanted:
        of a session, thread, unit, subagent or entry. What is narrowed twice has both.
        """
        _check("role", role, get_args(Role))
        _check("type", type, get_args(RecordType))
        source = MAIN if source == "primary" else source
        more = RecordFilter(role=role, type=type, source=source, tool=tool)
        if session:
            wanted_id = session if isinstance(session, str) else session.id
            more = more.intersect(self._backend.make_entry_query(wanted_id))
        tests = [_has_tool(tool)] if tool else []
        tests += [test] if test else []
        return replace(
            self,
            _wanted=self._wanted.intersect(more),
            _tests=(*self._tests, *tests),
        )

    def _iter_matching(self, pages: Iterator[list[PlacedRecord]]) -> Iterator[Entry]:
        for placed in chain.from_iterable(pages):
            entry = make_entry(self._backend.redact_record(placed))
            if all(test(entry) for test in self._tests):
                yield entry


def _has_tool(tool: str) -> EntryTest:
    return lambda entry: entry.tool_name == tool


def _check(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value and value not in choices:
        raise UserError(
            f"There is no {name} {value!r}.", f"One of: {', '.join(choices)}"
        )
