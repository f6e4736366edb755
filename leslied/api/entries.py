"""Entries by what they are, loaded a page at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, get_args

from leslied.api.nouns import Entry, make_entry
from leslied.errors import UserError
from leslied.model.record import MAIN, RecordType, Role

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from leslied.api._inside import Inside
    from leslied.api.nouns import Session
    from leslied.model.record import Placed
    from leslied.store import Wanted

    Test = Callable[[Entry], bool]


@dataclass(frozen=True, slots=True)
class Entries:
    """A question for entries; every iteration asks it anew.

    They come in the order they were read: those of one source in their own order.
    """

    _inside: Inside
    _wanted: Wanted
    _tests: tuple[Test, ...] = ()

    def __iter__(self) -> Iterator[Entry]:
        after = 0
        while page := self._inside.reader.page(self._wanted, after):
            yield from self._pass(page)
            after = page[-1].placement

    def all(self) -> Iterator[Entry]:
        """Every entry that was asked for, a page of them in memory at a time."""
        return iter(self)

    def latest(self) -> Entry | None:
        """The one with the latest time; None where there is none."""
        reader = self._inside.reader
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
        session: str | Session = "",
    ) -> Entries:
        """Those of them that have all these values and pass the test.

        `source` is `main`, its synonym `primary`, or `subagent:` and an id; `tool`
        finds calls and results; `session` is a session, or an id as `Store.session`
        takes it.
        """
        _check("role", role, get_args(Role))
        _check("type", type, get_args(RecordType))
        source = MAIN if source == "primary" else source
        old, tests = self._wanted, [test] if test else []
        wanted = replace(
            old,
            role=old.role or role,
            type=old.type or type,
            source=old.source or source,
            tool=old.tool or tool,
        )
        given = {"role": role, "type": type, "source": source, "tool_name": tool}
        tests += [_has(name, value) for name, value in given.items() if value]
        if session:
            wanted_id = session if isinstance(session, str) else session.id
            wanted = self._inside.narrow(wanted, wanted_id)
        return replace(self, _wanted=wanted, _tests=(*self._tests, *tests))

    def _pass(self, page: list[Placed]) -> Iterator[Entry]:
        for placed in page:
            entry = make_entry(self._inside.clear(placed))
            if all(test(entry) for test in self._tests):
                yield entry


def _has(name: str, value: str) -> Test:
    return lambda entry: getattr(entry, name) == value


def _check(name: str, value: str, known: tuple[str, ...]) -> None:
    if value and value not in known:
        raise UserError(f"There is no {name} {value!r}.", f"One of: {', '.join(known)}")
