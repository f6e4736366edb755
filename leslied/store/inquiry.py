"""Questions in SQL, to views that fit this program; nothing can be changed by them.

Four locks: the file is opened read-only, `query_only` holds for what is temporary,
the authorizer knows reading alone, and a clock stops what does not end.
"""

from __future__ import annotations

import re
import sqlite3
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any

from leslied.errors import LesliedError, UserError
from leslied.store.connection import telling, unusable
from leslied.store.entries import cut, find_newest, find_places, load_places
from leslied.store.reader import Reader
from leslied.store.standing import Standing, join
from leslied.store.text import cut_words
from leslied.store.views import SESSIONS, VIEWS

if TYPE_CHECKING:
    from array import array
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from leslied.clock import Clock
    from leslied.model.record import PlacedRecord
    from leslied.store.entries import Wanted

    Rows = Iterable[Sequence[Any]]

TIMEOUT: float = 10
"""Seconds a query may take, unless somebody says otherwise."""

_AT_ONCE = 256
_STEPS = 10_000
"""How many steps of SQLite's machine pass between two looks at the clock."""
_MOST_BYTES = 2**28
_READS = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE}
_BANNED = {"load_extension", "fts3_tokenizer", "readfile", "writefile", "edit"}
_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_IOERR,
           sqlite3.SQLITE_BUSY, sqlite3.SQLITE_CANTOPEN}  # fmt: skip
_SEE = "See the views and their columns: leslied sql --views"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a query found: the names of the columns, and rows that come as asked for."""

    columns: tuple[str, ...]
    rows: Iterator[tuple[Any, ...]]


class Inquiry(Reader):
    """A reader that can be asked in SQL; `sessions` tells the rows of that view."""

    def __init__(self, path: Path, clock: Clock, sessions: Callable[[], Rows]) -> None:
        super().__init__(path)
        self._clock = clock
        self._sessions = sessions
        self._standings: dict[int, Standing] = {}
        self._deadline = inf
        self._is_ready = False

    def ask(
        self, query: str, values: Sequence[Any] = (), timeout: float = TIMEOUT
    ) -> Answer:
        """The rows that one SELECT finds; a sentence where it is none, or too slow."""
        _check_text(query)
        self._standings.clear()
        with self._limited(inf):
            self._prepare(query)
        began = self._clock.monotonic()
        with self._limited(timeout):
            cursor = self._db.execute(query, values)
        if cursor.description is None:
            raise UserError("There is no query.", _SEE)
        names = [column[0] for column in cursor.description]
        left = timeout - (self._clock.monotonic() - began)
        return Answer(tuple(_tell_apart(names)), self._fetch(cursor, left))

    def _fetch(self, cursor: sqlite3.Cursor, left: float) -> Iterator[tuple[Any, ...]]:
        """The rows; while nobody asks for the next ones, the time stands still."""
        while True:
            began = self._clock.monotonic()
            with self._limited(left):
                rows = cursor.fetchmany(_AT_ONCE)
            left -= self._clock.monotonic() - began
            if not rows:
                return
            yield from rows

    @contextmanager
    def _limited(self, seconds: float) -> Iterator[None]:
        """What is asked meanwhile ends in time; what fails is told as a sentence."""
        self._deadline = self._clock.monotonic() + seconds
        try:
            yield
        except _FAILURES as error:
            raise self._explain(error) from error
        finally:
            self._deadline = inf

    def look_anew(self) -> None:
        """What was known of the streams is asked of the store again."""
        self._standings.clear()

    def pages(self, wanted: Wanted) -> Iterator[list[PlacedRecord]]:
        """Such records as they were read, numbered, a page in memory at a time.

        Nothing is held open between two pages, however long that takes; what comes
        meanwhile is told at the end.
        """
        after = 0
        while places := self._places(wanted, after):
            yield from map(self._load, cut(places))
            after = places[-1]

    def newest_pages(self, wanted: Wanted) -> Iterator[list[PlacedRecord]]:
        """Such records, the latest first and those without a time last, in pages."""
        yield from map(self._load, cut(self._newest_places(wanted)))

    @telling
    def _places(self, wanted: Wanted, after: int) -> array[int]:
        return find_places(self._db, wanted, after)

    @telling
    def _newest_places(self, wanted: Wanted) -> array[int]:
        return find_newest(self._db, wanted)

    @telling
    def _load(self, places: array[int]) -> list[PlacedRecord]:
        found = []
        for session, placed in load_places(self._db, places):
            standing = self.standing(session)
            if standing.sequence(placed.placement) is None:
                # It came after this standing was taken.
                del self._standings[session]
                standing = self.standing(session)
            found.append(join(placed, standing))
        return found

    def _prepare(self, query: str) -> None:
        """The views are there, and the sessions are told if they are asked for."""
        # A name in a query stands there letter by letter.
        is_told = re.search(SESSIONS.name, query, re.IGNORECASE)
        if self._is_ready and not is_told:
            return
        self._db.set_authorizer(None)
        self._db.execute("PRAGMA query_only = 0")
        try:
            if not self._is_ready:
                self._make_views()
            if is_told:
                self._tell_sessions()
        finally:
            self._db.execute("PRAGMA query_only = 1")
            self._db.set_authorizer(_authorize)

    def _make_views(self) -> None:
        db = self._db
        db.text_factory = partial(str, encoding="utf-8", errors="replace")
        db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MOST_BYTES)
        db.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        db.create_function("cut_words", 2, _cut, deterministic=True)
        db.create_function("sequence_of", 2, self._sequence)
        db.create_function("neighbour_of", 3, self._neighbour)
        db.create_function("call_of", 2, self._call)
        db.create_function("answer_of", 2, self._answer)
        db.create_function("chat_of", 2, self._chat)
        columns = [column.name for column in SESSIONS.columns]
        db.execute(f"CREATE TEMP TABLE told_session ({', '.join(columns)})")
        db.execute("CREATE INDEX temp.told_by_id ON told_session (session_id)")
        for view in VIEWS:
            db.execute(view.statement)
        # A virtual table writes its own form down when it is first used.
        for table in ("json_each('')", "json_tree('')", "record_text"):
            db.execute(f"SELECT 1 FROM {table} LIMIT 0")
        db.set_progress_handler(self._is_late, _STEPS)
        self._is_ready = True

    def _tell_sessions(self) -> None:
        rows = list(self._sessions())
        marks = ", ".join("?" * len(SESSIONS.columns))
        self._db.execute("BEGIN")
        self._db.execute("DELETE FROM told_session")
        self._db.executemany(f"INSERT INTO told_session VALUES ({marks})", rows)
        self._db.execute("COMMIT")

    def _is_late(self) -> bool:
        return self._clock.monotonic() > self._deadline

    def standing(self, session: int) -> Standing:
        """Where everything stands in a stream; asked of the store once a query."""
        if session not in self._standings:
            self._standings[session] = Standing(self._db, session)
        return self._standings[session]

    def _sequence(self, session: int, placement: int) -> int | None:
        return self.standing(session).sequence(placement)

    def _neighbour(self, session: int, placement: int, step: int) -> int | None:
        return self.standing(session).neighbour(placement, step)

    def _call(self, session: int, call_id: str) -> str | None:
        return self.standing(session).calls.get(call_id) or None

    def _answer(self, session: int, call_id: str) -> int | None:
        return self.standing(session).answers.get(call_id)

    def _chat(self, session: int, unit: int) -> str | None:
        return self.standing(session).chats.get(unit)

    def _explain(self, error: Exception) -> LesliedError:
        """The sentence for what SQLite said."""
        said = str(error).strip().rstrip(".")
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGE:
            return unusable(self.path, error)
        if said == "interrupted" and not self._is_late():
            raise KeyboardInterrupt
        if said == "interrupted":
            return UserError(
                "The query took too long and was stopped.",
                "Ask for less, as one session_id or a LIMIT; or give it time: "
                "--timeout 60",
            )
        return _explain_query(said)


_FAILURES = (sqlite3.Error, sqlite3.Warning, OverflowError, ValueError)


def _authorize(action: int, what: str | None, name: str | None, *_: Any) -> int:
    """Reading is allowed, and nothing else."""
    if action == sqlite3.SQLITE_FUNCTION:
        is_fine = (name or "").lower() not in _BANNED
    elif action == sqlite3.SQLITE_PRAGMA:
        # The reader asks by it whether its sums are still true.
        is_fine = what == "data_version" and name is None
    else:
        is_fine = action in _READS
    return sqlite3.SQLITE_OK if is_fine else sqlite3.SQLITE_DENY


def _check_text(query: str) -> None:
    if not query.strip().strip(";"):
        raise UserError("There is no query.", _SEE)
    if "\0" in query or any("\ud800" <= each <= "\udfff" for each in query):
        raise UserError(
            "The query holds a character that is no text.",
            "Write it in UTF-8, without NUL bytes.",
        )


def _explain_query(said: str) -> UserError:
    """The sentence for a query that cannot be answered."""
    if found := re.match(r"no such table: (.*)", said, re.DOTALL):
        views = ", ".join(view.name for view in VIEWS)
        return UserError(f"There is no view {found[1]!r}.", f"The views are: {views}")
    if found := re.match(r"no such column: (.*)", said, re.DOTALL):
        return UserError(f"There is no column {found[1]!r}.", _SEE)
    if "one statement at a time" in said:
        return UserError("These are several statements.", "Ask one SELECT at a time.")
    if "bindings" in said:
        return UserError(
            "The query has places for values, and other values than places.",
            "Give a value for each `?`, or write it into the query.",
        )
    if any(word in said for word in ("authoriz", "prohibited", "readonly")):
        return UserError(
            f"Only reading is allowed ({said}).",
            "Ask with SELECT, WITH or VALUES; nothing was changed.",
        )
    if "syntax error" in said or "incomplete input" in said:
        return UserError(f"SQLite does not understand the query: {said}.", _SEE)
    return UserError(f"The query cannot be answered: {said}.", _SEE)


def _tell_apart(names: Sequence[str]) -> Iterator[str]:
    """The names, a second `n` as `n_2`, so that each means one column."""
    taken = set(names)
    seen: set[str] = set()
    for name in names:
        number, new = 2, name
        while new in seen or (new != name and new in taken):
            new, number = f"{name}_{number}", number + 1
        seen.add(new)
        yield new


def _cut(text: str | None, most: int) -> str | None:
    return cut_words(text, most) if text else text
