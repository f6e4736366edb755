"""Read an agent's SQLite database without disturbing the agent.

Each query returns only a few rows, so that the agent never has to wait for us when it
checkpoints its WAL.
"""

from __future__ import annotations

import hashlib
import sqlite3
import zlib
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from leslied.errors import SourceError, describe_cause
from leslied.model.source import Chunk, Cursor, RawEntry, Rejection
from leslied.tail.files import open_regular, read_at
from leslied.tail.sqlite_connection import (
    CHANGED_BY_AGENT,
    SHM,
    allow_tables,
    choose_open_mode,
    open_read_only,
    read_state,
)
from leslied.tail.wal import WAL

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from pathlib import Path

    from leslied.model.source import Feed, FileStamp, SourceRef
    from leslied.tail.limits import ReadLimits

_INDEX_HEADER_BYTES = 48
_MAX_ROWS = 200
_STEPS_PER_PROGRESS_CALL = 100_000
_MAX_PROGRESS_CALLS = 2_000
"""Progress calls after which a query is aborted, some seconds after its start: only
a damaged database takes that long."""


class RowFingerprint(NamedTuple):
    """A row that was read: its rowid, and a checksum of its id."""

    row: int
    id_crc: int


class FeedPosition(msgspec.Struct, frozen=True, array_like=True):
    """How far a feed was read. Saved as JSON in the cursor's anchor."""

    after: int = 0
    """First column of the last row, by which a feed may be ordered; 0 if unused."""
    row: int = 0
    """Rowid of the last row."""
    trail: tuple[RowFingerprint, ...] = ()
    """Rows that were read: the last one, then others at growing distances before it.

    SQLite reuses the rowids of deleted rows, and VACUUM may change all of them. So
    reading continues after the first of these that still has its id.
    """


class _FeedRow(NamedTuple):
    """A row of a feed; `position` is the position after it."""

    position: FeedPosition
    data: bytes | None
    """The entry; None if the row only advances the position."""


def stamp_database(path: Path, stamp: FileStamp) -> FileStamp:
    """Return the stamp of a database and its WAL, which changes first.

    A WAL is overwritten from its start, so its size may stay the same, and file times
    have a resolution of some milliseconds. So if there is a shared-memory file, a
    checksum of its header, which counts commits, replaces the ctime.
    """
    try:
        status = path.with_name(path.name + WAL).stat()
    except OSError:
        return stamp
    try:
        with open_regular(path.with_name(path.name + SHM)) as fd:
            ctime_ns = zlib.crc32(read_at(fd, _INDEX_HEADER_BYTES, 0))
    except SourceError:
        ctime_ns = stamp.ctime_ns
    return stamp._replace(
        size=stamp.size + status.st_size,
        mtime_ns=max(stamp.mtime_ns, status.st_mtime_ns),
        ctime_ns=ctime_ns,
    )


def read(source: SourceRef, cursor: Cursor, limits: ReadLimits) -> Iterator[Chunk]:
    """Yield the rows after the positions in the cursor, feed by feed.

    Raise SourceError for any error. If only some feeds are damaged, read the others
    first; the cursor then has no stamp, so that the next scan tries again.
    """
    with _raising_source_errors():
        yield from _read(source, cursor, limits)


def _read(source: SourceRef, cursor: Cursor, limits: ReadLimits) -> Iterator[Chunk]:
    positions = _load_positions(cursor)
    next_offset = cursor.offset
    state = read_state(source.path, source.root)
    open_mode = choose_open_mode(source.path, state)
    damage: dict[str, str] = {}
    with open_read_only(source.path, open_mode, limits) as db:
        feeds = _find_feeds(db, source.feeds)
        # Find all positions before reading any row, so that changes made meanwhile
        # are read next time.
        positions |= _find_positions(db, feeds, positions, damage)
        for feed in feeds:
            for rows in _read_feed(db, feed, positions, limits, damage):
                # With a state, the database is read without locks, and may change.
                if state is not None and read_state(source.path, source.root) != state:
                    raise SourceError(CHANGED_BY_AGENT)
                anchor = msgspec.json.encode(positions)
                new_cursor = replace(cursor, anchor=anchor, stamp=None)
                chunk = _make_chunk(source, new_cursor, next_offset, rows, limits)
                next_offset = chunk.cursor.offset
                yield chunk
    anchor = msgspec.json.encode(positions)
    stamp = None if damage else source.stamp
    # Save the positions of undamaged feeds, but not an unchanged cursor at every scan.
    if not damage or anchor != cursor.anchor:
        end_cursor = replace(cursor, offset=next_offset, anchor=anchor, stamp=stamp)
        yield Chunk(entries=(), cursor=end_cursor)
    if damage:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in damage.items())
        raise SourceError(f"has parts that cannot be read as SQLite: {reasons}")


@contextmanager
def _raising_source_errors() -> Iterator[None]:
    """Turn every exception into a SourceError."""
    try:
        yield
    except SourceError:
        raise
    except Exception as error:
        # The write-ahead log must be recovered first, which a reader cannot do.
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_READONLY:
            raise SourceError(CHANGED_BY_AGENT) from error
        raise SourceError(f"cannot be read as SQLite: {_describe(error)}") from error


@contextmanager
def _recording_damage(feed: Feed, damage: dict[str, str]) -> Iterator[None]:
    """Record an error of one feed in `damage`, so that the others are read.

    An OperationalError (a busy or changed database) affects all feeds and is raised.
    """
    try:
        yield
    except (SourceError, sqlite3.OperationalError):
        raise
    except Exception as error:  # noqa: BLE001 - damage has no exception of its own
        damage[feed.name] = _describe(error)


def _describe(error: Exception) -> str:
    """Return what an error means, without the bytes that Python's messages quote."""
    if isinstance(error, UnicodeDecodeError):
        return "a text is not UTF-8"
    return describe_cause(error)


def _find_feeds(db: sqlite3.Connection, feeds: tuple[Feed, ...]) -> list[Feed]:
    """Return the feeds whose tables exist and that `unless_table` does not disable."""
    tables = allow_tables(db)
    readable_feeds = [feed for feed in feeds if tables.issuperset(feed.tables)]
    if not readable_feeds:
        raise SourceError("has none of the tables that are read")
    return [
        feed
        for feed in readable_feeds
        if feed.unless_table not in tables or _is_empty(db, feed.unless_table)
    ]


def _is_empty(db: sqlite3.Connection, table: str) -> bool:
    return db.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() is None


def _find_positions(
    db: sqlite3.Connection,
    feeds: list[Feed],
    saved_positions: dict[str, FeedPosition],
    damage: dict[str, str],
) -> dict[str, FeedPosition]:
    """Return where to continue each feed, by name; record damaged feeds in `damage`."""
    positions: dict[str, FeedPosition] = {}
    for feed in feeds:
        with _recording_damage(feed, damage):
            positions[feed.name] = _find_position(db, feed, saved_positions)
    return positions


def _find_position(
    db: sqlite3.Connection, feed: Feed, saved_positions: dict[str, FeedPosition]
) -> FeedPosition:
    """Return where to continue to read a feed.

    When a database is read for the first time, a feed with `start_sql` starts after its
    newest row, because other feeds read the older rows.
    """
    position = saved_positions.get(feed.name)
    if position is None:
        start = db.execute(feed.start_sql).fetchone() if feed.start_sql else None
        if saved_positions or start is None:
            return FeedPosition()
        return _advance(FeedPosition(), start)
    if not feed.id_column:
        return position
    # Row ids can be reused: continue after the newest row of the trail whose row id
    # still belongs to the row that was read.
    query = f"SELECT {feed.id_column} FROM {feed.tables[0]} WHERE rowid = ?"
    for index, fingerprint in enumerate(position.trail):
        row = db.execute(query, (fingerprint.row,)).fetchone()
        if row and _checksum(row[0]) == fingerprint.id_crc:
            if not index:
                return position
            return FeedPosition(position.after, fingerprint.row, position.trail[index:])
    return FeedPosition()


def _read_feed(
    db: sqlite3.Connection,
    feed: Feed,
    positions: dict[str, FeedPosition],
    limits: ReadLimits,
    damage: dict[str, str],
) -> Iterator[list[_FeedRow]]:
    """Yield a feed's rows in groups, and update its position in `positions`.

    End if the feed is damaged, and record that in `damage`, by the feed's name.
    """
    while feed.name not in damage:
        rows: list[_FeedRow] = []
        with _recording_damage(feed, damage):
            rows = _fetch_rows(db, feed, positions[feed.name], limits)
        if not rows:
            return
        if rows[-1].position == positions[feed.name]:
            # Without progress, the same rows would be read forever.
            damage[feed.name] = "rows are out of order"
            return
        positions[feed.name] = rows[-1].position
        yield rows


def _fetch_rows(
    db: sqlite3.Connection, feed: Feed, position: FeedPosition, limits: ReadLimits
) -> list[_FeedRow]:
    """Return the next rows, up to the limits.

    Rows with the same position are never split, because a cursor cannot point between
    them.
    """
    # A true result of the handler aborts the query.
    calls = iter(range(_MAX_PROGRESS_CALLS))
    db.set_progress_handler(lambda: next(calls, None) is None, _STEPS_PER_PROGRESS_CALL)
    rows: list[_FeedRow] = []
    size = 0
    last_key = (position.after, position.row)
    results = _iter_until_damage(db, feed, position, has_rows=lambda: bool(rows))
    with closing(results):
        for row in results:
            # The columns are those of `Feed.sql`: position (two numbers), id, entry.
            key = (row[0] or 0, row[1] or 0)
            if key != last_key and (len(rows) >= _MAX_ROWS or size >= limits.chunk):
                break
            # A damaged database may return rows out of order: never move backwards.
            if key > (position.after, position.row):
                position = _advance(position, row)
            last_key = key
            data = row[3] if isinstance(row[3], bytes) else None
            size += len(data or b"")
            rows.append(_FeedRow(position, data))
    return rows


def _iter_until_damage(
    db: sqlite3.Connection,
    feed: Feed,
    position: FeedPosition,
    has_rows: Callable[[], bool],
) -> Generator[tuple[Any, ...], None, None]:
    """Yield the rows after the position, up to those on a damaged page.

    Raise the error only if the caller has no rows yet. If it has some, its next query
    starts after them and meets the damage again.
    """
    values = {"after": position.after, "row": position.row}
    try:
        with closing(db.execute(feed.sql, values)) as results:
            yield from results
    except sqlite3.OperationalError:
        raise
    except (sqlite3.Error, UnicodeDecodeError):
        if has_rows():
            return
        # Python's cursor fetches one row ahead, so that the intact row before a damaged
        # one is lost.
        first_row = f"SELECT * FROM ({feed.sql}) LIMIT 1"
        with closing(db.execute(first_row, values)) as results:
            yield from results


def _advance(position: FeedPosition, row: tuple[Any, ...]) -> FeedPosition:
    """Return the position after this row.

    In its trail, the distance from this row at least doubles from one row to the next.
    """
    # A damaged row may have NULL instead of a number.
    after, rowid, row_id = row[0] or 0, row[1] or 0, row[2]
    if row_id is None:
        return FeedPosition(after, rowid)
    trail = [RowFingerprint(rowid, _checksum(row_id))]
    for fingerprint in position.trail:
        if rowid - fingerprint.row >= 2 * (rowid - trail[-1].row):
            trail.append(fingerprint)
    return FeedPosition(after, rowid, tuple(trail))


def _checksum(row_id: object) -> int:
    return zlib.crc32(row_id if isinstance(row_id, bytes) else str(row_id).encode())


def _make_chunk(
    source: SourceRef,
    cursor: Cursor,
    first_offset: int,
    rows: list[_FeedRow],
    limits: ReadLimits,
) -> Chunk:
    """Return the entries of the rows as a chunk; reject entries that are too long."""
    entries: list[RawEntry] = []
    rejected: list[Rejection] = []
    contents = [row.data for row in rows if row.data is not None]
    for offset, data in enumerate(contents, first_offset):
        if len(data) <= limits.line:
            entries.append(RawEntry(source, offset, data))
            continue
        reason = f"oversized: {len(data)} bytes, limit {limits.line}"
        digest = hashlib.sha256(data).digest()[:16]
        rejected.append(Rejection(offset, len(data), reason, digest, b""))
    return Chunk(
        entries=tuple(entries),
        cursor=replace(cursor, offset=first_offset + len(contents)),
        rejected=tuple(rejected),
        bytes_read=sum(map(len, contents)),
    )


def _load_positions(cursor: Cursor) -> dict[str, FeedPosition]:
    """Return the saved positions; {} if they are invalid, to read all rows again."""
    if not cursor.anchor:
        return {}
    try:
        return msgspec.json.decode(cursor.anchor, type=dict[str, FeedPosition])
    except msgspec.DecodeError:
        return {}
