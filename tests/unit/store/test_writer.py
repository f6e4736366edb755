"""Readings are kept whole, each with its cursor, or not at all."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from leslied.errors import StoreUnusable
from leslied.model.source import Cursor, FileStamp, Noise, Rejection
from leslied.store import Store, StoreReader
from tests.support.clock import FakeClock
from tests.support.records import (
    AGENT,
    LOGS,
    StoreHarness,
    make_chunk,
    make_prompt,
    make_record,
)

TABLES = ("record", "placement", "source", "session", "usage", "noise", "rejected")
LOG = os.fsencode(LOGS / "a.jsonl")


@pytest.fixture
def shelf(tmp_path: Path, clock: FakeClock) -> Iterator[StoreHarness]:
    with StoreHarness(tmp_path / "data" / "store.db", clock) as shelf:
        yield shelf


def rows(shelf: StoreHarness) -> list[int]:
    return [shelf.count(table) for table in TABLES]


def full_reading():
    """A reading that touches every table."""
    return make_chunk(
        make_prompt("one", "1"),
        make_record("needle", "2", message_id="m", usage=None),
        make_record("no id"),
        noise=(Noise(300, 10, "last-prompt"),),
        rejected=(Rejection(400, 10, "not JSON", b"digest", b"head"),),
    )


# All or nothing


def test_a_commit_says_what_it_added(shelf: StoreHarness):
    done = shelf.commit(make_prompt("one", "1"), make_record("two", "2"))

    assert (done.records, done.placements) == (2, 2)


def test_records_and_their_cursor_are_kept_together(shelf: StoreHarness):
    """E1."""
    shelf.store.commit([full_reading()])

    assert shelf.store.find_cursor(AGENT, LOG).offset == 300
    assert shelf.contents() == ["one", "needle", "no id"]


def test_a_commit_stopped_anywhere_leaves_nothing(shelf: StoreHarness):
    """D1, E1: stopped at every third step of SQLite's machine."""
    db, states, stops = shelf.store._db, set(), 0
    for last in range(0, 100_000, 3):
        steps = count()
        db.set_progress_handler(lambda: next(steps) == last, 1)  # noqa: B023
        try:
            shelf.store.commit([full_reading()])
            break
        except StoreUnusable:
            stops += 1
        finally:
            db.set_progress_handler(None, 0)
        states.add((*rows(shelf), db.in_transaction))

    assert states == {(0,) * len(TABLES) + (False,)}
    assert stops > 50
    assert len(shelf.search("needle")) == 1
    assert shelf.contents() == ["one", "needle", "no id"]


@pytest.mark.parametrize(
    "table", ["record", "placement", "noise", "rejected", "occurrence", "session"]
)
def test_a_failure_in_any_table_leaves_nothing(shelf: StoreHarness, table: str):
    """E1."""
    before = rows(shelf)
    shelf.execute(
        f"CREATE TEMP TRIGGER fail BEFORE INSERT ON main.{table} "
        "BEGIN SELECT RAISE(ABORT, 'no room'); END"
    )

    with pytest.raises(StoreUnusable, match=r"cannot be written: no room\."):
        shelf.store.commit([full_reading()])

    assert rows(shelf) == before


def test_a_commit_that_failed_can_be_made_again(shelf: StoreHarness):
    """D1."""
    shelf.execute(
        "CREATE TEMP TRIGGER fail BEFORE INSERT ON main.placement "
        "BEGIN SELECT RAISE(ABORT, 'no room'); END"
    )
    with pytest.raises(StoreUnusable):
        shelf.store.commit([full_reading()])
    shelf.execute("DROP TRIGGER fail")

    shelf.store.commit([full_reading()])

    assert shelf.contents() == ["one", "needle", "no id"]
    assert len(shelf.search("needle")) == 1


def test_one_bad_reading_takes_its_neighbours_back(shelf: StoreHarness):
    """E1."""
    good = make_chunk(make_prompt("one", "1"), log="good.jsonl")
    shelf.execute(
        "CREATE TEMP TRIGGER fail BEFORE INSERT ON main.record "
        "WHEN NEW.content = 'bad' BEGIN SELECT RAISE(ABORT, 'no'); END"
    )

    with pytest.raises(StoreUnusable):
        shelf.store.commit([good, make_chunk(make_prompt("bad"), log="bad.jsonl")])

    assert shelf.store.load_stamps(AGENT) == {}


def test_a_full_disk_is_told_in_a_sentence_and_costs_nothing(shelf: StoreHarness):
    """D1."""
    (pages,) = shelf.execute("PRAGMA page_count")[0]
    shelf.execute(f"PRAGMA max_page_count = {pages + 2}")
    large = make_chunk(*[make_prompt("x" * 9000, f"n{n}") for n in range(50)])
    with pytest.raises(StoreUnusable, match="full") as told:
        shelf.store.commit([large])
    shelf.execute("PRAGMA max_page_count = 1000000")

    shelf.store.commit([large])

    assert "Nothing was lost" in told.value.hint
    assert shelf.count("record") == 50


def test_an_interrupt_leaves_nothing(
    shelf: StoreHarness, monkeypatch: pytest.MonkeyPatch
):
    """E1, F8."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("leslied.store.transaction.Transaction.finish", interrupt)
    with pytest.raises(KeyboardInterrupt):
        shelf.store.commit([full_reading()])

    assert shelf.store.load_stamps(AGENT) == {}
    assert not shelf.store._db.in_transaction


def test_what_was_kept_is_there_for_the_next_writer(tmp_path: Path, clock: FakeClock):
    """E1."""
    path = tmp_path / "data" / "store.db"
    with StoreHarness(path, clock) as shelf:
        shelf.store.commit([full_reading()])
        cursor = shelf.store.find_cursor(AGENT, LOG)

    with StoreHarness(path, clock) as shelf:
        done = shelf.store.commit([full_reading()])
        assert shelf.store.find_cursor(AGENT, LOG) == cursor
    assert (done.records, done.placements) == (1, 1)


def test_an_empty_commit_adds_nothing(shelf: StoreHarness):
    done = shelf.store.commit([])

    assert done.records == 0
    assert rows(shelf) == [0] * len(TABLES)


# Odd values


HANDMADE = {
    "content": {"content": "x\ud800"},
    "native id": {"native_id": "x\ud800"},
    "scope": {"scope": "x\ud800"},
    "tool name": {"type": "tool_use", "tool_name": "x\ud800"},
    "call id": {"tool_call_id": "x\ud800"},
    "tool input": {"type": "tool_use", "tool_input": '"x\ud800"'},
    "model": {"model": "x\ud800"},
    "message id": {"message_id": "x\ud800"},
    "parent": {"parent_id": "x\ud800"},
    "spilled": {"type": "tool_result", "spilled": "x\ud800"},
    "metadata": {"metadata": {"a": ["x\ud800"]}},
    "metadata key": {"metadata": {"x\ud800": 1}},
    "event": {"metadata": {"kind": "notice", "note": "x\ud800"}},
    "title": {"content": "x\ud800", "metadata": {"kind": "title"}},
    "leaf": {"metadata": {"kind": "title", "leaf": "x\ud800"}},
    "link": {"metadata": {"kind": "subagent_linked", "description": "x\ud800"}},
    "folder": {"metadata": {"kind": "opened", "cwd": "x\ud800"}},
}


@pytest.mark.parametrize("fields", HANDMADE.values(), ids=HANDMADE)
def test_a_lone_surrogate_never_reaches_sqlite(shelf: StoreHarness, fields):
    """A5."""
    record = make_record(**{"native_id": "1", **fields})

    done = shelf.commit(record, make_record("after", "2"))

    assert done.records == 2


@pytest.mark.parametrize("place", ["session", "source", "noise", "rejected", "state"])
def test_a_lone_surrogate_beside_a_record_never_reaches_sqlite(
    shelf: StoreHarness, place: str
):
    """A5, B17."""
    odd = "x\udcff"
    more = {
        "noise": {"noise": (Noise(0, 1, odd),)},
        "rejected": {"rejected": (Rejection(0, 1, odd, b"", b""),)},
        "state": {"cursor": Cursor(state=f'"{odd}"')},
    }.get(place, {})
    key = (AGENT, odd) if place == "session" else (AGENT, "s", "main")
    key = (AGENT, "s", f"subagent:{odd}") if place == "source" else key
    session = type(make_record().session)(*key)

    done = shelf.commit(make_record("one", "1", session=session), **more)

    assert done.records == 1


# Sources


def test_a_cursor_comes_back_as_it_was(shelf: StoreHarness):
    cursor = Cursor(
        generation=3,
        offset=2**40,
        crc=2**32 - 1,
        anchor=b"\x00\x10" + bytes(14),
        scanned=7,
        finished=9,
        stamp=FileStamp(2**31, 2**62, 2**40, 2**61, -5),
        state='{"cwd":"/é"}',
    )
    shelf.commit(cursor=cursor)

    assert shelf.store.find_cursor(AGENT, LOG) == cursor
    assert shelf.store.find_cursor(AGENT, LOG) == cursor


@pytest.mark.parametrize("number", [2**63, 2**64 - 1])
def test_an_inode_larger_than_sqlite_counts_is_kept(shelf: StoreHarness, number: int):
    """B6: network and FUSE file systems give such numbers."""
    cursor = Cursor(stamp=FileStamp(number, number, 1, 1, 1))

    shelf.commit(cursor=cursor)

    assert shelf.store.find_cursor(AGENT, LOG) == cursor


def test_cursors_of_another_agent_are_not_told(shelf: StoreHarness):
    shelf.commit(make_prompt())

    assert shelf.store.load_stamps("codex") == {}
    assert shelf.store.find_cursor("codex", LOG) is None


def test_a_trouble_is_told_until_the_source_is_read(shelf: StoreHarness):
    """B14."""
    shelf.store.record_source_error(AGENT, LOGS / "a.jsonl", "cannot be opened")
    with shelf.reader() as reader:
        told = reader.list_source_errors()

    shelf.commit(make_prompt())

    assert told == [(str(LOGS / "a.jsonl"), "cannot be opened")]
    with shelf.reader() as reader:
        assert reader.list_source_errors() == []


def test_a_trouble_moves_no_cursor(shelf: StoreHarness):
    """B14."""
    shelf.commit(make_prompt("one", "1"))
    before = shelf.store.find_cursor(AGENT, LOG)

    shelf.store.record_source_error(AGENT, LOGS / "a.jsonl", "cannot be opened")

    assert shelf.store.find_cursor(AGENT, LOG) == before


def test_a_source_that_is_gone_keeps_its_records(shelf: StoreHarness):
    """B8, G11."""
    shelf.commit(make_prompt("one", "1"))

    shelf.store.mark_gone(AGENT, [LOG])

    with shelf.reader() as reader:
        (agent,) = reader.summarize_agents()
    assert (agent["gone"], agent["sources"]) == (1, 0)
    assert shelf.contents() == ["one"]


def test_a_source_that_came_back_is_not_gone(shelf: StoreHarness):
    """B9."""
    shelf.commit(make_prompt("one", "1"))
    shelf.store.mark_gone(AGENT, [LOG])

    shelf.commit(make_prompt("one", "1"), generation=2)

    with shelf.reader() as reader:
        assert reader.summarize_agents()[0]["gone"] == 0


def test_a_moved_source_keeps_its_cursor(shelf: StoreHarness):
    """B10."""
    shelf.commit(make_prompt("one", "1"))
    cursor = shelf.store.find_cursor(AGENT, LOG)

    shelf.store.move_source(AGENT, LOG, b"/logs/new.jsonl")

    assert shelf.store.find_cursor(AGENT, b"/logs/new.jsonl") == cursor
    assert shelf.list_records()[0].path == "/logs/new.jsonl"


def test_a_source_moved_onto_a_known_one_is_no_error(shelf: StoreHarness):
    """B10."""
    shelf.commit(make_prompt("one", "1"))
    shelf.commit(make_prompt("two", "2"), log="b.jsonl")

    shelf.store.move_source(AGENT, LOG, b"/logs/b.jsonl")

    assert shelf.contents() == ["one", "two"]


# Sessions


def test_every_session_can_be_stopped(shelf: StoreHarness):
    shelf.commit(make_prompt("one", "1"))

    assert shelf.store.mark_all_stopped() == 1
    assert shelf.store.mark_all_stopped() == 0
    assert shelf.session().is_stopped


def test_a_stopped_session_goes_on_with_its_next_record(shelf: StoreHarness):
    """G9."""
    shelf.commit(make_prompt("one", "1"))
    shelf.store.mark_all_stopped()

    shelf.commit(make_prompt("two", "2"))

    assert not shelf.session().is_stopped


def test_a_record_seen_again_wakes_no_stopped_session(shelf: StoreHarness):
    """G9."""
    shelf.commit(make_prompt("one", "1"))
    shelf.store.mark_all_stopped()

    shelf.commit(make_prompt("one", "1"), generation=2)

    assert shelf.session().is_stopped


# Loading


@pytest.fixture
def safe(tmp_path: Path, clock: FakeClock) -> Iterator[StoreHarness]:
    """A shelf whose store waits for the disk, as it does for people."""
    path = tmp_path / "safe" / "store.db"
    with StoreHarness(path, clock, is_unsynced=False) as shelf:
        yield shelf


def sync_level(shelf: StoreHarness) -> int:
    return int(shelf.execute("PRAGMA synchronous")[0][0])


def merge_setting(shelf: StoreHarness) -> int:
    query = "SELECT v FROM record_text_config WHERE k = 'automerge'"
    return int((shelf.execute(query) or [(4,)])[0][0])


def test_an_empty_store_is_filled_fast_and_safe_ever_after(safe: StoreHarness):
    """E2."""
    with safe.store.bulk_load():
        safe.commit(make_prompt("one", "1"))
        while_loading = sync_level(safe)

    assert (while_loading, sync_level(safe), merge_setting(safe)) == (1, 2, 4)


def test_a_store_that_is_not_loaded_is_always_safe(safe: StoreHarness):
    """E2."""
    with safe.store.bulk_load(is_wanted=False):
        assert sync_level(safe) == 2


def test_only_an_agent_that_was_never_read_is_new(safe: StoreHarness):
    before = safe.store.is_new_agent(AGENT)

    safe.commit(make_prompt("one", "1"))

    assert (
        before,
        safe.store.is_new_agent(AGENT),
        safe.store.is_new_agent("codex"),
    ) == (
        True,
        False,
        True,
    )


def test_a_load_that_fails_leaves_the_store_safe(safe: StoreHarness):
    """E2."""
    with pytest.raises(KeyError), safe.store.bulk_load():
        raise KeyError

    assert (sync_level(safe), merge_setting(safe)) == (2, 4)


def test_a_load_that_was_killed_leaves_no_setting_behind(
    tmp_path: Path, clock: FakeClock
):
    """E1: a copy of the files, taken in the middle, is what a kill leaves."""
    path, left = tmp_path / "data" / "store.db", tmp_path / "left" / "store.db"
    left.parent.mkdir()
    with StoreHarness(path, clock) as shelf, shelf.store.bulk_load():
        shelf.commit(make_prompt("one", "1"))
        for end in ("", "-wal"):
            data = path.with_name(path.name + end).read_bytes()
            left.with_name(left.name + end).write_bytes(data)

    with StoreHarness(left, clock, is_unsynced=False) as shelf:
        assert shelf.contents() == ["one"]
        assert (sync_level(shelf), merge_setting(shelf)) == (2, 4)


def test_a_store_left_by_a_kill_opens_with_all_that_was_kept(
    tmp_path: Path, clock: FakeClock
):
    """E1, E2: the log of changes cut at every frame."""
    path = tmp_path / "data" / "store.db"
    left = tmp_path / "left" / "store.db"
    with StoreHarness(path, clock) as shelf:
        for number in range(5):
            shelf.commit(make_prompt(f"{number}", f"n{number}"), log=f"{number}.jsonl")
        data = path.read_bytes()
        changes = path.with_name("store.db-wal").read_bytes()
    kept = []
    for size in range(32, len(changes) + 1, 24 + 8192):
        left.parent.mkdir(exist_ok=True)
        left.write_bytes(data)
        left.with_name("store.db-wal").write_bytes(changes[:size])
        left.with_name("store.db-shm").unlink(missing_ok=True)
        with StoreHarness(left, clock) as shelf:
            kept.append((shelf.count("record"), len(shelf.store.load_stamps(AGENT))))

    assert all(records == cursors for records, cursors in kept)
    assert kept == sorted(kept)
    assert kept[-1] == (5, 5)


def test_a_closed_store_refuses_work(tmp_path: Path, clock: FakeClock):
    store = Store(tmp_path / "data" / "store.db", clock)
    store.close()

    with pytest.raises((sqlite3.ProgrammingError, StoreUnusable)):
        store.commit([make_chunk(make_prompt())])


def test_a_reader_sees_what_was_committed_before_it_opened(shelf: StoreHarness):
    shelf.commit(make_prompt("one", "1"))

    with StoreReader(shelf.path) as reader:
        assert reader.count_rows()["records"] == 1
