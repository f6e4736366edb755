"""Totals, units and due work of a stream whose entries were decoded again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from leslied.model.output import Transcript
from leslied.model.record import Record, Usage
from leslied.store.write.redecode import Coverage
from tests.support.clock import FakeClock
from tests.support.records import (
    StoreHarness,
    make_call,
    make_chunk,
    make_event,
    make_key,
    make_prompt,
    make_record,
)

COMMAND = {"origin": "command"}


@pytest.fixture
def harness(tmp_path: Path, clock: FakeClock) -> Iterator[StoreHarness]:
    with StoreHarness(tmp_path / "data" / "store.db", clock) as harness:
        yield harness


def redecode(harness: StoreHarness, *records: Record, source: int = 1) -> None:
    with harness.store.redecode(source, 2) as target:
        target.add(make_chunk(*records, decoder_version=2))
        target.finish(Coverage(1, 10_000))


def save_transcript(harness: StoreHarness, unit: int) -> None:
    """Save a transcript that includes everything in its unit."""
    newest = max(p.read_order for p in harness.list_records() if p.unit == unit)
    with harness.store.transcripts() as ledger:
        ledger.save(
            Transcript(
                session=make_key(),
                unit=unit,
                chat_id=f"chat-1-{unit}",
                folder=b"/app",
                file=f"1-{unit}.txt",
                utc_offset=0,
                started_us=0,
                newest=newest,
                digest=b"x",
            )
        )


def list_files(harness: StoreHarness) -> dict[int, str]:
    return dict(harness.execute("SELECT unit, file FROM transcript ORDER BY unit"))


def list_due_units(harness: StoreHarness) -> list[int]:
    with harness.store.transcripts() as ledger:
        return ledger.list_due_units(make_key(), 0)


def test_totals_are_computed_from_the_new_records(harness: StoreHarness):
    harness.commit(make_prompt("a", "1"), make_record("b", "2"), make_call("Bash", "c"))

    redecode(
        harness,
        make_prompt("A", "1"),
        make_prompt("B", "2"),
        make_event("title", "3", content="T", metadata={"title_kind": "custom"}),
    )

    session = harness.session()
    assert (session.units, session.tool_calls) == (2, 0)
    assert session.title == "T"
    assert harness.execute("SELECT entries FROM session") == [(3,)]


def test_a_command_starts_a_unit_once_the_agent_replies(harness: StoreHarness):
    harness.commit(
        make_prompt("a", "1"), make_record("note", "2"), make_record("b", "3")
    )

    redecode(
        harness,
        make_prompt("a", "1"),
        make_prompt("/note", "2", metadata=COMMAND),
        make_record("b", "3"),
    )

    units = [(placed.unit, placed.record.content) for placed in harness.list_records()]
    assert units == [(1, "a"), (2, "/note"), (2, "b")]


def test_a_session_that_was_marked_as_stopped_stays_stopped(harness: StoreHarness):
    harness.commit(make_prompt("a", "1"))
    harness.store.mark_all_stopped()
    before = harness.execute("SELECT stopped_us, seen_us, thread_id FROM session")

    redecode(harness, make_prompt("b", "1"))

    after = harness.execute("SELECT stopped_us, seen_us, thread_id FROM session")
    assert after == before


def test_only_units_with_a_change_are_due(harness: StoreHarness):
    harness.commit(*(make_prompt(text, text) for text in "abc"))
    for unit in (1, 2, 3):
        save_transcript(harness, unit)

    redecode(
        harness, make_prompt("a", "a"), make_prompt("B", "b"), make_prompt("c", "c")
    )

    assert list_due_units(harness) == [2]


def test_units_that_move_keep_their_transcript(harness: StoreHarness):
    harness.commit(*(make_prompt(text, text) for text in "abc"))
    for unit in (1, 2, 3):
        save_transcript(harness, unit)

    redecode(harness, make_prompt("a", "a"), make_prompt("c", "c"))

    assert list_files(harness) == {-1: "1-2.txt", 1: "1-1.txt", 2: "1-3.txt"}
    assert list_due_units(harness) == []


def test_a_unit_that_was_due_before_is_still_due(harness: StoreHarness):
    harness.commit(make_prompt("a", "a"), make_prompt("b", "b"))
    save_transcript(harness, 1)
    harness.commit(make_record("late", "z"), log="b.jsonl")
    save_transcript(harness, 2)
    harness.commit(make_record("later", "y"), log="b.jsonl")

    redecode(harness, make_prompt("A", "a"), make_prompt("b", "b"))

    assert list_due_units(harness) == [1, 2]


def test_exports_and_file_changes_of_a_changed_session_are_due(harness: StoreHarness):
    harness.commit(make_prompt("a", "1"))
    harness.execute("INSERT INTO published VALUES (1, 0, 'html')")
    harness.execute("INSERT INTO touched VALUES (1, 1)")
    harness.execute("INSERT INTO collected (session, is_due) VALUES (1, 0)")

    redecode(harness, make_prompt("b", "1"))

    assert (harness.count("published"), harness.count("touched")) == (0, 0)
    assert harness.execute("SELECT is_due FROM collected") == [(1,)]
    assert harness.execute("SELECT is_dirty FROM session") == [(1,)]


def test_a_subagent_with_another_parent_makes_all_units_due(harness: StoreHarness):
    child = make_key(source="subagent:x")
    link = {"tool_call_id": "c1"}
    harness.commit(make_prompt("a", "a"), make_prompt("b", "b"))
    harness.commit(
        make_event("subagent_linked", "l", session=child, metadata=link), log="x.jsonl"
    )
    save_transcript(harness, 1)
    save_transcript(harness, 2)

    link = {"tool_call_id": "c2"}
    redecode(
        harness,
        make_event("subagent_linked", "l", session=child, metadata=link),
        source=2,
    )

    assert list_due_units(harness) == [1, 2]


def test_a_copy_that_becomes_an_original_is_shown(harness: StoreHarness):
    harness.commit(make_prompt("a", "a"), make_prompt("b", "b", is_copy=True))

    redecode(harness, make_prompt("a", "a"), make_prompt("b", "b"))

    assert harness.contents() == ["a", "b"]


def test_usage_of_removed_messages_is_not_counted(harness: StoreHarness):
    harness.commit(
        make_record("a", "1", message_id="m1", usage=Usage(1)),
        make_record("b", "2", message_id="m2", usage=Usage(10)),
    )

    redecode(harness, make_record("a", "1", message_id="m1", usage=Usage(2)))

    assert harness.execute("SELECT message_id, input_tokens FROM usage") == [("m1", 2)]
