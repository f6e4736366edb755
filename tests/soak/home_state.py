"""Read what leslied has made of a home, to compare two runs."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from leslied.archive import ArchiveReader, list_files
from leslied.store import StoreReader
from tests.support.daemon import get_store_path

State = dict[str, Any]


def read_state(home: Path) -> State:
    """Return records, cursors, archived bytes and written files, without times."""
    store = get_store_path(home)
    return {
        "integrity": _read_rows(store, "PRAGMA integrity_check"),
        "sessions": _list_sessions(store),
        "cursors": _read_rows(
            store,
            "SELECT agent, path, generation, offset, crc, finished, state, trouble "
            "FROM source ORDER BY 1, 2",
        ),
        "transcript rows": _read_rows(
            store, "SELECT chat_id, folder, file, digest FROM transcript ORDER BY 1"
        ),
        "archive": _read_archive(store.parent / "archive"),
        **_read_files(home / "app" / ".leslie"),
    }


def list_differences(expected: State, actual: State) -> list[str]:
    """Return the names of the parts that differ."""
    names = expected.keys() | actual.keys()
    return sorted(n for n in names if expected.get(n) != actual.get(n))


def _read_rows(store: Path, query: str) -> list[Any]:
    with closing(sqlite3.connect(store)) as db:
        return db.execute(query).fetchall()


def _list_sessions(store: Path) -> list[Any]:
    with StoreReader(store) as reader:
        return [
            (
                *(session.key, session.thread_id, session.title, session.units),
                *(session.is_stopped, session.usage),
                [
                    (
                        *(p.entry_id, p.sequence, p.unit, p.record),
                        *(p.path, p.generation, p.offset, p.length),
                    )
                    for p in reader.list_records(session.key)
                ],
            )
            for session in sorted(reader.list_sessions(), key=lambda s: s.key)
        ]


def _read_archive(folder: Path) -> dict[str, Any]:
    """Return the archived bytes of each source by generation."""
    archive = {}
    for path in list_files(folder):
        with ArchiveReader(path) as reader:
            archive[path.name] = {
                generation: b"".join(
                    chunk for frame in frames for chunk in reader.read_frame(frame)
                )
                for generation, frames in reader.list_frames_by_generation().items()
            }
    return archive


def _read_files(folder: Path) -> State:
    """Return the bytes of transcripts and the names of all other files."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    # A kill may leave a temporary file, which a later write replaces.
    kept = [path for path in paths if not path.name.startswith(".leslied-new")]
    names = [str(path.relative_to(folder)) for path in kept]
    transcripts = {p.name: p.read_bytes() for p in kept if p.suffix == ".txt"}
    return {"file names": names, "transcripts": transcripts}
