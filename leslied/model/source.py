"""Where entries come from, and how far they were read."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


WAITING = "waiting: "
"""Begins the reason why a source is held back, as opposed to why it is unreadable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """All that an agent's adapter may know of the machine."""

    home: Path
    environ: Mapping[str, str]
    platform: str


class Shape(StrEnum):
    """How an agent changes a source."""

    APPEND_LOG = "append-log"
    """Lines are added at the end; what stands there stays."""
    DOCUMENT = "document"
    """The whole file is written anew; it is one entry."""
    COMPRESSED_LOG = "packed-log"
    """An append log that was put away, compressed with zstd."""
    SQLITE = "rows"
    """The agent's own SQLite database; each row is an entry."""
    JSON_TREE = "tree"
    """A session's file, with folders of small files below it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """Rows of an agent's database, in an order in which new ones come last.

    `sql` names `:after` and `:row`, the mark of the last row that was read, and gives
    four columns: the mark's two numbers, the row's name or NULL, and the entry as JSON
    text or NULL, which only moves the mark. Rows of one mark are read together.
    """

    name: str
    tables: tuple[str, ...]
    """The feed is there when all of these tables are; the first one holds its rows."""
    sql: str
    id_column: str = ""
    """The column of the first table that tells its rows apart for ever: where the mark
    is a row number, so that a number that was given again is noticed."""
    start_sql: str = ""
    """For a feed of changes: the query for the first three columns of the newest row,
    behind which it begins when nothing was ever read of the database."""
    unless_table: str = ""
    """A table that makes this feed needless once it has a row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """Which files below a root are sources; `*` and `**` as in a shell."""

    glob: str
    shape: Shape = Shape.APPEND_LOG
    feeds: tuple[Feed, ...] = ()
    """What to read of a database."""
    child_folders: tuple[str, ...] = ()
    """Of a tree: the folder of what was said and the folder of its pieces, as named
    from the source's folder; `{}` is the name of the file above, without its ending."""
    side_file: str = ""
    """A small file, named from the source's folder, that the first entries need: its
    text is in the state as `beside` when a source is read from its beginning."""


class WatchDepth(StrEnum):
    """How much of a root file events are asked for."""

    DEEP = "deep"
    FLAT = "flat"
    """Only files in the folder itself are sources, and only they are watched."""
    NONE = "none"
    """Too many folders, or too quiet: the scan is enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """A folder an agent writes in."""

    path: Path
    patterns: tuple[Pattern, ...]
    watch: WatchDepth = WatchDepth.DEEP


class FileStamp(NamedTuple):
    """What `stat` says of a file: equal stamps mean nothing was written between."""

    dev: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRef:
    """One file an agent writes; the cursor's key is agent and path."""

    agent: str
    path: Path
    root: Path
    shape: Shape
    stamp: FileStamp
    feeds: tuple[Feed, ...] = ()
    child_folders: tuple[str, ...] = ()
    side_file: str = ""

    @property
    def parts(self) -> tuple[str, ...]:
        """The path below the root, in parts."""
        return self.path.relative_to(self.root).parts


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """How far a source was read, and what the bytes before that point were.

    `crc` covers every byte before `offset`, `anchor` is a hash of the last few hundred:
    the anchor is checked on every look, the whole only when something is odd. Neither
    holds any of the bytes.
    """

    generation: int = 1
    offset: int = 0
    crc: int = 0
    anchor: bytes = b""
    scanned: int = 0
    """Bytes after `offset` known to hold no line end: a half-written line."""
    finished: int = -1
    """Size of the file when its unfinished last line was taken as final."""
    stamp: FileStamp | None = None
    state: str = ""
    """The adapter's own notes, as JSON."""


class RawEntry(Struct, frozen=True):
    """One raw item; its position travels with its bytes."""

    source: SourceRef
    offset: int
    data: bytes
    is_complete: bool = True
    """False for a last line that never got its line end."""
    is_fragment: bool = False
    """Cut out of a damaged line: taken only if it looks like an entry of its own."""

    @property
    def length(self) -> int:
        """Bytes it takes in the source."""
        return len(self.data)


class Rejection(Struct, frozen=True):
    """Bytes that could not become records, and why."""

    offset: int
    length: int
    reason: str
    digest: bytes
    head: bytes


class Noise(Struct, frozen=True):
    """An entry recognised as not worth a record: kind and position are kept."""

    offset: int
    length: int
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Entries of one source and the cursor after them: read together, kept together."""

    entries: tuple[RawEntry, ...]
    cursor: Cursor
    rejected: tuple[Rejection, ...] = ()
    bytes_read: int = 0
