"""Entries in the order they are best read."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from leslied.sessions.reading_order import pair_results
from tests.support.records import make_call, make_record, make_result
from tests.support.units import make_placed

kinds = st.sampled_from(["call", "result", "word"])
ids = st.sampled_from(["", "a", "b"])


def make(kind: str, call_id: str):
    if kind == "call":
        return make_placed(make_call("Bash", call_id))
    return make_placed(
        make_result("out", call_id) if kind == "result" else make_record("w")
    )


def test_a_result_stands_with_its_call():
    one, two = make("call", "a"), make("call", "b")
    later, sooner = make("result", "a"), make("result", "b")

    assert pair_results([one, two, sooner, later]) == [(one, later), (two, sooner)]


def test_a_result_without_a_call_stands_where_it_is():
    word, lost = make("word", ""), make("result", "a")

    assert pair_results([lost, word]) == [(lost, None), (word, None)]


@given(st.lists(st.builds(make, kinds, ids), max_size=12))
def test_every_entry_is_told_once(entries):
    told = [each for step in pair_results(entries) for each in step if each]

    assert sorted(map(id, told)) == sorted(map(id, entries))
