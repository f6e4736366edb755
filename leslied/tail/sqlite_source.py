"""Reading an agent's own SQLite database, which must not notice.

Opened read-only, and so that SQLite makes no file beside it: the shared memory is only
read, where there is none the log of writes is indexed in our own memory, and where
there is no log only the database counts. Each query ends within a few rows, so the
agent never waits to put its log away.
"""

from __future__ import annotations

import hashlib
import sqlite3
import zlib
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from leslied.errors import SourceError
from leslied.model.source import Chunk, Cursor, RawEntry, Rejection
from leslied.tail.files import open_regular, read_at
from leslied.tail.wal import has_commit

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path

    from leslied.model.source import Feed, FileStamp, SourceRef
    from leslied.tail.limits import ReadLimits

WAL = "-wal"
SHM = "-shm"
_INDEX_HEADER = 48
_MAX_ROWS = 200
_BUSY_SECONDS = 0.1
_SHARED_INDEX = "readonly_shm=1"
_OWN_INDEX = "vfs=unix-none"
_NO_LOG = "immutable=1"
_WRITE_VERSION = 18
"""Where a database says whether it keeps a log of writes."""
_STEPS_PER_PROGRESS_CALL = 100_000
_MAX_PROGRESS_CALLS = 2_000
"""A query that takes longer than some seconds is given up: it is not sound."""
_MAX_LENGTH_FACTOR = 4
"""So many times the longest entry may be read, only to be told as too long."""


class RowFingerprint(NamedTuple):
    """A row that was read: its number, and a checksum of its name."""

    row: int
    name_crc: int


class FeedPosition(msgspec.Struct, frozen=True, array_like=True):
    """How far a feed was read."""

    after: int = 0
    row: int = 0
    trail: tuple[RowFingerprint, ...] = ()
    """Rows that were read, the last one first, then ever farther back.

    Numbers of deleted rows are given again, and a database that was tidied up numbers
    its rows anew: reading goes on behind the last of these that still has its name.
    """


class _FeedRow(NamedTuple):
    position: FeedPosition
    data: bytes | None


def stamp_database(path: Path, stamp: FileStamp) -> FileStamp:
    """The stamp of a database and its log of writes, which changes first.

    A log is written over from its beginning, and a clock ticks only every few
    milliseconds: where there is an index, which counts commits, it takes the place of
    the time of the last change.
    """
    try:
        status = path.with_name(path.name + WAL).stat()
    except OSError:
        return stamp
    try:
        with open_regular(path.with_name(path.name + SHM)) as fd:
            changed = zlib.crc32(read_at(fd, _INDEX_HEADER, 0))
    except SourceError:
        changed = stamp.ctime_ns
    return stamp._replace(
        size=stamp.size + status.st_size,
        mtime_ns=max(stamp.mtime_ns, status.st_mtime_ns),
        ctime_ns=changed,
    )


def read(source: SourceRef, cursor: Cursor, limits: ReadLimits) -> Iterator[Chunk]:
    """Yield the rows after the marks in the cursor, feed by feed.

    Raise SourceError for whatever goes wrong. Where only a feed is damaged, first read
    the others; the cursor then has no stamp, so that the next look tries again.
    """
    with _source_errors():
        yield from _read(source, cursor, limits)


def _read(source: SourceRef, cursor: Cursor, limits: ReadLimits) -> Iterator[Chunk]:
    marks = _load_positions(cursor)
    number = cursor.offset
    how = _choose_open_mode(source.path)
    damage: dict[str, str] = {}
    with _open(source.path, how, limits) as db:
        feeds = _find_feeds(db, source.feeds)
        # Before any row is read: what changes from now on is told by the marks.
        marks |= _find_marks(db, feeds, marks, damage)
        for feed in feeds:
            for rows in _ask_all(db, feed, marks, limits, damage):
                if how != _SHARED_INDEX and not _is_closed(source.path):
                    raise SourceError("was opened by its agent while it was read")
                told = replace(cursor, anchor=msgspec.json.encode(marks), stamp=None)
                chunk = _make_chunk(source, told, number, rows, limits)
                number = chunk.cursor.offset
                yield chunk
    anchor = msgspec.json.encode(marks)
    stamp = None if damage else source.stamp
    # Also after damage: where the sound feeds begin must not be lost. An unchanged
    # cursor is not saved again at every look.
    if not damage or anchor != cursor.anchor:
        end = replace(cursor, offset=number, anchor=anchor, stamp=stamp)
        yield Chunk(entries=(), cursor=end)
    if damage:
        feeds_and_reasons = "; ".join(f"{name}: {why}" for name, why in damage.items())
        raise SourceError(f"in part cannot be read as SQLite: {feeds_and_reasons}")


@contextmanager
def _source_errors() -> Iterator[None]:
    """Turn every exception into a SourceError."""
    try:
        yield
    except SourceError:
        raise
    except Exception as error:
        raise SourceError(f"cannot be read as SQLite: {_describe(error)}") from error


@contextmanager
def _feed_damage(feed: Feed, damage: dict[str, str]) -> Iterator[None]:
    """Note in `damage` what is wrong with one feed, so that the others are read.

    An OperationalError (a busy or changed database) concerns all of them.
    """
    try:
        yield
    except (SourceError, sqlite3.OperationalError):
        raise
    except Exception as error:  # noqa: BLE001 - damage has no exception of its own
        damage[feed.name] = _describe(error)


def _describe(error: Exception) -> str:
    """Describe an error; name the type of those whose message alone says little.

    A message of SQLite that quotes damaged bytes arrives as UnicodeDecodeError.
    """
    if isinstance(error, sqlite3.Error):
        return str(error)
    return f"{type(error).__name__}: {error}"


@contextmanager
def _open(
    path: Path, open_mode: str, limits: ReadLimits
) -> Iterator[sqlite3.Connection]:
    uri = f"{path.absolute().as_uri()}?mode=ro&{open_mode}"
    with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as db:
        if open_mode == _OWN_INDEX:
            db.execute("PRAGMA locking_mode = EXCLUSIVE")
        db.execute(f"PRAGMA busy_timeout = {int(_BUSY_SECONDS * 1000)}")
        db.execute("PRAGMA trusted_schema = OFF")
        db.execute("PRAGMA cell_size_check = ON")
        db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_LENGTH_FACTOR * limits.line)
        # Text that is no UTF-8 is the decoder's concern.
        db.text_factory = bytes
        yield db


def _choose_open_mode(path: Path) -> str:
    """How to open it so that no file is made, changed or taken away beside it."""
    if not _is_closed(path):
        return _SHARED_INDEX
    return _OWN_INDEX if has_commit(path.with_name(path.name + WAL)) else _NO_LOG


def _is_closed(path: Path) -> bool:
    """No process has it open: it keeps a log of writes, and that or its index is gone.

    Then no lock is needed, and asking for one would make a file beside it.
    """
    with open_regular(path) as fd:
        has_log = read_at(fd, 2, _WRITE_VERSION) == b"\2\2"
    sides = (path.with_name(path.name + side) for side in (WAL, SHM))
    return has_log and not all(side.exists() for side in sides)


def _find_feeds(db: sqlite3.Connection, feeds: tuple[Feed, ...]) -> list[Feed]:
    query = "SELECT name FROM sqlite_schema WHERE type = 'table'"
    tables = {row[0].decode(errors="replace") for row in db.execute(query)}
    found = [feed for feed in feeds if tables.issuperset(feed.tables)]
    if not found:
        raise SourceError("has none of the tables that are read")
    return [
        f
        for f in found
        if f.unless_table not in tables or _is_empty(db, f.unless_table)
    ]


def _is_empty(db: sqlite3.Connection, table: str) -> bool:
    return db.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() is None


def _find_marks(
    db: sqlite3.Connection,
    feeds: list[Feed],
    known: dict[str, FeedPosition],
    damage: dict[str, str],
) -> dict[str, FeedPosition]:
    marks: dict[str, FeedPosition] = {}
    for feed in feeds:
        with _feed_damage(feed, damage):
            marks[feed.name] = _find_position(db, feed, known)
    return marks


def _find_position(
    db: sqlite3.Connection, feed: Feed, positions: dict[str, FeedPosition]
) -> FeedPosition:
    """Where to go on; a feed of changes begins with those after the first look."""
    mark = positions.get(feed.name)
    if mark is None:
        begins = db.execute(feed.start_sql).fetchone() if feed.start_sql else None
        return (
            FeedPosition()
            if positions or begins is None
            else _advance(FeedPosition(), begins)
        )
    if not feed.id_column:
        return mark
    query = f"SELECT {feed.id_column} FROM {feed.tables[0]} WHERE rowid = ?"
    for at, step in enumerate(mark.trail):
        found = db.execute(query, (step.row,)).fetchone()
        if found and _checksum(found[0]) == step.name_crc:
            return FeedPosition(mark.after, step.row, mark.trail[at:]) if at else mark
    return FeedPosition()


def _ask_all(
    db: sqlite3.Connection,
    feed: Feed,
    marks: dict[str, FeedPosition],
    limits: ReadLimits,
    damage: dict[str, str],
) -> Iterator[list[_FeedRow]]:
    """Yield a feed's rows in pieces, and move its mark, until no more or damage."""
    while feed.name not in damage:
        rows: list[_FeedRow] = []
        with _feed_damage(feed, damage):
            rows = _fetch_rows(db, feed, marks[feed.name], limits)
        if not rows:
            return
        if rows[-1].position == marks[feed.name]:
            # The same rows would come for ever.
            damage[feed.name] = "rows are out of order"
            return
        marks[feed.name] = rows[-1].position
        yield rows


def _fetch_rows(
    db: sqlite3.Connection, feed: Feed, position: FeedPosition, limits: ReadLimits
) -> list[_FeedRow]:
    """The next rows: not too many, and none without those that share its mark."""
    steps = iter(range(_MAX_PROGRESS_CALLS))
    db.set_progress_handler(lambda: next(steps, None) is None, _STEPS_PER_PROGRESS_CALL)
    rows: list[_FeedRow] = []
    size = 0
    last = (position.after, position.row)
    with closing(_until_damage(db, feed, position, rows)) as told:
        for row in told:
            place = (row[0] or 0, row[1] or 0)
            if place != last and (len(rows) >= _MAX_ROWS or size >= limits.chunk):
                break
            # In a damaged database a row may come too late: the mark only moves on.
            if place > (position.after, position.row):
                position = _advance(position, row)
            last = place
            data = row[3] if isinstance(row[3], bytes) else None
            size += len(data or b"")
            rows.append(_FeedRow(position, data))
    return rows


def _until_damage(
    db: sqlite3.Connection, feed: Feed, mark: FeedPosition, rows: list[_FeedRow]
) -> Generator[tuple[Any, ...], None, None]:
    """Yield the rows after the mark, up to those on a damaged page.

    Raise the error only if the caller kept none in `rows`: the next query starts behind
    those and meets the damage again.
    """
    values = {"after": mark.after, "row": mark.row}
    try:
        with closing(db.execute(feed.sql, values)) as found:
            yield from found
    except sqlite3.OperationalError:
        raise
    except (sqlite3.Error, UnicodeDecodeError):
        if rows:
            return
        # Python asks for one row more than it gives, and where that one is damaged
        # the sound one before it is lost.
        with closing(
            db.execute(f"SELECT * FROM ({feed.sql}) LIMIT 1", values)
        ) as found:
            yield from found


def _advance(position: FeedPosition, row: tuple[Any, ...]) -> FeedPosition:
    """The mark after this row, its trail kept short: each step twice as far back."""
    # A damaged row may have NULL for a number.
    after, number, name = row[0] or 0, row[1] or 0, row[2]
    if name is None:
        return FeedPosition(after, number)
    trail = [RowFingerprint(number, _checksum(name))]
    for step in position.trail:
        if number - step.row >= 2 * (number - trail[-1].row):
            trail.append(step)
    return FeedPosition(after, number, tuple(trail))


def _checksum(name: object) -> int:
    return zlib.crc32(name if isinstance(name, bytes) else str(name).encode())


def _make_chunk(
    source: SourceRef,
    cursor: Cursor,
    number: int,
    rows: list[_FeedRow],
    limits: ReadLimits,
) -> Chunk:
    entries: list[RawEntry] = []
    rejected: list[Rejection] = []
    told = [row.data for row in rows if row.data is not None]
    for at, data in enumerate(told, number):
        if len(data) <= limits.line:
            entries.append(RawEntry(source, at, data))
            continue
        reason = f"oversized: {len(data)} bytes, more than the {limits.line} parsed"
        digest = hashlib.sha256(data).digest()[:16]
        rejected.append(Rejection(at, len(data), reason, digest, b""))
    return Chunk(
        entries=tuple(entries),
        cursor=replace(cursor, offset=number + len(told)),
        rejected=tuple(rejected),
        bytes_read=sum(map(len, told)),
    )


def _load_positions(cursor: Cursor) -> dict[str, FeedPosition]:
    """Load the marks; none where they make no sense, so that all is read again."""
    if not cursor.anchor:
        return {}
    try:
        return msgspec.json.decode(cursor.anchor, type=dict[str, FeedPosition])
    except msgspec.DecodeError:
        return {}
