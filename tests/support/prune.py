"""Prune sessions of a home and check what remains."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path

from leslied.annotations import Annotations
from leslied.pipeline.maintenance.prune import Pruner, PruneReport, make_batches
from leslied.pipeline.maintenance.thread_files import ThreadFiles
from leslied.pipeline.stages.archive import Archiver
from leslied.queries.sessions import list_sessions
from leslied.sessions.retention import PruneCandidate
from leslied.store import Store, StoreReader
from tests.support.claude import ADAPTER, ClaudeHome
from tests.support.golden import make_environment

ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
"""First bytes of compressed data; in an archive file a header precedes them."""


def make_archiver(claude: ClaudeHome, store: Store) -> Archiver:
    """Return an archiver for the archive next to the home's store."""
    roots = tuple(ADAPTER.roots(make_environment(claude.home), []))
    return Archiver(
        store=store,
        archive_dir=claude.store_path.parent / "archive",
        roots={ADAPTER.name: roots},
        clock=claude.clock,
    )


def sync_and_archive(claude: ClaudeHome) -> None:
    """Ingest everything, mark all sessions stopped, archive their logs."""
    with Store(claude.store_path, claude.clock) as store:
        claude.sync(store)
        store.mark_all_stopped()
        make_archiver(claude, store).run()


def prune_sessions(
    claude: ClaudeHome, ids: Iterable[str], *, include_transcripts: bool = False
) -> PruneReport:
    """Prune the sessions with these ids."""
    session_ids = set(ids)
    with StoreReader(claude.store_path) as reader:
        sessions = [s for s in list_sessions(reader) if s.key.session_id in session_ids]
    with Store(claude.store_path, claude.clock) as store:
        thread_files = ThreadFiles(
            central=claude.store_path.parent / "central", clock=claude.clock
        )
        pruner = Pruner(
            store=store,
            archiver=make_archiver(claude, store),
            annotations=Annotations(claude.store_path.with_name("annotations.db")),
            thread_files=thread_files if include_transcripts else None,
        )
        for batch in make_batches(
            [PruneCandidate(session, ("old",), 1) for session in sessions]
        ):
            pruner.remove(batch)
        pruner.finish()
        return pruner.report


def list_session_ids(claude: ClaudeHome) -> set[str]:
    """Return the ids of all sessions in the store."""
    with StoreReader(claude.store_path) as reader:
        return {session.key.session_id for session in list_sessions(reader)}


def list_contents(claude: ClaudeHome) -> list[str]:
    """Return the contents of all records that have any, sorted."""
    with StoreReader(claude.store_path) as reader:
        records = [
            placed.record
            for session in reader.list_sessions()
            for placed in reader.list_records(session.key)
        ]
    return sorted(record.content for record in records if record.content)


def list_files_containing(folder: Path, text: str) -> list[str]:
    """Return the names of files that contain the text.

    In an archive file, the first frame is also searched decompressed.
    """
    import zstandard  # noqa: PLC0415

    names = []
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        data = path.read_bytes()
        if path.suffix == ".zst":
            start = data.find(ZSTD_MAGIC)
            decompressor = zstandard.ZstdDecompressor()
            data += decompressor.decompressobj().decompress(data[start:])
        if text.encode() in data:
            names.append(path.name)
    return names


def check_store(claude: ClaudeHome) -> None:
    """Check the store's integrity, and that no row refers to a deleted session."""
    db = sqlite3.connect(claude.store_path)
    assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    db.execute("INSERT INTO record_text (record_text) VALUES ('integrity-check')")
    tables = [name for (name,) in db.execute("SELECT name FROM sqlite_schema")]
    for table in tables:
        columns = {row[1] for row in db.execute(f"PRAGMA table_info({table})")}
        if "session" in columns:
            dangling_query = (
                f"SELECT * FROM {table} WHERE session NOT IN (SELECT id FROM session)"
            )
            assert db.execute(dangling_query).fetchall() == [], table
    unplaced_query = (
        "SELECT id FROM record WHERE entry NOT IN (SELECT entry FROM placement)"
    )
    assert db.execute(unplaced_query).fetchall() == []
    unshared_query = "SELECT usage FROM usage_share GROUP BY usage HAVING count(*) = 1"
    assert db.execute(unshared_query).fetchall() == []
    db.close()
