"""Row ids of sessions and subagents."""

from __future__ import annotations

from pathlib import Path

from leslied.store.streams import find_stream, list_streams
from tests.support.clock import FakeClock
from tests.support.records import StoreHarness, make_key, make_prompt


def test_a_stream_is_found_by_its_key(tmp_path: Path, clock: FakeClock):
    subagent, unknown = make_key("s", "subagent:x"), make_key("unknown")
    with StoreHarness(tmp_path / "store.db", clock) as harness:
        harness.commit(make_prompt("a"), make_prompt("b", session=subagent))
        db = harness.store._db

        ids = [find_stream(db, key) for key in (make_key(), subagent)]
        assert ids == [
            row_id for (row_id,) in harness.execute("SELECT id FROM session")
        ]
        assert find_stream(db, unknown) == 0
        assert list_streams(db, [subagent, unknown, make_key()]) == ids[::-1]


def test_many_streams_are_found_at_once(tmp_path: Path, clock: FakeClock):
    keys = [make_key(f"s{number}") for number in range(600)]
    with StoreHarness(tmp_path / "store.db", clock) as harness:
        harness.commit(make_prompt("a", session=keys[7]), make_prompt("b"))
        db = harness.store._db

        assert list_streams(db, keys) == [find_stream(db, keys[7])]
