"""The user's own marks on sessions: stars, tags, notes, and when each was last opened.

They are in a SQLite file of their own, because they must survive a rebuild of the
store, and because the daemon is the store's only writer. Several processes may write
here: transactions are short, and each waits for the others.
"""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from leslied.errors import AnnotationsUnusable, LesliedError, describe_cause
from leslied.fs import make_private_dir

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from leslied.literal_text import LiteralText

_BUSY_TIMEOUT_MS = 5000
_SCHEMA_VERSION = 1
_SCHEMA = (
    """
    CREATE TABLE annotation (
      agent TEXT NOT NULL,
      session_id TEXT NOT NULL,
      is_starred INTEGER NOT NULL,
      note TEXT NOT NULL,
      visited_us INTEGER,
      PRIMARY KEY (agent, session_id)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE tag (
      agent TEXT NOT NULL,
      session_id TEXT NOT NULL,
      name TEXT NOT NULL,
      PRIMARY KEY (agent, session_id, name)
    ) WITHOUT ROWID
    """,
    "CREATE TABLE first_use (at_us INTEGER NOT NULL)",
)


class SessionName(NamedTuple):
    """The agent and the id of a session, by which its annotation is found."""

    agent: str
    session_id: str


class Annotation(Struct, frozen=True, kw_only=True):
    """The user's marks on one session."""

    is_starred: bool = False
    tags: tuple[str, ...] = ()
    note: str = ""
    visited_us: int | None = None
    """When the user last opened the session, in microseconds since 1970."""


class Snapshot(Struct, frozen=True):
    """All annotations at one time."""

    by_session: Mapping[SessionName, Annotation]
    first_use_us: int | None = None
    """When the first annotation was made; None before that."""

    def get(self, name: SessionName) -> Annotation:
        """Return the annotation of a session, an empty one if it has none."""
        return self.by_session.get(name) or Annotation()

    def is_unread(self, name: SessionName, last_entry_us: int | None) -> bool:
        """Return whether a session has entries that are newer than the last visit.

        For a session that was never visited, the time of the first annotation counts.
        Otherwise, every old session would be unread at first.
        """
        visited_us = self.get(name).visited_us
        seen_us = self.first_use_us if visited_us is None else visited_us
        if seen_us is None or last_entry_us is None:
            return False
        return last_entry_us > seen_us


NO_ANNOTATIONS = Snapshot({})


class Annotations:
    """The file of annotations, which is created by the first change.

    Its methods raise AnnotationsUnusable if the file is damaged, cannot be opened, or
    was written by a newer leslied.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._db: sqlite3.Connection | None = None
        self._file_identity = (0, 0)
        """Device and inode of the file that is open."""
        self._data_version: int | None = None
        """SQLite's change counter when the snapshot was read; None before that, or to
        make `load` read it again."""
        self._snapshot = NO_ANNOTATIONS

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        if self._db:
            self._db.close()
        self._db = self._data_version = None

    def load(self) -> Snapshot:
        """Return all annotations; they are read again only after a change."""
        with self._translate_errors():
            if not self._has_file():
                return NO_ANNOTATIONS
            db = self._connect()
            (data_version,) = db.execute("PRAGMA data_version").fetchone()
            if data_version != self._data_version:
                self._snapshot = _load_snapshot(db)
                self._data_version = data_version
            return self._snapshot

    def update(
        self, name: SessionName, change: Callable[[Annotation], Annotation], now_us: int
    ) -> Annotation:
        """Apply a change to the annotation of a session; return the new one."""
        with self._write() as db:
            # The time of the first annotation, see `Snapshot.is_unread`.
            db.execute(
                "INSERT INTO first_use "
                "SELECT ? WHERE NOT EXISTS (SELECT 1 FROM first_use)",
                (now_us,),
            )
            annotation = change(_load_snapshot(db, name).get(name))
            _delete(db, [name])
            if annotation != Annotation():
                _insert(db, name, annotation)
        # `data_version` does not count the changes of this connection, so the snapshot
        # must be updated here.
        by_session = {**self._snapshot.by_session, name: annotation}
        if annotation == Annotation():
            del by_session[name]
        first_use_us = self._snapshot.first_use_us
        self._snapshot = Snapshot(
            by_session, now_us if first_use_us is None else first_use_us
        )
        return annotation

    def delete(self, names: Iterable[SessionName]) -> None:
        """Delete the annotations of these sessions, also from the file's free space."""
        if self._has_file():
            with self._write() as db:
                _delete(db, names)
            self._data_version = None

    def forget_text(self, text: LiteralText) -> None:
        """Delete annotations with the text in their note, tags or session id.

        Their bytes are deleted from the file's free space, too.
        """
        if not self._has_file():
            return
        with self._write() as db:
            for name, annotation in _load_snapshot(db).by_session.items():
                values = (annotation.note, *annotation.tags, *name)
                if text.is_in_values(*values):
                    _delete(db, [name])
        self._data_version = None

    def check(self) -> None:
        """Read the whole file; raise AnnotationsUnusable if it is damaged."""
        with self._translate_errors():
            if self._has_file():
                (result,) = self._connect().execute("PRAGMA quick_check(1)").fetchone()
                if result != "ok":
                    raise self._make_error("it is damaged")

    def _has_file(self) -> bool:
        """Return whether the file exists; close it if it is gone or was replaced."""
        try:
            status = self.path.stat()
        except FileNotFoundError:
            self.close()
            return False
        except OSError as error:
            raise self._make_error(describe_cause(error)) from error
        if self._file_identity != (status.st_dev, status.st_ino):
            self.close()
            self._file_identity = status.st_dev, status.st_ino
        return True

    def _connect(self) -> sqlite3.Connection:
        """Return the open database; raise sqlite3.Error if it cannot be opened."""
        if self._db is None:
            # The web server has several threads, but each has its own Annotations.
            db = sqlite3.connect(self.path, isolation_level=None)
            self._db = db
            db.execute(f"PRAGMA busy_timeout = {_BUSY_TIMEOUT_MS}")
            db.execute("PRAGMA trusted_schema = OFF")
            db.execute("PRAGMA secure_delete = ON")
            # Not WAL: before SQLite 3.51.3, two programs that write to a database in
            # this mode can damage it. Changes are rare and small.
            db.execute("PRAGMA journal_mode = DELETE")
        return self._db

    def _create(self) -> None:
        """Create an empty file that only its owner can access."""
        make_private_dir(self.path.parent)
        # SQLite must create it: closing a descriptor of our own would release the
        # locks that another thread of this process has on the file.
        self._connect().execute("PRAGMA user_version")
        self.path.chmod(0o600)
        # Remember the identity of the new file. This also closes it; the next use opens
        # it again.
        self._has_file()

    @contextmanager
    def _write(self) -> Iterator[sqlite3.Connection]:
        """Yield the database in a transaction; create the file if it is missing."""
        with self._translate_errors():
            if not self._has_file():
                self._create()
            db = self._connect()
            db.execute("BEGIN IMMEDIATE")
            with db:
                _create_tables(db)
                yield db

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Raise AnnotationsUnusable instead of the errors of SQLite and the disk."""
        try:
            yield
        except (OSError, sqlite3.Error, _NewerFileError) as error:
            self.close()
            raise self._make_error(describe_cause(error)) from error

    def _make_error(self, cause: str) -> AnnotationsUnusable:
        return AnnotationsUnusable(
            f"The stars, tags and notes in {self.path} cannot be used: {cause}.",
            "Check the file and the space on the disk. To start without them, move "
            "the file away.",
        )


class _NewerFileError(LesliedError):
    """A newer leslied wrote the file."""


def _create_tables(db: sqlite3.Connection) -> None:
    """Create the tables in a new file."""
    if _get_schema_version(db) == 0:
        for statement in _SCHEMA:
            db.execute(statement)
        db.execute(f"PRAGMA user_version = {_SCHEMA_VERSION}")


def _get_schema_version(db: sqlite3.Connection) -> int:
    """Return the version, 0 for an empty file; raise an error for a newer one."""
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version > _SCHEMA_VERSION:
        raise _NewerFileError("a newer leslied wrote it")
    return int(version)


def _load_snapshot(db: sqlite3.Connection, only: SessionName | None = None) -> Snapshot:
    """Return all annotations, or only that of the session `only`."""
    if _get_schema_version(db) == 0:
        return NO_ANNOTATIONS
    where, values = ("WHERE (agent, session_id) = (?, ?)", only) if only else ("", ())
    tags: dict[SessionName, list[str]] = {}
    for agent, session_id, tag in db.execute(
        f"SELECT agent, session_id, name FROM tag {where} ORDER BY name", values
    ):
        tags.setdefault(SessionName(agent, session_id), []).append(tag)
    rows = db.execute(
        "SELECT agent, session_id, is_starred, note, visited_us "
        f"FROM annotation {where}",
        values,
    )
    annotations = {
        (name := SessionName(agent, session_id)): Annotation(
            is_starred=bool(is_starred),
            tags=tuple(tags.get(name, ())),
            note=note,
            visited_us=visited_us,
        )
        for agent, session_id, is_starred, note, visited_us in rows
    }
    first_use = db.execute("SELECT min(at_us) FROM first_use").fetchone()[0]
    return Snapshot(annotations, first_use)


def _insert(db: sqlite3.Connection, name: SessionName, annotation: Annotation) -> None:
    db.execute(
        "INSERT INTO annotation VALUES (?, ?, ?, ?, ?)",
        (*name, annotation.is_starred, annotation.note, annotation.visited_us),
    )
    db.executemany(
        "INSERT INTO tag VALUES (?, ?, ?)", [(*name, tag) for tag in annotation.tags]
    )


def _delete(db: sqlite3.Connection, names: Iterable[SessionName]) -> None:
    names = list(names)
    for table in ("annotation", "tag"):
        db.executemany(f"DELETE FROM {table} WHERE (agent, session_id) = (?, ?)", names)
