"""Chat ids of units in the store: the same as those of assembled units."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from leslied.model.record import SessionKey
from leslied.sessions.assemble import RecordStream, assemble
from tests.support.clock import FakeClock
from tests.support.records import (
    StoreHarness,
    make_event,
    make_key,
    make_prompt,
    make_record,
)

SUBAGENT = make_key("s", "subagent:x")


@pytest.fixture
def harness(tmp_path: Path, clock: FakeClock) -> Iterator[StoreHarness]:
    with StoreHarness(tmp_path / "data" / "store.db", clock) as harness:
        yield harness


def list_assembled_ids(harness: StoreHarness, key: SessionKey) -> dict[int, str]:
    """Return the chat ids of a stream's assembled units, by number."""
    with harness.reader() as reader:
        summary = reader.find_session(key)
        assert summary
        units = assemble(RecordStream(summary, reader.list_records(summary.key)), ())
    return {unit.number: unit.chat_id for unit in units}


@pytest.mark.parametrize("key", [make_key(), SUBAGENT])
def test_a_unit_has_the_chat_id_of_the_assembled_unit(
    harness: StoreHarness, key: SessionKey
):
    harness.commit(
        make_event("opened", "1", session=key),
        make_prompt("early", "2", session=key, metadata={"origin": "queued"}),
        make_prompt("go", "3", session=key),
        make_record("done", "4", session=key),
        make_prompt("more", "5", session=key),
    )
    assembled_ids = list_assembled_ids(harness, key)

    with harness.reader() as reader:
        summary = reader.find_session(key)
        assert summary
        chat_ids = {
            unit: reader.find_chat_id(summary.key, unit) for unit in assembled_ids
        }
    assert chat_ids == assembled_ids


def test_a_chat_id_is_derived_from_the_first_visible_entry(
    harness: StoreHarness,
):
    harness.commit(
        make_prompt("copied", "1", is_copy=True),
        make_prompt("queued", "2", metadata={"origin": "queued"}),
        make_record("done", "3"),
    )
    (chat_id,) = list_assembled_ids(harness, make_key()).values()

    with harness.reader() as reader:
        assert [u.chat_id for u in reader.find_units_by_prefix(chat_id)] == [chat_id]


def test_a_unit_without_a_visible_entry_has_no_chat_id(harness: StoreHarness):
    harness.commit(
        make_prompt("copied", "1", is_copy=True), make_prompt("original", "2")
    )

    with harness.reader() as reader:
        assert reader.find_chat_id(make_key(), 1) == ""
        assert [u.unit for u in reader.find_units_by_prefix("chat-")] == [2]


def test_units_before_the_first_prompt_are_found_separately(harness: StoreHarness):
    harness.commit(make_event("opened", "1"), make_prompt("go", "2"))
    chat_ids = list_assembled_ids(harness, make_key())

    with harness.reader() as reader:
        assert reader.find_units_by_prefix(chat_ids[0]) == []
        assert [u.unit for u in reader.find_unit_zero_by_prefix(chat_ids[0])] == [0]
