"""Describe where entries come from, and how far a source has been read."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


WAITING = "waiting: "
"""Prefix of the reason why a source is waiting, as opposed to unreadable."""
EXCLUDED = "excluded"
"""Kind of noise for an entry of an excluded project."""


class SourceProblem(NamedTuple):
    """Why a source was not read."""

    path: str
    reason: str

    @property
    def is_waiting(self) -> bool:
        """True if the source is held back; nothing is wrong with it."""
        return self.reason.startswith(WAITING)


class Environment(Struct, frozen=True, kw_only=True):
    """Facts about the machine that an adapter may use."""

    home: Path
    environ: Mapping[str, str]
    platform: str
    imports: Path | None = None
    """The folder of imported files, with a folder for each agent."""


class Shape(StrEnum):
    """How an agent changes a source."""

    APPEND_LOG = "append-log"
    """Lines are appended; existing lines never change."""
    DOCUMENT = "document"
    """The whole file is rewritten; it is one entry."""
    COMPRESSED_LOG = "packed-log"
    """An archived append log, compressed with zstd."""
    SQLITE = "rows"
    """The agent's own SQLite database; each row that a feed returns is an entry."""
    JSON_TREE = "tree"
    """A session's file, with directories of small files below it."""
    EVENT_TREE = "event-tree"
    """A session's state, with directories of events and subagents next to it."""
    CHECKPOINT_STORE = "checkpoint-store"
    """A journal, parts of which the agent replaces with checkpoints."""


class Feed(Struct, frozen=True, kw_only=True):
    """A query for rows of an agent's database, in an order that puts new rows last.

    A mark of two numbers says how far the feed was read. `sql` uses the last mark as
    `:after` and `:row`, and returns four columns: both numbers of the row's mark, the
    row's id or NULL, and the entry as JSON text. A row without an entry (NULL) only
    advances the mark. Rows with the same mark are read together.
    """

    name: str
    tables: tuple[str, ...]
    """The feed requires all of these tables; the first one contains its rows."""
    sql: str
    id_column: str = ""
    """A column of the first table that identifies its rows permanently. Set if the mark
    is a rowid, to detect that SQLite reused a rowid.
    """
    start_sql: str = ""
    """For a feed that skips older rows: the query for the first three columns of the
    newest row. On the first read of a database, the feed starts after that row.
    """
    unless_table: str = ""
    """A table that makes this feed unnecessary once the table has a row."""


class Pattern(Struct, frozen=True, kw_only=True):
    """Which files below a root are sources; `*` and `**` match as in a shell."""

    glob: str
    shape: Shape = Shape.APPEND_LOG
    feeds: tuple[Feed, ...] = ()
    """The queries to run on a database."""
    child_folders: tuple[str, ...] = ()
    """For a tree: the directories of messages and of their parts, relative to the
    source's directory; `{}` is the stem of the file one level above. For an event tree:
    the directories of events and of subagents.
    """
    members: str = ""
    """A glob of the other files that make up the source, relative to its directory;
    a change of one of them is a change of the source.
    """
    side_file: str = ""
    """A file whose beginning the decoder needs for the first entries; its path is
    relative to the source's directory. `{}` is the source's name up to the first dot.
    In `*/NAME/{folder}/`, `*` is any directory, and `{folder}` the name of the source's
    directory. When a source is read from its beginning, the decoder's state has the
    beginning of the side file as `beside`. If `#TEXT` follows the file's name,
    `beside` is instead the part of the side file that begins with this text.
    """


class WatchDepth(StrEnum):
    """Which part of a root is watched for file events."""

    DEEP = "deep"
    FLAT = "flat"
    """Watch only the directory itself, because no sources are below it."""
    NONE = "none"
    """Watch nothing: there are too many directories or too few changes."""


class Root(Struct, frozen=True, kw_only=True):
    """A directory that an agent writes to."""

    path: Path
    patterns: tuple[Pattern, ...]
    watch: WatchDepth = WatchDepth.DEEP
    is_learned: bool = False
    """Whether a hook event named it; it is neither a default nor configured."""
    is_project: bool = False
    """Whether it is a project of the user, in which only the sources are the agent's.
    """


class FileStamp(NamedTuple):
    """Result of `stat`; if two are equal, the file was not written in between."""

    dev: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int


class SourceRef(Struct, frozen=True, kw_only=True):
    """One source; agent and path identify it."""

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
        """The parts of the path relative to the root."""
        return _split_path(self.path, self.root)


@lru_cache(maxsize=16)
def _split_path(path: Path, root: Path) -> tuple[str, ...]:
    # Adapters call this for every entry, and pathlib takes longer than most decoding.
    return path.relative_to(root).parts


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """How far a source was read, and a fingerprint of the bytes before that point.

    `crc` covers all bytes before `offset`; `anchor` is a hash of the last few hundred.
    Every read checks the anchor; `crc` is checked only if the file looks modified.
    Neither contains any of the bytes.
    """

    generation: int = 1
    offset: int = 0
    crc: int = 0
    anchor: bytes = b""
    scanned: int = 0
    """Number of bytes after `offset` that are known to contain no line end."""
    finished_size: int = -1
    """Size of the file when its incomplete last line was accepted as final, or -1."""
    stamp: FileStamp | None = None
    state: str = ""
    """The adapter's decode state, as JSON."""


class RawEntry(Struct, frozen=True):
    """One raw item of a source, with its position."""

    source: SourceRef
    offset: int
    data: bytes
    is_complete: bool = True
    """False for a last line without a line end."""
    is_fragment: bool = False
    """True for an object in a damaged line; decoded only if it is a complete entry."""

    @property
    def length(self) -> int:
        """Size of the entry in bytes."""
        return len(self.data)


class Rejection(Struct, frozen=True, array_like=True):
    """Bytes that could not be decoded, and why.

    In a source with many such entries, one rejection stands for several of them: its
    bytes are those from the first to the last entry.
    """

    offset: int
    length: int
    reason: str
    digest: bytes
    """Hash of the bytes; may be empty."""
    head: bytes
    """The first of the bytes; may be empty."""
    times: int = 1
    """Number of rejected entries."""


class Noise(Struct, frozen=True, array_like=True):
    """Kind and position of an entry that is recognized but not worth a record."""

    offset: int
    length: int
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Entries of one source and the cursor after them; they are stored together."""

    entries: tuple[RawEntry, ...]
    cursor: Cursor
    rejected: tuple[Rejection, ...] = ()
    bytes_read: int = 0
