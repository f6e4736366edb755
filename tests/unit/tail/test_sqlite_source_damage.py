"""Test that a damaged agent database loses only its damaged rows."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import pytest
from msgspec.structs import replace

from leslied import tail
from leslied.agents import AgentAdapter, load_adapters
from leslied.clock import Clock
from leslied.errors import LesliedError, SourceError
from leslied.model.source import Chunk, Cursor, Feed, Pattern, Root, Shape, WatchDepth
from leslied.pipeline import Ingest, IngestReport
from leslied.store import Store
from tests.support.claude import ADAPTER as CLAUDE
from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.golden import FIXTURES, make_environment

OPENCODE = load_adapters()["opencode"]
DATABASE = ".local/share/opencode/opencode.db"
PAGE_SIZE = 4096
FLIPS_PER_SEED = 25
MAX_COMMITS = 20
"""More than any of the fixtures needs; an endless read exceeds it soon."""

CHATS = Feed(
    name="chats",
    tables=("chat",),
    sql="SELECT 0, rowid, NULL, json_object('id', id) FROM chat "
    "WHERE rowid > :row ORDER BY rowid",
)
NOTES = replace(
    CHATS, name="notes", tables=("note",), sql=CHATS.sql.replace("chat", "note")
)
CHANGES = Feed(
    name="changes",
    tables=("chat",),
    sql="SELECT CAST(changed AS INTEGER), rowid, NULL, json_object('id', id) "
    "FROM chat WHERE changed > :after ORDER BY changed",
)
SCHEMA = """
    CREATE TABLE chat (id text, changed integer, filler text);
    CREATE TABLE note (id text);
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Create a database with a note and without chats; return its path."""
    path = tmp_path / "a.db"
    with sqlite3.connect(path) as db:
        db.executescript(SCHEMA)
        db.execute("INSERT INTO note VALUES ('note')")
    db.close()
    return path


def insert_chats(path: Path, *rows: tuple[str, object]) -> None:
    """Insert chats, one on each page, so that a page can be damaged alone."""
    with sqlite3.connect(path) as db:
        rows_with_filler = [(*row, "x" * 3000) for row in rows]
        db.executemany("INSERT INTO chat VALUES (?, ?, ?)", rows_with_filler)
    db.close()


def damage_page(path: Path, row_id: str) -> None:
    """Damage the header of the page that contains this chat."""
    data = bytearray(path.read_bytes())
    page_start = data.index(row_id.encode()) // PAGE_SIZE * PAGE_SIZE
    data[page_start] ^= 0xFF
    path.write_bytes(data)


def read_feeds(path: Path, *feeds: Feed, cursor: Cursor | None = None) -> ReadOutcome:
    """Read these feeds of the database, from its start or from a cursor."""
    pattern = Pattern(glob="a.db", shape=Shape.SQLITE, feeds=feeds)
    root = Root(path=path.parent, patterns=(pattern,), watch=WatchDepth.FLAT)
    source = tail.find_source("x", [root], path)
    assert source is not None
    return ReadOutcome(tail.read(source, cursor or Cursor(), tail.ReadLimits()))


class ReadOutcome:
    """The chunks of a read, and the error that ended it."""

    def __init__(self, chunks: object) -> None:
        self.chunks: list[Chunk] = []
        self.reason = ""
        try:
            for chunk in chunks:  # type: ignore[attr-defined]
                self.chunks.append(chunk)
                assert len(self.chunks) < 50, "the read does not end"
        except SourceError as error:
            self.reason = error.message

    @property
    def ids(self) -> list[str]:
        entries = [entry for chunk in self.chunks for entry in chunk.entries]
        return [entry.data.decode().split('"')[3] for entry in entries]

    @property
    def cursor(self) -> Cursor:
        return self.chunks[-1].cursor


def test_an_error_message_that_is_not_utf8_is_a_source_error(path: Path):
    """SQLite quotes damaged names, and Python cannot decode the message."""
    data = path.read_bytes()
    path.write_bytes(data.replace(b"CREATE TABLE chat", b"CREATE TAB\xff\xfe chat"))

    outcome = read_feeds(path, CHATS)

    assert outcome.reason.startswith("cannot be read as SQLite")


def test_rows_before_a_damaged_page_are_read_once(path: Path):
    insert_chats(path, ("first", 1), ("second", 2), ("third", 3), ("fourth", 4))
    damage_page(path, "third")

    outcome = read_feeds(path, CHATS)
    second_outcome = read_feeds(path, CHATS, cursor=outcome.cursor)

    assert outcome.ids == ["first", "second"]
    assert second_outcome.ids == []
    for result in (outcome, second_outcome):
        assert "chats" in result.reason
        assert "malformed" in result.reason


def test_the_other_feeds_of_a_damaged_database_are_read(path: Path):
    insert_chats(path, ("first", 1), ("second", 2))
    damage_page(path, "first")

    outcome = read_feeds(path, CHATS, NOTES)

    assert outcome.ids == ["note"]
    assert "chats" in outcome.reason


def test_a_damaged_database_is_read_again_at_the_next_scan(path: Path):
    insert_chats(path, ("first", 1), ("second", 2))
    damage_page(path, "second")

    assert read_feeds(path, CHATS, NOTES).cursor.stamp is None


def test_the_start_of_a_feed_is_saved_although_another_feed_is_damaged(path: Path):
    """Otherwise rows written between two scans would never be read."""
    insert_chats(path, ("first", 1), ("second", 2))
    damage_page(path, "first")
    newest_row_sql = "SELECT 0, rowid, NULL FROM note ORDER BY rowid DESC LIMIT 1"
    notes = replace(NOTES, start_sql=newest_row_sql)

    outcome = read_feeds(path, CHATS, notes)
    with sqlite3.connect(path) as db:
        db.execute("INSERT INTO note VALUES ('later')")
    db.close()

    assert outcome.ids == []
    assert read_feeds(path, CHATS, notes, cursor=outcome.cursor).ids == ["later"]


def test_reading_ends_if_a_feed_repeats_its_rows(path: Path):
    """An index page that is out of order returns the same rows forever."""
    repeating_feed = replace(CHATS, sql="SELECT 0, 1, NULL, json_object('id', 'x')")

    outcome = read_feeds(path, repeating_feed, NOTES)

    assert outcome.ids == ["x", "note"]
    assert "chats" in outcome.reason


def test_a_row_whose_time_is_text_does_not_block_the_other_rows(path: Path):
    """SQLite sorts text after all numbers, so every query returns such a row."""
    rows = [(f"n{number}", number + 1) for number in range(250)]
    insert_chats(path, *rows, ("odd", "soon"))

    outcome = read_feeds(path, CHANGES, NOTES)

    assert outcome.ids == [*(name for name, _ in rows), "odd", "note"]
    assert "changes" in outcome.reason


def test_a_row_without_a_time_gives_a_valid_cursor(path: Path):
    insert_chats(path, ("first", None))
    feed = replace(CHANGES, sql=CHANGES.sql.replace("changed >", "0 >="))

    outcome = read_feeds(path, feed)

    assert outcome.ids == ["first"]
    assert read_feeds(path, feed, cursor=outcome.cursor).ids == []


@pytest.mark.parametrize("anchor", [b"\xff", b"[]", b'{"chats": [0, null, []]}'])
def test_an_invalid_cursor_starts_from_the_beginning(path: Path, anchor: bytes):
    insert_chats(path, ("first", 1))

    outcome = read_feeds(path, CHATS, cursor=Cursor(offset=7, anchor=anchor))

    assert (outcome.ids, outcome.reason) == (["first"], "")


@pytest.mark.threat("X5")
@pytest.mark.parametrize("case", ["hello", "tools", "no-events", "subagent", "killed"])
@pytest.mark.parametrize("seed", [1, 2])
def test_a_flipped_byte_raises_nothing_and_affects_no_other_source(
    tmp_path: Path, clock: Clock, case: str, seed: int
):
    data = (FIXTURES / "opencode" / case / "home" / DATABASE).read_bytes()
    rng = random.Random(f"{case} {seed}")
    for number in range(FLIPS_PER_SEED):
        damaged = bytearray(data)
        # Half of the bytes in the first quarter, which includes the schema: there a
        # byte does the most damage.
        end = len(data) // 4 if number % 2 else len(data)
        at, bits = rng.randrange(end), rng.randrange(1, 256)
        damaged[at] ^= bits
        home = tmp_path / str(number)
        (home / DATABASE).parent.mkdir(parents=True)
        (home / DATABASE).write_bytes(damaged)

        records = ingest_twice(home, clock, f"byte {at} xor {bits}")

        assert records == [3, 0]


def ingest_twice(home: Path, clock: Clock, damage: str) -> list[int]:
    """Scan the damaged database and a Claude Code log, twice.

    Return how many records of the log each scan added. `damage` describes the damage
    in failure messages.
    """
    claude = ClaudeHome(home, home / "data" / "store.db", clock)
    builder = ClaudeLogBuilder()
    claude.write(builder.prompt("one"), builder.answer("two"))
    with Store(claude.store_path, clock) as store:
        claude_reports = []
        try:
            for _ in range(2):
                scan(OPENCODE, home, store)
                claude_reports.append(scan(CLAUDE, home, store))
        except LesliedError as error:
            pytest.fail(f"{damage}: the store failed: {error.message}")
        except Exception as error:  # noqa: BLE001 - any exception is the defect
            pytest.fail(f"{damage}: {type(error).__name__}: {error}")
    return [report.added.records for report in claude_reports]


def scan(adapter: AgentAdapter, home: Path, store: Store) -> IngestReport:
    """Ingest an agent's sources; fail if there are too many commits."""
    commits = 0

    def count_commit(*_: int) -> None:
        nonlocal commits
        commits += 1
        assert commits < MAX_COMMITS, "the read does not end"

    roots = tuple(adapter.roots(make_environment(home), []))
    # Small batches, so that an endless read is detected soon.
    return Ingest(
        adapter=adapter, store=store, roots=roots, weight=1000, on_progress=count_commit
    ).scan()
