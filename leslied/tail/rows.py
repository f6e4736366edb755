"""Reading an agent's own SQLite database, which must not notice.

Opened read-only, and so that SQLite makes no file beside it: the shared memory is only
read, and where there is none the log of writes is indexed in our own memory. Each query
ends within a few rows, so the agent never waits to put its log away.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec

from leslied.errors import SourceError
from leslied.model.source import Chunk, Cursor, RawEntry
from leslied.tail.files import open_regular, read_at

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from leslied.model.source import Feed, FileStamp, SourceRef
    from leslied.tail.limits import ReadLimits

WAL = "-wal"
_AT_ONCE = 200
_BUSY_SECONDS = 0.1
_WRITE_VERSION = 18
"""Where a database says whether it keeps a log of writes."""
_STEPS = 100_000
_MOST_STEPS = 2_000
"""A query that takes longer than some seconds is given up: it is not sound."""

Mark = tuple[int, int]


def stamp_rows(path: Path, stamp: FileStamp) -> FileStamp:
    """The stamp of a database and its log of writes, which changes first."""
    try:
        status = path.with_name(path.name + WAL).stat()
    except OSError:
        return stamp
    return stamp._replace(
        size=stamp.size + status.st_size,
        mtime_ns=max(stamp.mtime_ns, status.st_mtime_ns),
        ctime_ns=max(stamp.ctime_ns, status.st_ctime_ns),
    )


def read(source: SourceRef, cursor: Cursor, limits: ReadLimits) -> Iterator[Chunk]:
    """Yield the rows after the marks in the cursor, feed by feed."""
    marks = _load_marks(cursor)
    number = cursor.offset
    with _open(source.path, limits) as db:
        for feed in _find_feeds(db, source.feeds):
            marks[feed.name] = _check_mark(db, feed, marks.get(feed.name, (0, 0)))
            while rows := _ask(db, feed, marks[feed.name]):
                marks[feed.name] = (rows[-1][0], rows[-1][1])
                entries = tuple(
                    RawEntry(source, number + nth, row[2].encode(errors="replace"))
                    for nth, row in enumerate(rows)
                )
                number += len(rows)
                yield Chunk(
                    entries=entries,
                    cursor=replace(
                        cursor, offset=number, anchor=_pack(marks), stamp=None
                    ),
                    bytes_read=sum(entry.length for entry in entries),
                )
    yield Chunk(
        entries=(),
        cursor=replace(cursor, offset=number, anchor=_pack(marks), stamp=source.stamp),
    )


@contextmanager
def _open(path: Path, limits: ReadLimits) -> Iterator[sqlite3.Connection]:
    is_alone = _is_alone(path)
    how = "mode=ro&vfs=unix-none" if is_alone else "mode=ro&readonly_shm=1"
    uri = f"{path.absolute().as_uri()}?{how}"
    try:
        with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as db:
            if is_alone:
                db.execute("PRAGMA locking_mode = EXCLUSIVE")
            db.execute(f"PRAGMA busy_timeout = {int(_BUSY_SECONDS * 1000)}")
            db.execute("PRAGMA trusted_schema = OFF")
            db.execute("PRAGMA cell_size_check = ON")
            db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, limits.line)
            yield db
    except sqlite3.Error as error:
        raise SourceError(f"cannot be read as SQLite: {error}") from error


def _is_alone(path: Path) -> bool:
    """No process has it open: it keeps a log of writes, and no memory is shared.

    Then no lock is needed, and asking for one would make a file beside it.
    """
    with open_regular(path) as fd:
        has_log = read_at(fd, 2, _WRITE_VERSION) == b"\2\2"
    return has_log and not path.with_name(path.name + "-shm").exists()


def _find_feeds(db: sqlite3.Connection, feeds: tuple[Feed, ...]) -> list[Feed]:
    query = "SELECT name FROM sqlite_schema WHERE type = 'table'"
    tables = {row[0] for row in db.execute(query)}
    found = [
        feed
        for feed in feeds
        if tables.issuperset(feed.tables) and feed.unless not in tables
    ]
    if not found:
        raise SourceError("has none of the tables that are read")
    return found


def _check_mark(db: sqlite3.Connection, feed: Feed, mark: Mark) -> Mark:
    """The mark, or the beginning where rows were numbered anew."""
    query = f"SELECT max(rowid) FROM {feed.tables[0]}"
    (last,) = db.execute(query).fetchone()
    return mark if mark[1] <= (last or 0) else (0, 0)


def _ask(db: sqlite3.Connection, feed: Feed, mark: Mark) -> list[tuple[int, int, str]]:
    steps = iter(range(_MOST_STEPS))
    db.set_progress_handler(lambda: next(steps, None) is None, _STEPS)
    rows = db.execute(feed.sql, {"after": mark[0], "row": mark[1]})
    return rows.fetchmany(_AT_ONCE)


def _load_marks(cursor: Cursor) -> dict[str, Mark]:
    if not cursor.anchor:
        return {}
    return msgspec.json.decode(cursor.anchor, type=dict[str, Mark])


def _pack(marks: dict[str, Any]) -> bytes:
    return msgspec.json.encode(marks)
