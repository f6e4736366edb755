"""However entries are divided into commits, units and rewinds are the same."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from dataclasses import replace as replace_fields
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from leslied.model.decoded_chunk import DecodedChunk, DecodedEntry
from leslied.model.record import Record
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
    time_at,
)

EXAMPLES = int(os.environ.get("LESLIED_EXAMPLES", "50"))
OWN_KINDS = ("answer", "end", "call", "result", "output")
USER_KINDS = ("prompt", "command", "queued")
REWIND_KINDS = ("to", "turns", "linked")


@st.composite
def logs(draw: st.DrawFn) -> list[DecodedEntry]:
    """Return entries of one or two records; each follows any of the last entries."""
    ids: list[str] = [""]
    records: list[tuple[Record, ...]] = []
    for number in range(draw(st.integers(1, 14))):
        kind = draw(st.sampled_from([*USER_KINDS, *OWN_KINDS, *REWIND_KINDS]))
        parent_id = draw(st.sampled_from([ids[-1], *ids[-5:]]))
        fields = {"parent_id": parent_id, "created_at": time_at(number)}
        target = draw(st.sampled_from(ids))
        record = replace(make_line(kind, target, fields), native_id=f"e{number}")
        records.append(add_records(record, draw(st.integers(0, 6))))
        ids.append(record.native_id)
    return [
        DecodedEntry(number * 100, 99, each, b"", is_complete=True)
        for number, each in enumerate(records)
    ]


def make_line(kind: str, target: str, fields: dict[str, Any]) -> Record:
    """Return a record of this kind, which may refer to the entry `target`."""
    match kind:
        case "prompt" | "command" | "queued":
            return make_prompt(kind, metadata={"origin": kind}, **fields)
        case "end":
            return make_record(metadata={"stop_reason": "end_turn"}, **fields)
        case "call":
            return make_call("Bash", fields["parent_id"], **fields)
        case "result":
            return make_result("out", target, **fields)
        case "output":
            metadata = {"is_command_output": True}
            return make_event("notice", metadata=metadata, **fields)
        case "to":
            return make_event("rewound", metadata={"to": target}, **fields)
        case "turns":
            metadata = {"turns": 1 + len(target) % 3}
            return make_event("rewound", metadata=metadata, **fields)
        case "linked":
            return make_event("rewound", **fields)
    return make_record(**fields)


def add_records(record: Record, choice: int) -> tuple[Record, ...]:
    """Return the records of an entry, as the adapters number them."""
    fields = {"native_id": record.native_id, "parent_id": record.parent_id}
    match choice:
        case 0:
            return (record, make_event("notice", block=1, **fields))
        case 1:
            return (make_event("context", block=900, **fields), record)
        case 2:
            return (replace(record, block=3),)
    return (record,)


def make_part(entries: Iterable[DecodedEntry], version: int = 1) -> DecodedChunk:
    return replace_fields(make_chunk(decoder_version=version), entries=tuple(entries))


def describe(harness: StoreHarness) -> list[Any]:
    """Return the totals of the session, and the unit of each placement."""
    names = "forks, units, first_prompt, has_turn_ended, waiting_command, ended_us"
    return [
        *harness.execute(f"SELECT {names} FROM session"),
        *harness.execute("SELECT id, unit FROM placement ORDER BY id"),
    ]


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(entries=logs(), sizes=st.lists(st.integers(1, 6), min_size=1, max_size=14))
def test_commits_of_any_size_and_decoding_again_give_the_same_units(
    entries: list[DecodedEntry], sizes: list[int]
):
    ends = [0, *accumulate(sizes), len(entries)]
    parts = [entries[start:end] for start, end in pairwise(ends)]
    with tempfile.TemporaryDirectory() as folder:
        with StoreHarness(Path(folder) / "a" / "store.db", FakeClock()) as harness:
            harness.store.commit([make_part(entries)])
            expected = describe(harness)
        with StoreHarness(Path(folder) / "b" / "store.db", FakeClock()) as harness:
            for part in filter(None, parts):
                harness.store.commit([make_part(part)])
            divided = describe(harness)
            harness.execute("UPDATE session SET forks = 'unknown'")
            with harness.store.redecode(1, 2) as target:
                target.add(make_part(entries, version=2))
                target.finish(Coverage(1, 10_000))
            decoded_again = describe(harness)

    assert divided == expected
    assert decoded_again == expected
