"""Replace the entries of a source by those that a newer decoder yields."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from leslied.model.decoded_chunk import DecodedChunk
from leslied.model.record import Record
from leslied.model.source import Cursor, Noise, Rejection
from leslied.store.write.redecode import Coverage
from tests.support.clock import FakeClock
from tests.support.records import (
    LOGS,
    StoreHarness,
    make_chunk,
    make_prompt,
    make_record,
)

EVERYTHING = Coverage(1, 10_000)


@pytest.fixture
def harness(tmp_path: Path, clock: FakeClock) -> Iterator[StoreHarness]:
    with StoreHarness(tmp_path / "data" / "store.db", clock) as harness:
        yield harness


def redecode(
    harness: StoreHarness,
    *chunks: DecodedChunk,
    source: int = 1,
    coverage: Coverage = EVERYTHING,
    state: str | None = None,
) -> int:
    """Replace a source by chunks; return the number of streams that changed."""
    with harness.store.redecode(source, 2) as target:
        for chunk in chunks:
            target.add(chunk)
        target.finish(coverage, state)
    return target.changed_count


def make_new_chunk(*records: Record, **fields) -> DecodedChunk:
    return make_chunk(*records, decoder_version=2, **fields)


def test_entries_outside_the_covered_part_stay(harness: StoreHarness):
    harness.commit(*(make_prompt(text, text) for text in ("a", "b", "c")))

    redecode(harness, make_new_chunk(make_prompt("a", "a")), coverage=Coverage(1, 200))

    assert harness.contents() == ["a", "c"]


def test_entries_of_another_generation_stay(harness: StoreHarness):
    harness.commit(make_prompt("old", "old"))
    harness.commit(make_prompt("a", "a"), make_prompt("b", "b"), generation=2)

    redecode(
        harness,
        make_new_chunk(make_prompt("a", "a"), generation=2),
        coverage=Coverage(2, 1000),
    )

    assert harness.contents() == ["old", "a"]


def test_nothing_is_removed_without_a_covered_part(harness: StoreHarness):
    harness.commit(make_prompt("a", "a"), make_prompt("b", "b"))

    redecode(harness, make_new_chunk(make_prompt("A", "a")), coverage=Coverage())

    assert harness.contents() == ["A", "b"]


def test_entries_of_other_sources_of_the_session_stay_in_their_order(
    harness: StoreHarness,
):
    harness.commit(make_prompt("a", "a"))
    harness.commit(make_prompt("side", "side"), log="b.jsonl")

    redecode(harness, make_new_chunk(make_prompt("a", "a"), make_record("new", "new")))

    assert harness.contents() == ["a", "new", "side"]


def test_an_entry_may_move_to_another_session(harness: StoreHarness):
    harness.commit(make_prompt("a", "a"), make_prompt("b", "b"))
    key = make_prompt().session._replace(session_id="t")

    changed = redecode(
        harness,
        make_new_chunk(make_prompt("a", "a"), make_prompt("b", "b", session=key)),
    )

    assert changed == 2
    assert (harness.contents(), harness.contents("t")) == (["a"], ["b"])


def test_the_order_follows_the_newer_decoder(harness: StoreHarness):
    harness.commit(*(make_record(text, text) for text in ("a", "b", "c")))

    redecode(harness, make_new_chunk(*(make_record(t, t) for t in ("b", "a", "c"))))

    assert harness.contents() == ["b", "a", "c"]
    assert harness.execute("SELECT max(id) FROM placement") == [(3,)]


def test_a_session_without_entries_is_not_listed(harness: StoreHarness):
    harness.commit(make_prompt("a", "a"))

    redecode(harness, make_new_chunk(noise=(Noise(0, 99, "meta"),)))

    with harness.reader() as reader:
        assert reader.list_sessions() == []
    assert harness.search("a") == []


def test_noise_and_rejections_are_replaced(harness: StoreHarness):
    rejection = Rejection(100, 99, "bad", b"", b"")
    harness.commit(
        make_prompt("a", "a"), noise=(Noise(200, 99, "x"),), rejected=(rejection,)
    )

    redecode(
        harness, make_new_chunk(make_prompt("a", "a"), noise=(Noise(100, 9, "y"),))
    )

    assert harness.execute("SELECT kind FROM noise") == [("y",)]
    assert harness.count("rejected") == 0


def test_equal_lines_keep_their_ids_when_decoded_again(harness: StoreHarness):
    lines = [make_record("same"), make_record("same")]
    harness.commit(*lines)
    before = [placed.entry_id for placed in harness.list_records()]

    assert redecode(harness, make_new_chunk(*lines)) == 0
    assert [placed.entry_id for placed in harness.list_records()] == before


def test_the_cursor_stays_and_only_its_state_is_replaced(harness: StoreHarness):
    cursor = Cursor(offset=100, crc=7, state="{}")
    harness.commit(make_prompt("a", "a"), cursor=cursor)

    redecode(harness, make_new_chunk(make_prompt("a", "a")), state='{"cwd":"/x"}')

    saved = harness.store.find_cursor("claude-code", str(LOGS / "a.jsonl").encode())
    assert (saved.offset, saved.crc, saved.state) == (100, 7, '{"cwd":"/x"}')


def test_lone_surrogates_are_replaced(harness: StoreHarness):
    harness.commit(make_prompt("a", "a"))

    redecode(harness, make_new_chunk(make_prompt("a\ud800", "a")))

    assert harness.contents() == ["a\ufffd"]


def test_an_error_changes_nothing(harness: StoreHarness):
    harness.commit(make_prompt("a", "a"))

    with suppress(ZeroDivisionError), harness.store.redecode(1, 2) as target:
        target.add(make_new_chunk(make_prompt("b", "a")))
        raise ZeroDivisionError

    assert harness.contents() == ["a"]
