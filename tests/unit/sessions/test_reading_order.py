"""Entries in reading order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from leslied.sessions.reading_order import pair_results
from tests.support.records import make_call, make_record, make_result
from tests.support.units import make_placed

kinds = st.sampled_from(["call", "result", "message"])
ids = st.sampled_from(["", "a", "b"])


def make_entry(kind: str, call_id: str):
    if kind == "call":
        return make_placed(make_call("Bash", call_id))
    return make_placed(
        make_result("out", call_id) if kind == "result" else make_record("w")
    )


def test_a_result_is_paired_with_its_call():
    call_a, call_b = make_entry("call", "a"), make_entry("call", "b")
    result_a, result_b = make_entry("result", "a"), make_entry("result", "b")

    steps = pair_results([call_a, call_b, result_b, result_a])

    assert steps == [(call_a, result_a), (call_b, result_b)]


def test_a_result_without_a_call_keeps_its_position():
    message, orphan = make_entry("message", ""), make_entry("result", "a")

    assert pair_results([orphan, message]) == [(orphan, None), (message, None)]


@given(st.lists(st.builds(make_entry, kinds, ids), max_size=12))
def test_every_entry_is_returned_once(entries):
    returned = [entry for step in pair_results(entries) for entry in step if entry]

    assert sorted(map(id, returned)) == sorted(map(id, entries))
