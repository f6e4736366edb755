"""The store and assembled records agree on the unit that spawned a subagent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from leslied.model.record import Record
from leslied.model.session import Unit
from leslied.sessions.assemble import RecordStream, assemble
from leslied.sessions.subagents import find_parents, get_main_unit
from tests.support.clock import FakeClock
from tests.support.records import (
    StoreHarness,
    make_call,
    make_event,
    make_key,
    make_prompt,
    make_record,
    time_at,
)

UNITS = (
    make_prompt("one", "1", created_at=time_at(10)),
    make_call("Task", "c1", tool_input='{"prompt": "count\\nthem"}'),
    make_prompt("two", "2", created_at=time_at(20)),
    make_call("Task", "c2", tool_input='{"prompt": "other"}'),
    make_record("done", "3", created_at=time_at(25)),
)
OPENED = make_event("opened", "0", created_at=time_at(1))


@pytest.fixture
def harness(tmp_path: Path, clock: FakeClock) -> Iterator[StoreHarness]:
    with StoreHarness(tmp_path / "data" / "store.db", clock) as harness:
        yield harness


def make_child(
    name: str, seconds: float | None = None, text: str = "do it", **link: str
) -> list[Record]:
    """Return a subagent's records: a link to its parent and a prompt."""
    key = make_key(source=f"subagent:{name}")
    created_at = None if seconds is None else time_at(seconds)
    return [
        make_event("subagent_linked", f"{name}-0", session=key, metadata=link),
        make_prompt(text, f"{name}-1", session=key, created_at=created_at),
    ]


def find_stored_units(harness: StoreHarness) -> dict[str, int]:
    """Return the unit of each subagent according to queries, by subagent id."""
    with harness.reader() as reader, harness.store.transcripts() as ledger:
        main = harness.session()
        children = reader.list_subagents(main.key)
        parents = find_parents(main.key, children, ledger.get_spawn_lookup(main))
    return {
        child.subagent_id: get_main_unit(child.key, main.key, parents)
        for child in children
    }


def find_assembled_units(harness: StoreHarness) -> dict[str, int]:
    """Return the unit of each subagent in the assembled session, by subagent id."""
    with harness.reader() as reader:
        main = harness.session()
        streams = [
            RecordStream(summary, reader.list_records(summary.key))
            for summary in [main, *reader.list_subagents(main.key)]
        ]
    units = assemble(streams[0], streams[1:])
    return {
        child.summary.subagent_id: unit.number
        for unit in units
        for child in iter_subagents(unit)
    }


def iter_subagents(unit: Unit) -> Iterator[Unit]:
    for child in unit.subagents:
        yield child
        yield from iter_subagents(child)


@pytest.mark.parametrize(
    ("records", "unit"),
    [
        pytest.param([*UNITS, *make_child("a", 90, tool_call_id="c1")], 1, id="call"),
        pytest.param([*UNITS, *make_child("a", 90, "count\nthem")], 1, id="prompt"),
        pytest.param([*UNITS, *make_child("a", 15)], 1, id="time"),
        pytest.param([*UNITS, *make_child("a", 90)], 2, id="last unit"),
        pytest.param([OPENED, *UNITS, *make_child("a", 5)], 0, id="before any prompt"),
        pytest.param([*UNITS, *make_child("a", 5)], 1, id="before the first entry"),
        pytest.param([*UNITS, *make_child("a")], 1, id="no time"),
        pytest.param([OPENED, *UNITS, *make_child("a")], 0, id="no time and a unit 0"),
    ],
)
def test_store_and_assembly_put_a_subagent_into_the_same_unit(
    harness: StoreHarness, records: list[Record], unit: int
):
    harness.commit(*records)

    assert find_stored_units(harness) == find_assembled_units(harness) == {"a": unit}


def test_a_nested_subagent_has_the_unit_of_the_parent_that_its_log_names(
    harness: StoreHarness,
):
    harness.commit(
        *UNITS,
        *make_child("a", 12, tool_call_id="c1"),
        *make_child("b", 90, parent_agent="a"),
    )

    expected = {"a": 1, "b": 1}
    assert find_stored_units(harness) == find_assembled_units(harness) == expected


def test_subagents_that_name_each_other_are_not_lost(harness: StoreHarness):
    harness.commit(
        *UNITS,
        *make_child("a", 12, parent_agent="b"),
        *make_child("b", 90, parent_agent="a"),
    )

    expected = {"a": 1, "b": 1}
    assert find_stored_units(harness) == find_assembled_units(harness) == expected


def test_a_hidden_copy_of_a_call_does_not_count(harness: StoreHarness):
    copied_call = make_call("Task", "c0", is_copy=True)
    harness.commit(
        make_prompt("old", "x", is_copy=True),
        copied_call,
        *UNITS,
        *make_child("a", 90, tool_call_id="c0"),
    )

    assert find_stored_units(harness) == find_assembled_units(harness) == {"a": 3}
