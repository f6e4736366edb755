"""Entries by what they are, loaded a page at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from leslied.api.nouns import Entry, make_entry
from leslied.model.record import MAIN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from leslied.api.store import Store
    from leslied.model.record import Placed
    from leslied.store import Wanted

    Test = Callable[[Entry], bool]


@dataclass(frozen=True, slots=True)
class Entries:
    """A question for entries; every iteration asks it anew.

    They come in the order they were read: those of one source in their own order.
    """

    _store: Store
    _wanted: Wanted
    _tests: tuple[Test, ...] = ()

    def __iter__(self) -> Iterator[Entry]:
        after = 0
        while page := self._store.reader.page(self._wanted, after):
            yield from self._pass(page)
            after = page[-1].placement

    def all(self) -> Iterator[Entry]:
        """Every entry that was asked for, a page of them in memory at a time."""
        return iter(self)

    def latest(self) -> Entry | None:
        """The one with the latest time; None where there is none."""
        reader = self._store.reader
        for place in reader.newest_places(self._wanted):
            for entry in self._pass(reader.page(self._wanted, place - 1, most=1)):
                return entry
        return None

    def where(
        self,
        test: Test | None = None,
        /,
        *,
        role: str = "",
        source: str = "",
        tool: str = "",
        type: str = "",  # noqa: A002 - the record's own word
        session: str = "",
    ) -> Entries:
        """Those of them that have all these values and pass the test.

        `source` is `main`, its synonym `primary`, or `subagent:` and an id; `session`
        is an id as `Store.session` takes it; `tool` finds calls and results.
        """
        old = self._wanted
        wanted = replace(
            old,
            role=role or old.role,
            source=(MAIN if source == "primary" else source) or old.source,
            type=type or old.type,
        )
        if session:
            wanted = self._store.narrow(wanted, session)
        tests = [test] if test else []
        if tool:
            tests.append(lambda entry: entry.tool_name == tool)
        return replace(self, _wanted=wanted, _tests=(*self._tests, *tests))

    def _pass(self, page: list[Placed]) -> Iterator[Entry]:
        for placed in page:
            entry = make_entry(self._store.clear(placed))
            if all(test(entry) for test in self._tests):
                yield entry
