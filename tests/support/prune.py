"""Pruning a home's sessions, and asking what is left of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path

from leslied.lookup import list_sessions
from leslied.pipeline.archiver import Archiver
from leslied.pipeline.prune import Pruner, PruneReport, make_batches
from leslied.sessions.retention import PruneCandidate
from leslied.store import Store, StoreReader
from tests.support.claude import ADAPTER, ClaudeHome
from tests.support.golden import make_environment


def make_archiver(claude: ClaudeHome, store: Store) -> Archiver:
    """The way to the archive beside the home's store."""
    roots = tuple(ADAPTER.roots(make_environment(claude.home), []))
    return Archiver(
        store=store,
        archive_dir=claude.store_path.parent / "archive",
        roots={ADAPTER.name: roots},
        clock=claude.clock,
    )


def sync_and_archive(claude: ClaudeHome) -> None:
    """Everything is read, stopped and archived."""
    with Store(claude.store_path, claude.clock) as store:
        claude.sync(store)
        store.mark_all_stopped()
        make_archiver(claude, store).run()


def prune_sessions(claude: ClaudeHome, ids: Iterable[str], **more: bool) -> PruneReport:
    """The sessions with these ids are gone."""
    wanted = set(ids)
    with StoreReader(claude.store_path) as reader:
        found = [s for s in list_sessions(reader) if s.key.session_id in wanted]
    with Store(claude.store_path, claude.clock) as store:
        work = Pruner(store=store, archiver=make_archiver(claude, store), **more)
        for batch in make_batches(
            [PruneCandidate(each, ("old",), 1) for each in found]
        ):
            work.remove(batch)
        work.finish()
        return work.report


def list_session_ids(claude: ClaudeHome) -> set[str]:
    """The ids of the sessions that there are."""
    with StoreReader(claude.store_path) as reader:
        return {session.key.session_id for session in list_sessions(reader)}


def list_contents(claude: ClaudeHome) -> list[str]:
    """What was said, in every session."""
    with StoreReader(claude.store_path) as reader:
        placed = [p for s in reader.list_sessions() for p in reader.list_records(s.row)]
    return sorted(p.record.content for p in placed if p.record.content)


def list_files_containing(folder: Path, word: str) -> list[str]:
    """The files below the folder in which the word stands; archives are unpacked."""
    import zstandard  # noqa: PLC0415

    found = []
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        data = path.read_bytes()
        if path.suffix == ".zst":
            start = data.find(b"\x28\xb5\x2f\xfd")
            unpacker = zstandard.ZstdDecompressor()
            data += unpacker.decompressobj().decompress(data[start:])
        if word.encode() in data:
            found.append(path.name)
    return found


def check_store(claude: ClaudeHome) -> None:
    """SQLite finds nothing wrong, and no row speaks of a session that is gone."""
    db = sqlite3.connect(claude.store_path)
    assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    db.execute("INSERT INTO record_text (record_text) VALUES ('integrity-check')")
    tables = [name for (name,) in db.execute("SELECT name FROM sqlite_schema")]
    for table in tables:
        columns = {row[1] for row in db.execute(f"PRAGMA table_info({table})")}
        if "session" in columns:
            gone = (
                f"SELECT * FROM {table} WHERE session NOT IN (SELECT id FROM session)"
            )
            assert db.execute(gone).fetchall() == [], table
    lone = "SELECT id FROM record WHERE entry NOT IN (SELECT entry FROM placement)"
    assert db.execute(lone).fetchall() == []
    alone = "SELECT usage FROM usage_share GROUP BY usage HAVING count(*) = 1"
    assert db.execute(alone).fetchall() == []
    db.close()
