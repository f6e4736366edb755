"""Two processes on one session: however their lines interleave, units stay whole."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from leslied.model.record import Record
from leslied.sessions.assemble import RecordStream, assemble
from leslied.store.write.redecode import Coverage
from tests.support.clock import FakeClock
from tests.support.records import (
    StoreHarness,
    make_call,
    make_chunk,
    make_event,
    make_prompt,
    make_record,
    make_result,
)

EXAMPLES = int(os.environ.get("LESLIED_EXAMPLES", "50"))
END = {"stop_reason": "end_turn"}


def make_turn(name: str, calls: int) -> list[Record]:
    """Return a prompt, calls with their results, and an answer; each names the turn."""
    records = [make_prompt(name, f"{name}-prompt")]
    for number in range(calls):
        call_id = f"{name}-{number}"
        parent_id = records[-1].native_id
        call = make_call("Bash", call_id, parent_id=parent_id, tool_input=name)
        result = make_result(name, call_id, parent_id=call.native_id)
        records += [call, result]
    parent_id = records[-1].native_id
    answer = make_record(name, f"{name}-answer", parent_id=parent_id, metadata=END)
    end = make_event(
        "turn_ended", f"{name}-end", parent_id=answer.native_id, content=name
    )
    return [*records, answer, end]


@st.composite
def interleavings(draw: st.DrawFn) -> list[Record]:
    """Return the lines of a turn that has ended, and of two turns in a random order."""
    turns = [make_turn(name, draw(st.integers(0, 3))) for name in "ab"]
    names = draw(st.permutations([*"a" * len(turns[0]), *"b" * len(turns[1])]))
    queues = {"a": iter(turns[0]), "b": iter(turns[1])}
    return [*make_turn("first", 1), *(next(queues[name]) for name in names)]


def describe_units(harness: StoreHarness) -> dict[str, list[str]]:
    """Return the ids of the entries of each unit, by its prompt."""
    stream = RecordStream(harness.session(), harness.list_records())
    units = assemble(stream, [])
    assert all(unit.stop_reason == "end_turn" for unit in units)
    marks = ("is_orphan", "is_unanswered")
    assert not any(p.record.metadata.get(m) for p in stream.entries for m in marks)
    return {u.prompt: [p.record.native_id for p in u.entries] for u in units}


def commit_in_parts(
    harness: StoreHarness, records: Sequence[Record], part: int
) -> None:
    for start in range(0, len(records), part):
        chunk = make_chunk(*records[start : start + part])
        harness.store.commit([chunk])


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(records=interleavings(), part=st.integers(1, 20))
def test_each_turn_is_one_unit_however_two_turns_interleave(
    records: list[Record], part: int
):
    with (
        tempfile.TemporaryDirectory() as folder,
        StoreHarness(Path(folder) / "data" / "store.db", FakeClock()) as harness,
    ):
        commit_in_parts(harness, records, part)
        units = describe_units(harness)
        numbers = [placed.sequence for placed in harness.list_records()]
        changed = [replace(record, model="new") for record in records]
        with harness.store.redecode(1, 2) as target:
            target.add(make_chunk(*changed, decoder_version=2))
            target.finish(Coverage(1, 10_000))
        units_decoded_again = describe_units(harness)

    for name in ("first", "a", "b"):
        expected = [r.native_id for r in records if name in (r.content, r.tool_input)]
        assert units[name] == expected
    assert numbers == list(range(1, len(records) + 1))
    assert units_decoded_again == units
