"""Chunks are stored completely, each with its cursor, or not at all."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from leslied.errors import StoreUnusable
from leslied.model.record import MAIN
from leslied.model.source import Cursor, FileStamp, Noise, Rejection
from leslied.store import Store, StoreReader
from tests.support.clock import FakeClock
from tests.support.records import (
    AGENT,
    LOGS,
    StoreHarness,
    make_chunk,
    make_key,
    make_prompt,
    make_record,
)
from tests.support.sqlite_steps import count_steps

TABLES = ("record", "placement", "source", "session", "usage", "noise", "rejected")
LOG = os.fsencode(LOGS / "a.jsonl")


@pytest.fixture
def harness(tmp_path: Path, clock: FakeClock) -> Iterator[StoreHarness]:
    with StoreHarness(tmp_path / "data" / "store.db", clock) as harness:
        yield harness


def count_rows(harness: StoreHarness) -> list[int]:
    """Return the number of rows of each of TABLES."""
    return [harness.count(table) for table in TABLES]


def make_full_chunk():
    """Return a chunk that writes to every table."""
    return make_chunk(
        make_prompt("one", "1"),
        make_record("needle", "2", message_id="m", usage=None),
        make_record("no id"),
        noise=(Noise(300, 10, "last-prompt"),),
        rejected=(Rejection(400, 10, "not JSON", b"digest", b"head"),),
    )


# All or nothing


def test_a_commit_reports_what_it_added(harness: StoreHarness):
    report = harness.commit(make_prompt("one", "1"), make_record("two", "2"))

    assert (report.records, report.placements) == (2, 2)


@pytest.mark.fault("E1")
def test_records_and_their_cursor_are_stored_together(harness: StoreHarness):
    harness.store.commit([make_full_chunk()])

    assert harness.store.find_cursor(AGENT, LOG).offset == 300
    assert harness.contents() == ["one", "needle", "no id"]


@pytest.mark.fault("D1", "E1")
def test_a_commit_interrupted_anywhere_writes_nothing(harness: StoreHarness):
    """Interrupt the commit at every third instruction of SQLite's virtual machine."""
    db = harness.store._db
    states_after_interrupts = set()
    interrupts = 0
    for last_step in range(0, 100_000, 3):
        steps = count()
        db.set_progress_handler(lambda: next(steps) == last_step, 1)  # noqa: B023
        try:
            harness.store.commit([make_full_chunk()])
            break
        except StoreUnusable:
            interrupts += 1
        finally:
            db.set_progress_handler(None, 0)
        states_after_interrupts.add((*count_rows(harness), db.in_transaction))

    assert states_after_interrupts == {(0,) * len(TABLES) + (False,)}
    assert interrupts > 50
    assert len(harness.search("needle")) == 1
    assert harness.contents() == ["one", "needle", "no id"]


@pytest.mark.fault("E1")
@pytest.mark.parametrize(
    "table", ["record", "placement", "noise", "rejected", "occurrence", "session"]
)
def test_a_commit_that_fails_in_any_table_writes_nothing(
    harness: StoreHarness, table: str
):
    before = count_rows(harness)
    harness.execute(
        f"CREATE TEMP TRIGGER fail BEFORE INSERT ON main.{table} "
        "BEGIN SELECT RAISE(ABORT, 'disk full'); END"
    )

    with pytest.raises(StoreUnusable, match=r"cannot be written: constraint failed\."):
        harness.store.commit([make_full_chunk()])

    assert count_rows(harness) == before


@pytest.mark.fault("D1")
def test_a_failed_commit_can_be_repeated(harness: StoreHarness):
    harness.execute(
        "CREATE TEMP TRIGGER fail BEFORE INSERT ON main.placement "
        "BEGIN SELECT RAISE(ABORT, 'disk full'); END"
    )
    with pytest.raises(StoreUnusable):
        harness.store.commit([make_full_chunk()])
    harness.execute("DROP TRIGGER fail")

    harness.store.commit([make_full_chunk()])

    assert harness.contents() == ["one", "needle", "no id"]
    assert len(harness.search("needle")) == 1


@pytest.mark.fault("E1")
def test_one_failing_chunk_rolls_back_the_others(harness: StoreHarness):
    good = make_chunk(make_prompt("one", "1"), log="good.jsonl")
    harness.execute(
        "CREATE TEMP TRIGGER fail BEFORE INSERT ON main.record "
        "WHEN NEW.content = 'bad' BEGIN SELECT RAISE(ABORT, 'no'); END"
    )

    with pytest.raises(StoreUnusable):
        harness.store.commit([good, make_chunk(make_prompt("bad"), log="bad.jsonl")])

    assert harness.store.load_stamps(AGENT) == {}


@pytest.mark.fault("D1")
def test_a_full_disk_raises_an_error_and_loses_nothing(harness: StoreHarness):
    (pages,) = harness.execute("PRAGMA page_count")[0]
    harness.execute(f"PRAGMA max_page_count = {pages + 2}")
    large = make_chunk(*[make_prompt("x" * 9000, f"n{n}") for n in range(50)])
    with pytest.raises(StoreUnusable, match="full") as raised:
        harness.store.commit([large])
    harness.execute("PRAGMA max_page_count = 1000000")

    harness.store.commit([large])

    assert "Nothing was lost" in raised.value.hint
    assert harness.count("record") == 50


@pytest.mark.fault("E1", "F8")
def test_an_interrupt_writes_nothing(
    harness: StoreHarness, monkeypatch: pytest.MonkeyPatch
):
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("leslied.store.write.transaction.Transaction.finish", interrupt)
    with pytest.raises(KeyboardInterrupt):
        harness.store.commit([make_full_chunk()])

    assert harness.store.load_stamps(AGENT) == {}
    assert not harness.store._db.in_transaction


@pytest.mark.fault("E1")
def test_the_next_writer_continues_at_the_stored_cursor(
    tmp_path: Path, clock: FakeClock
):
    path = tmp_path / "data" / "store.db"
    with StoreHarness(path, clock) as harness:
        harness.store.commit([make_full_chunk()])
        cursor = harness.store.find_cursor(AGENT, LOG)

    with StoreHarness(path, clock) as harness:
        report = harness.store.commit([make_full_chunk()])
        assert harness.store.find_cursor(AGENT, LOG) == cursor
    assert (report.records, report.placements) == (1, 1)


def test_an_empty_commit_adds_nothing(harness: StoreHarness):
    report = harness.store.commit([])

    assert report.records == 0
    assert count_rows(harness) == [0] * len(TABLES)


# Invalid text


SURROGATES = {
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


@pytest.mark.fault("A5")
@pytest.mark.parametrize("fields", SURROGATES.values(), ids=SURROGATES)
def test_a_lone_surrogate_never_reaches_sqlite(harness: StoreHarness, fields):
    record = make_record(**{"native_id": "1", **fields})

    report = harness.commit(record, make_record("after", "2"))

    assert report.records == 2


@pytest.mark.fault("A5", "B17")
@pytest.mark.parametrize("place", ["session", "source", "noise", "rejected", "state"])
def test_a_lone_surrogate_outside_a_record_never_reaches_sqlite(
    harness: StoreHarness, place: str
):
    text = "x\udcff"
    fields = {
        "noise": {"noise": (Noise(0, 1, text),)},
        "rejected": {"rejected": (Rejection(0, 1, text, b"", b""),)},
        "state": {"cursor": Cursor(state=f'"{text}"')},
    }.get(place, {})
    key = make_key(
        session_id=text if place == "session" else "s",
        source=f"subagent:{text}" if place == "source" else MAIN,
    )

    report = harness.commit(make_record("one", "1", session=key), **fields)

    assert report.records == 1


# Sources


def test_a_cursor_is_returned_unchanged(harness: StoreHarness):
    cursor = Cursor(
        generation=3,
        offset=2**40,
        crc=2**32 - 1,
        anchor=b"\x00\x10" + bytes(14),
        scanned=7,
        finished_size=9,
        stamp=FileStamp(2**31, 2**62, 2**40, 2**61, -5),
        state='{"cwd":"/é"}',
    )
    harness.commit(cursor=cursor)

    assert harness.store.find_cursor(AGENT, LOG) == cursor


@pytest.mark.fault("B6")
@pytest.mark.parametrize("number", [2**63, 2**64 - 1])
def test_an_inode_beyond_sqlite_integers_is_returned_unchanged(
    harness: StoreHarness, number: int
):
    """Network and FUSE file systems use such numbers."""
    cursor = Cursor(stamp=FileStamp(number, number, 1, 1, 1))

    harness.commit(cursor=cursor)

    assert harness.store.find_cursor(AGENT, LOG) == cursor


def test_cursors_of_another_agent_are_not_returned(harness: StoreHarness):
    harness.commit(make_prompt())

    assert harness.store.load_stamps("codex") == {}
    assert harness.store.find_cursor("codex", LOG) is None


@pytest.mark.fault("B14")
def test_a_source_error_is_listed_until_the_source_is_read(harness: StoreHarness):
    harness.store.record_source_error(AGENT, LOGS / "a.jsonl", "cannot be opened")
    with harness.reader() as reader:
        errors = reader.list_source_problems()

    harness.commit(make_prompt())

    assert errors == [(str(LOGS / "a.jsonl"), "cannot be opened")]
    with harness.reader() as reader:
        assert reader.list_source_problems() == []


@pytest.mark.fault("B14")
def test_a_source_error_does_not_change_the_cursor(harness: StoreHarness):
    harness.commit(make_prompt("one", "1"))
    before = harness.store.find_cursor(AGENT, LOG)

    harness.store.record_source_error(AGENT, LOGS / "a.jsonl", "cannot be opened")

    assert harness.store.find_cursor(AGENT, LOG) == before


@pytest.mark.fault("B8", "G11")
def test_records_of_a_missing_source_remain(harness: StoreHarness):
    harness.commit(make_prompt("one", "1"))

    harness.store.mark_gone(AGENT, [LOG])

    with harness.reader() as reader:
        (agent,) = reader.summarize_agents()
    assert (agent["gone"], agent["sources"]) == (1, 0)
    assert harness.contents() == ["one"]


@pytest.mark.fault("B9")
def test_a_source_that_is_read_again_is_not_missing(harness: StoreHarness):
    harness.commit(make_prompt("one", "1"))
    harness.store.mark_gone(AGENT, [LOG])

    harness.commit(make_prompt("one", "1"), generation=2)

    with harness.reader() as reader:
        assert reader.summarize_agents()[0]["gone"] == 0


@pytest.mark.fault("B10")
def test_a_moved_source_continues_at_its_cursor(harness: StoreHarness):
    harness.commit(make_prompt("one", "1"))
    cursor = harness.store.find_cursor(AGENT, LOG)

    harness.store.move_source(AGENT, LOG, b"/logs/new.jsonl")

    assert harness.store.find_cursor(AGENT, b"/logs/new.jsonl") == cursor
    assert harness.list_records()[0].path == "/logs/new.jsonl"


@pytest.mark.fault("B10")
def test_moving_a_source_to_the_path_of_another_is_not_an_error(harness: StoreHarness):
    harness.commit(make_prompt("one", "1"))
    harness.commit(make_prompt("two", "2"), log="b.jsonl")

    harness.store.move_source(AGENT, LOG, b"/logs/b.jsonl")

    assert harness.contents() == ["one", "two"]


# Sessions


def test_all_sessions_can_be_marked_stopped(harness: StoreHarness):
    harness.commit(make_prompt("one", "1"))
    harness.commit(make_prompt("two", "2", session=make_key("t")), log="b.jsonl")

    assert harness.store.mark_all_stopped() == 2
    assert harness.store.mark_all_stopped() == 0
    assert harness.session("s").is_stopped
    assert harness.session("t").is_stopped


def test_a_settled_session_that_stops_is_settled_again(harness: StoreHarness):
    """Its thread is indexed then, with the new status."""
    harness.commit(make_prompt("one", "1"))
    with harness.store.transcripts() as ledger:
        ledger.mark_settled("claude-code", "s")
        due_before = ledger.list_due(0, 10)

    harness.store.mark_stopped("claude-code", ["s"])

    with harness.store.transcripts() as ledger:
        assert (due_before, ledger.list_due(0, 10)) == ([], [("claude-code", "s")])


@pytest.mark.fault("G9")
def test_a_new_record_resumes_a_stopped_session(harness: StoreHarness):
    harness.commit(make_prompt("one", "1"))
    harness.store.mark_all_stopped()

    harness.commit(make_prompt("two", "2"))

    assert not harness.session().is_stopped


@pytest.mark.fault("G9")
def test_a_repeated_record_does_not_resume_a_stopped_session(harness: StoreHarness):
    harness.commit(make_prompt("one", "1"))
    harness.store.mark_all_stopped()

    harness.commit(make_prompt("one", "1"), generation=2)

    assert harness.session().is_stopped


# Bulk load


@pytest.fixture
def durable_harness(tmp_path: Path, clock: FakeClock) -> Iterator[StoreHarness]:
    """Yield a store that waits for the disk, as in production."""
    path = tmp_path / "durable" / "store.db"
    with StoreHarness(path, clock, without_fsync=False) as harness:
        yield harness


def get_sync_level(harness: StoreHarness) -> int:
    """Return SQLite's `synchronous` setting: 1 is NORMAL, 2 is FULL."""
    return int(harness.execute("PRAGMA synchronous")[0][0])


def get_automerge_setting(harness: StoreHarness) -> int:
    """Return the full-text index's `automerge` setting; SQLite's default is 4."""
    query = "SELECT v FROM record_text_config WHERE k = 'automerge'"
    return int((harness.execute(query) or [(4,)])[0][0])


@pytest.mark.fault("E2")
def test_a_bulk_load_restores_the_settings_for_durability(
    durable_harness: StoreHarness,
):
    with durable_harness.store.bulk_load():
        durable_harness.commit(make_prompt("one", "1"))
        level_while_loading = get_sync_level(durable_harness)

    assert level_while_loading == 1
    assert get_sync_level(durable_harness) == 2
    assert get_automerge_setting(durable_harness) == 4


@pytest.mark.fault("E2")
def test_a_disabled_bulk_load_does_not_change_settings(durable_harness: StoreHarness):
    with durable_harness.store.bulk_load(is_enabled=False):
        assert get_sync_level(durable_harness) == 2


def test_only_an_agent_that_was_never_read_is_new(durable_harness: StoreHarness):
    was_new = durable_harness.store.is_new_agent(AGENT)

    durable_harness.commit(make_prompt("one", "1"))

    assert was_new
    assert not durable_harness.store.is_new_agent(AGENT)
    assert durable_harness.store.is_new_agent("codex")


@pytest.mark.fault("E2")
def test_a_failed_bulk_load_restores_the_durable_settings(
    durable_harness: StoreHarness,
):
    with pytest.raises(KeyError), durable_harness.store.bulk_load():
        raise KeyError

    assert (
        get_sync_level(durable_harness),
        get_automerge_setting(durable_harness),
    ) == (2, 4)


@pytest.mark.fault("E1")
def test_a_killed_bulk_load_leaves_durable_settings(tmp_path: Path, clock: FakeClock):
    """A copy of the files during the load is what remains after a kill."""
    path, copy = tmp_path / "data" / "store.db", tmp_path / "copy" / "store.db"
    copy.parent.mkdir()
    with StoreHarness(path, clock) as harness, harness.store.bulk_load():
        harness.commit(make_prompt("one", "1"))
        for suffix in ("", "-wal"):
            data = path.with_name(path.name + suffix).read_bytes()
            copy.with_name(copy.name + suffix).write_bytes(data)

    with StoreHarness(copy, clock, without_fsync=False) as harness:
        assert harness.contents() == ["one"]
        assert (get_sync_level(harness), get_automerge_setting(harness)) == (2, 4)


@pytest.mark.fault("E1", "E2")
def test_a_killed_store_opens_with_all_committed_records(
    tmp_path: Path, clock: FakeClock
):
    """Truncate the write-ahead log at every frame, as a kill could."""
    path = tmp_path / "data" / "store.db"
    copy = tmp_path / "copy" / "store.db"
    with StoreHarness(path, clock) as harness:
        for number in range(5):
            harness.commit(
                make_prompt(f"{number}", f"n{number}"), log=f"{number}.jsonl"
            )
        data = path.read_bytes()
        wal = path.with_name("store.db-wal").read_bytes()
    counts = []
    wal_header_size, frame_size = 32, 24 + 8192
    for size in range(wal_header_size, len(wal) + 1, frame_size):
        copy.parent.mkdir(exist_ok=True)
        copy.write_bytes(data)
        copy.with_name("store.db-wal").write_bytes(wal[:size])
        copy.with_name("store.db-shm").unlink(missing_ok=True)
        with StoreHarness(copy, clock) as harness:
            cursor_count = len(harness.store.load_stamps(AGENT))
            counts.append((harness.count("record"), cursor_count))

    assert all(records == cursors for records, cursors in counts)
    assert counts == sorted(counts)
    assert counts[-1] == (5, 5)


def test_committing_to_a_closed_store_raises_an_error(tmp_path: Path, clock: FakeClock):
    store = Store(tmp_path / "data" / "store.db", clock)
    store.close()

    with pytest.raises((sqlite3.ProgrammingError, StoreUnusable)):
        store.commit([make_chunk(make_prompt())])


def test_a_reader_sees_what_was_committed_before_it_opened(harness: StoreHarness):
    harness.commit(make_prompt("one", "1"))

    with StoreReader(harness.path) as reader:
        assert reader.count_rows()["records"] == 1


# Live sessions


def test_marking_a_session_as_live_costs_the_same_among_many(harness: StoreHarness):
    def mark() -> None:
        harness.store.mark_live([(AGENT, "s0")])

    for number in range(3):
        harness.commit(make_prompt("one", f"{number}", session=make_key(f"s{number}")))
    mark()
    few = count_steps(harness.store._db, mark)
    for number in range(3, 60):
        harness.commit(make_prompt("one", f"{number}", session=make_key(f"s{number}")))

    assert count_steps(harness.store._db, mark) == few
