"""Test reading an agent's database: each new row once, without disturbing the agent."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from leslied import tail
from leslied.errors import SourceError
from leslied.model.source import Chunk, Cursor, Feed, Pattern, Root, Shape, WatchDepth
from tests.support.waiting import MAX_WAIT_SECONDS

CHATS = Feed(
    name="chats",
    tables=("chat",),
    id_column="id",
    sql="SELECT 0, rowid, id, json_object('id', id, 'text', text) FROM chat "
    "WHERE rowid > :row ORDER BY rowid",
)
CHANGES = Feed(
    name="changes",
    tables=("event", "chat"),
    id_column="id",
    start_sql="SELECT 0, rowid, id FROM event ORDER BY rowid DESC LIMIT 1",
    sql="SELECT 0, e.rowid, e.id, json_object('id', c.id, 'text', c.text) "
    "FROM event e LEFT JOIN chat c ON c.id = e.chat WHERE e.rowid > :row "
    "ORDER BY e.rowid LIMIT 10",
)
UPDATES = Feed(
    name="updates",
    tables=("chat",),
    unless_table="event",
    sql="SELECT changed, rowid, NULL, json_object('id', id) FROM chat "
    "WHERE (changed, rowid) > (:after, :row) ORDER BY 1, 2",
)
SCHEMA = """
    CREATE TABLE chat (id text PRIMARY KEY, text text, changed integer DEFAULT 0);
    CREATE TABLE event (id text PRIMARY KEY, chat text);
"""
LIMITS = tail.ReadLimits()
WRITER = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=5)
for number in range(int(sys.argv[2])):
    db.execute("INSERT INTO chat (id, text) VALUES (?, '')", (f"n{number}",))
print("ready", flush=True)
sys.stdin.read()
"""


def open_database(
    folder: Path, mode: str = "WAL", schema: str = SCHEMA
) -> sqlite3.Connection:
    folder.mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(folder / "a.db", isolation_level=None)
    db.execute(f"PRAGMA journal_mode = {mode}")
    db.executescript(schema)
    return db


def insert_chats(db: sqlite3.Connection, *ids: str) -> None:
    """Insert chats with these ids in one transaction."""
    db.execute("BEGIN")
    rows = [(id_, f"I am {id_}") for id_ in ids]
    db.executemany("INSERT INTO chat (id, text) VALUES (?, ?)", rows)
    db.execute("COMMIT")


def change_chat(db: sqlite3.Connection, id_: str, text: str, event: str) -> None:
    """Change the text of a chat and insert an event about the change."""
    db.execute("UPDATE chat SET text = ? WHERE id = ?", (text, id_))
    db.execute("INSERT INTO event VALUES (?, ?)", (event, id_))


def make_root(folder: Path, *feeds: Feed) -> Root:
    pattern = Pattern(glob="a.db", shape=Shape.SQLITE, feeds=feeds or (CHATS, CHANGES))
    return Root(path=folder, patterns=(pattern,), watch=WatchDepth.FLAT)


def read_chunks(
    folder: Path, cursor: Cursor | None = None, *feeds: Feed
) -> list[Chunk]:
    source = tail.find_source("x", [make_root(folder, *feeds)], folder / "a.db")
    assert source is not None
    return list(tail.read(source, cursor or Cursor(), LIMITS))


def list_ids(chunks: list[Chunk]) -> list[str]:
    """Return the chat ids of all entries."""
    return [json.loads(e.data)["id"] for chunk in chunks for e in chunk.entries]


def list_texts(chunks: list[Chunk]) -> list[str]:
    """Return the chat texts of all entries."""
    return [json.loads(e.data)["text"] for chunk in chunks for e in chunk.entries]


def snapshot_stats(folder: Path) -> dict[str, tuple[int, ...]]:
    """Return the state of the folder and its files, including their mtimes.

    Not their ctimes: for root, SQLite sets the owner again, to the same value.
    """
    paths = [folder, *folder.iterdir()]
    stats = {path.name: path.stat() for path in paths}
    return {
        name: (s.st_ino, s.st_size, s.st_mtime_ns, s.st_mode, s.st_uid)
        for name, s in stats.items()
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "agent"


class TestReadingRows:
    def test_every_row_is_read_once(self, folder: Path):
        with open_database(folder) as db:
            insert_chats(db, "a", "b")
            first = read_chunks(folder)
            insert_chats(db, "c")

            second = read_chunks(folder, first[-1].cursor)

        assert (list_ids(first), list_ids(second)) == (["a", "b"], ["c"])

    def test_rows_of_a_table_with_an_index_over_json_are_read(self, folder: Path):
        index = "CREATE INDEX by_role ON chat (json_extract(text, '$.role'));"
        with open_database(folder, schema=SCHEMA + index) as db:
            db.execute("INSERT INTO chat (id, text) VALUES ('a', '{}')")

            chunks = read_chunks(folder)

        assert list_ids(chunks) == ["a"]

    def test_an_updated_row_is_read_again_through_the_feed_of_changes(
        self, folder: Path
    ):
        db = open_database(folder)
        insert_chats(db, "a")
        first = read_chunks(folder)
        change_chat(db, "a", "changed", "e1")

        assert list_texts(read_chunks(folder, first[-1].cursor)) == ["changed"]

    def test_changes_before_the_first_read_are_skipped(self, folder: Path):
        db = open_database(folder)
        insert_chats(db, "a")
        change_chat(db, "a", "changed", "e1")

        assert list_texts(read_chunks(folder)) == ["changed"]

    def test_a_feed_that_appears_later_yields_all_its_changes(self, folder: Path):
        db = open_database(folder)
        insert_chats(db, "a")
        first = read_chunks(folder, None, CHATS)
        change_chat(db, "a", "changed", "e1")

        assert list_texts(read_chunks(folder, first[-1].cursor)) == ["changed"]

    def test_a_change_of_a_deleted_row_only_moves_the_position(self, folder: Path):
        feed_without_entries = Feed(
            name="changes",
            tables=("event",),
            id_column="id",
            sql="SELECT 0, rowid, id, NULL FROM event WHERE rowid > :row "
            "ORDER BY rowid LIMIT 1",
        )
        db = open_database(folder)
        for number in range(3):
            db.execute("INSERT INTO event VALUES (?, 'gone')", (f"e{number}",))

        first = read_chunks(folder, None, feed_without_entries)
        second = read_chunks(folder, first[-1].cursor, feed_without_entries)

        assert list_ids(first) == []
        assert len(second) == 1

    def test_a_feed_is_not_read_when_the_table_that_replaces_it_has_a_row(
        self, folder: Path
    ):
        db = open_database(folder)
        insert_chats(db, "a")
        before = read_chunks(folder, None, UPDATES)
        db.execute("INSERT INTO event VALUES ('e1', 'a')")
        db.execute("UPDATE chat SET changed = 9")

        after = read_chunks(folder, before[-1].cursor, UPDATES)

        assert (list_ids(before), list_ids(after)) == (["a"], [])

    def test_rows_with_the_same_position_are_never_split(self, folder: Path):
        feed = Feed(
            name="together",
            tables=("chat",),
            sql="SELECT 0, 1, NULL, json_object('id', id) FROM chat WHERE :row < 1",
        )
        with open_database(folder) as db:
            insert_chats(db, *map(str, range(1000)))

        chunks = read_chunks(folder, None, feed)

        assert [len(chunk.entries) for chunk in chunks] == [1000, 0]

    def test_many_rows_are_read_in_chunks_and_continue_after_any_of_them(
        self, folder: Path
    ):
        with open_database(folder) as db:
            insert_chats(db, *map(str, range(450)))
        chunks = read_chunks(folder)

        later_ids = [list_ids(read_chunks(folder, each.cursor)) for each in chunks]

        assert [len(chunk.entries) for chunk in chunks] == [200, 200, 50, 0]
        ids = list(map(str, range(450)))
        assert later_ids == [ids[200:], ids[400:], [], []]

    def test_large_rows_are_read_in_small_chunks(self, folder: Path):
        with open_database(folder) as db:
            insert_chats(db, *map(str, range(6)))
            db.execute("UPDATE chat SET text = ?", ("x" * 1_000_000,))

        assert [len(chunk.entries) for chunk in read_chunks(folder)] == [3, 3, 0]

    def test_a_row_too_long_to_parse_is_rejected_and_the_others_are_read(
        self, folder: Path
    ):
        with open_database(folder) as db:
            insert_chats(db, "a", "b", "c")
            long_text = "x" * LIMITS.line
            db.execute("UPDATE chat SET text = ? WHERE id = 'b'", (long_text,))

        chunks = read_chunks(folder)

        assert list_ids(chunks) == ["a", "c"]
        (rejection,) = [r for chunk in chunks for r in chunk.rejected]
        assert rejection.reason.startswith("oversized")
        assert rejection.head == b""

    def test_invalid_utf8_is_left_to_the_decoder(self, folder: Path):
        with open_database(folder) as db:
            db.execute("INSERT INTO chat VALUES (?, CAST(x'ff41' AS TEXT), 0)", ("a",))

        (entry,) = read_chunks(folder)[0].entries

        assert b"\xffA" in entry.data


class TestChangedRowids:
    def test_no_new_row_is_missed_after_deletions_and_vacuum(self, folder: Path):
        db = open_database(folder)
        insert_chats(db, *"abcdef")
        first = read_chunks(folder)
        db.execute("DELETE FROM chat WHERE id IN ('a', 'b', 'c')")
        db.execute("VACUUM")
        # VACUUM gave the last row that was read the rowid 3; the saved 6 is a new row:
        insert_chats(db, *"ghijk")

        assert set("ghijk") <= set(list_ids(read_chunks(folder, first[-1].cursor)))

    def test_a_reused_rowid_is_detected(self, folder: Path):
        db = open_database(folder)
        insert_chats(db, *"abc")
        first = read_chunks(folder)
        db.execute("DELETE FROM chat WHERE id = 'c'")
        insert_chats(db, "d")

        assert list_ids(read_chunks(folder, first[-1].cursor))[-1] == "d"

    def test_only_the_last_rows_are_read_again_after_a_rowid_was_reused(
        self, folder: Path
    ):
        db = open_database(folder)
        cursor = Cursor()
        for number in range(300):
            insert_chats(db, f"n{number:03}")
            cursor = read_chunks(folder, cursor)[-1].cursor
        db.execute("DELETE FROM chat WHERE id = 'n299'")
        insert_chats(db, "new")

        ids = list_ids(read_chunks(folder, cursor))

        assert ids[-1] == "new"
        assert len(ids) <= 3
        assert len(cursor.anchor) < 1000

    def test_deletions_yield_no_entries(self, folder: Path):
        db = open_database(folder)
        insert_chats(db, *"abc")
        first = read_chunks(folder)
        db.execute("DELETE FROM chat")

        assert list_ids(read_chunks(folder, first[-1].cursor)) == []


@pytest.mark.fault("E10")
class TestReadingWithoutSideEffects:
    def read_without_changes(self, folder: Path) -> list[str]:
        """Read the database, check that no file changed, return the chat ids."""
        before = snapshot_stats(folder)
        ids = list_ids(read_chunks(folder))
        assert snapshot_stats(folder) == before
        return ids

    def test_reading_a_closed_database_changes_no_file(self, folder: Path):
        db = open_database(folder)
        insert_chats(db, "a")
        db.close()

        assert sorted(p.name for p in folder.iterdir()) == ["a.db"]
        assert self.read_without_changes(folder) == ["a"]

    def test_reading_a_database_in_use_changes_no_file(self, folder: Path):
        db = open_database(folder)
        insert_chats(db, "a")

        assert self.read_without_changes(folder) == ["a"]

    def test_reading_a_copy_without_shared_memory_changes_no_file(
        self, folder: Path, tmp_path: Path
    ):
        db = open_database(tmp_path / "live")
        insert_chats(db, "a")
        folder.mkdir()
        for name in ("a.db", "a.db-wal"):
            shutil.copyfile(tmp_path / "live" / name, folder / name)

        assert self.read_without_changes(folder) == ["a"]

    @pytest.mark.parametrize("size", [0, 16, 32, 500])
    def test_reading_beside_a_wal_without_a_transaction_changes_no_file(
        self, folder: Path, tmp_path: Path, size: int
    ):
        db = open_database(folder)
        insert_chats(db, "a")
        db.close()
        live = open_database(tmp_path / "live")
        wal = (tmp_path / "live" / "a.db-wal").read_bytes()
        live.close()
        (folder / "a.db-wal").write_bytes(wal[:size])

        assert self.read_without_changes(folder) == ["a"]

    def test_reading_beside_shared_memory_without_a_wal_changes_no_file(
        self, folder: Path
    ):
        db = open_database(folder)
        insert_chats(db, "a")
        db.close()
        (folder / "a.db-shm").write_bytes(bytes(32768))

        assert self.read_without_changes(folder) == ["a"]

    def test_reading_the_files_of_a_killed_agent_changes_no_file(self, folder: Path):
        folder.mkdir()
        code = (
            "import os, sqlite3, sys\n"
            "db = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
            "db.execute('PRAGMA journal_mode = WAL')\n"
            "db.execute('CREATE TABLE chat (id text PRIMARY KEY, text text)')\n"
            "db.execute('INSERT INTO chat VALUES (?, ?)', ('a', 'x'))\n"
            "db.execute('BEGIN')\n"
            "db.execute('INSERT INTO chat VALUES (?, ?)', ('half', 'x'))\n"
            "os.kill(os.getpid(), 9)\n"
        )
        subprocess.run([sys.executable, "-c", code, folder / "a.db"], check=False)

        assert (folder / "a.db-shm").exists()
        assert self.read_without_changes(folder) == ["a"]

    def test_reading_a_database_without_a_wal_changes_no_file(self, folder: Path):
        db = open_database(folder, "DELETE")
        insert_chats(db, "a")

        assert self.read_without_changes(folder) == ["a"]

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
    def test_a_database_in_a_read_only_folder_is_read(self, folder: Path):
        db = open_database(folder)
        insert_chats(db, "a")
        db.close()
        folder.chmod(0o500)
        try:
            assert self.read_without_changes(folder) == ["a"]
        finally:
            folder.chmod(0o700)

    def test_the_agent_can_write_while_its_database_is_read(self, folder: Path):
        db = open_database(folder)
        insert_chats(db, *map(str, range(500)))
        source = tail.find_source("x", [make_root(folder)], folder / "a.db")
        assert source is not None

        chunks = tail.read(source, Cursor(), LIMITS)
        first = next(chunks)
        insert_chats(db, "while")
        busy, _, _ = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        later_chunks = list(chunks)

        assert busy == 0
        assert list_ids([first, *later_chunks])[-1] == "while"

    def test_an_agent_that_opens_the_database_meanwhile_is_detected(self, folder: Path):
        db = open_database(folder)
        insert_chats(db, *map(str, range(500)))
        db.close()
        source = tail.find_source("x", [make_root(folder)], folder / "a.db")
        assert source is not None
        chunks = tail.read(source, Cursor(), LIMITS)
        next(chunks)
        db = sqlite3.connect(folder / "a.db", isolation_level=None)
        insert_chats(db, "new")

        with pytest.raises(SourceError, match="was opened by its agent"):
            list(chunks)

    def test_commits_of_another_process_are_all_read(self, folder: Path):
        open_database(folder).close()
        total = 300
        ids: list[str] = []
        cursor = Cursor()
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, folder / "a.db", str(total)],
            stdin=subprocess.PIPE,
        ) as agent:
            deadline = time.monotonic() + MAX_WAIT_SECONDS
            while len(ids) < total and time.monotonic() < deadline:
                try:
                    chunks = read_chunks(folder, cursor)
                except SourceError as error:
                    assert "opened by its agent" in error.message  # noqa: PT017
                    continue
                ids += list_ids(chunks)
                cursor = chunks[-1].cursor
            agent.communicate(b"done")

        assert ids == [f"n{number}" for number in range(total)]
        assert agent.returncode == 0

    def test_the_commits_of_a_killed_process_are_read(self, folder: Path):
        open_database(folder).close()
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, folder / "a.db", "50"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as agent:
            assert agent.stdout is not None
            agent.stdout.readline()
            agent.kill()

        assert len(self.read_without_changes(folder)) == 50


class TestReadableErrors:
    def test_a_write_to_a_database_without_wal_ends_reading(self, folder: Path):
        db = open_database(folder, "DELETE")
        insert_chats(db, *map(str, range(500)))
        source = tail.find_source("x", [make_root(folder)], folder / "a.db")
        assert source is not None
        chunks = tail.read(source, Cursor(), LIMITS)
        next(chunks)
        insert_chats(db, "later")

        with pytest.raises(SourceError, match="by its agent"):
            list(chunks)

    def test_a_file_that_is_not_a_database_raises_a_readable_error(self, folder: Path):
        folder.mkdir()
        (folder / "a.db").write_bytes(b"not a database, but long enough " * 200)

        with pytest.raises(SourceError, match="not a database"):
            read_chunks(folder)

    @pytest.mark.parametrize("size", [0, 50, 100, 5000])
    def test_a_truncated_database_raises_a_source_error(self, folder: Path, size: int):
        db = open_database(folder, "DELETE")
        insert_chats(db, *map(str, range(500)))
        db.close()
        data = (folder / "a.db").read_bytes()
        (folder / "a.db").write_bytes(data[:size])

        with pytest.raises(SourceError):
            read_chunks(folder)

    def test_garbage_in_a_database_raises_a_readable_error(self, folder: Path):
        db = open_database(folder, "DELETE")
        insert_chats(db, *map(str, range(2000)))
        db.close()
        data = bytearray((folder / "a.db").read_bytes())
        data[4096 * 3 :] = b"\xa5" * (len(data) - 4096 * 3)
        (folder / "a.db").write_bytes(data)

        with pytest.raises(SourceError, match="cannot be read as SQLite"):
            read_chunks(folder)

    def test_a_view_instead_of_a_table_raises_a_readable_error(self, folder: Path):
        open_database(
            folder, schema="CREATE VIEW chat AS SELECT 1 AS id, 2 AS text"
        ).close()

        with pytest.raises(SourceError, match="none of the tables"):
            read_chunks(folder)

    def test_a_virtual_table_instead_of_a_table_raises_a_readable_error(
        self, folder: Path
    ):
        schema = "CREATE VIRTUAL TABLE chat USING fts5(id, text)"
        open_database(folder, schema=schema).close()

        with pytest.raises(SourceError, match="none of the tables"):
            read_chunks(folder)

    def test_a_table_with_other_columns_raises_a_readable_error(self, folder: Path):
        open_database(folder, schema="CREATE TABLE chat (name text)").close()

        with pytest.raises(SourceError, match="no such column"):
            read_chunks(folder)

    @pytest.mark.threat("X5")
    def test_an_endless_query_is_interrupted(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr("leslied.tail.sqlite_source._MAX_PROGRESS_CALLS", 3)
        endless_feed = Feed(
            name="endless",
            tables=("chat",),
            sql="WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) "
            "SELECT 0, max(x), NULL, '' FROM n",
        )
        open_database(folder).close()

        with pytest.raises(SourceError, match="interrupted"):
            read_chunks(folder, None, endless_feed)

    def test_a_folder_with_the_name_of_the_database_raises_a_readable_error(
        self, folder: Path
    ):
        open_database(folder).close()
        source = tail.find_source("x", [make_root(folder)], folder / "a.db")
        (folder / "a.db").unlink()
        (folder / "a.db").mkdir()
        assert source is not None

        with pytest.raises(SourceError, match="not a regular file"):
            list(tail.read(source, Cursor(), LIMITS))


class TestDetectingChanges:
    def test_a_write_to_the_wal_alone_changes_the_stamp(self, folder: Path):
        db = open_database(folder)
        insert_chats(db, "a")
        before = read_chunks(folder)[-1].cursor.stamp
        size = (folder / "a.db").stat().st_size
        insert_chats(db, "b")

        (source,) = tail.discover("x", [make_root(folder)]).sources

        assert (folder / "a.db").stat().st_size == size
        assert source.stamp != before

    def test_two_commits_at_the_same_time_have_different_stamps(self, folder: Path):
        db = open_database(folder)
        insert_chats(db, "a")
        db.execute("PRAGMA wal_checkpoint(RESTART)")
        insert_chats(db, "b")
        wal = folder / "a.db-wal"
        os.utime(wal, ns=(1, 1))
        (before,) = tail.discover("x", [make_root(folder)]).sources
        size = wal.stat().st_size
        insert_chats(db, "c")
        os.utime(wal, ns=(1, 1))

        (after,) = tail.discover("x", [make_root(folder)]).sources

        assert wal.stat().st_size == size
        assert after.stamp != before.stamp

    def test_the_stamp_is_stable_while_nothing_changes(self, folder: Path):
        db = open_database(folder)
        insert_chats(db, "a")
        cursor = read_chunks(folder)[-1].cursor

        (source,) = tail.discover("x", [make_root(folder)]).sources

        assert tail.is_unchanged(source, cursor)
        db.close()

    def test_an_event_for_the_wal_finds_the_database(self, folder: Path):
        db = open_database(folder)
        insert_chats(db, "a")

        source = tail.find_source("x", [make_root(folder)], folder / "a.db-wal")

        assert source is not None
        assert source.path == folder / "a.db"
        db.close()

    def test_files_in_subfolders_of_a_flat_root_are_not_sources(self, folder: Path):
        open_database(folder / "below").close()

        assert tail.discover("x", [make_root(folder)]).sources == []
        assert (
            tail.find_source("x", [make_root(folder)], folder / "below" / "a.db")
            is None
        )
