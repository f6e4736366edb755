"""Calls joined with their results."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from leslied.sessions.calls import (
    CallResults,
    link_results,
    number_parallel_calls,
    pair_results,
)
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


def test_calls_and_results_with_the_same_id_are_joined_in_order():
    calls = [make_entry("call", "a") for _ in range(2)]
    results = [make_entry("result", "a") for _ in range(2)]

    joined = CallResults([*calls, *results])

    assert [joined.find_result(call) for call in calls] == results


def test_a_repeated_result_is_not_joined():
    call, first, second = (
        make_entry(kind, "a") for kind in ("call", "result", "result")
    )

    joined = CallResults([call, first, second])

    assert joined.find_result(call) is first
    assert [joined.is_joined(result) for result in (first, second)] == [True, False]


def test_a_result_that_a_resume_added_counts_only_without_another():
    call, result = make_entry("call", "a"), make_entry("result", "a")
    metadata = {"is_between_turns": True}
    added = make_placed(make_result("interrupted", "a", metadata=metadata))

    assert CallResults([call, added]).find_result(call) is added
    assert CallResults([call, added, result]).find_result(call) is result


def test_calls_without_an_id_are_not_joined():
    call, result = make_entry("call", ""), make_entry("result", "")

    joined = CallResults([call, result])

    assert joined.find_result(call) is None
    assert joined.find_call("") is None


def test_linked_results_have_the_name_of_their_tool():
    entries = [make_entry(kind, "a") for kind in ("call", "result", "result")]

    linked = link_results(entries)

    assert [placed.record.tool_name for placed in linked] == ["Bash"] * 3
    assert [dict(placed.record.metadata) for placed in linked] == [{}, {}, {}]


def test_a_call_without_a_result_and_a_result_without_a_call_are_marked():
    call, orphan = link_results([make_entry("call", "a"), make_entry("result", "b")])

    assert call.record.metadata == {"is_unanswered": True}
    assert orphan.record.metadata == {"is_orphan": True}


def test_parallel_calls_are_numbered_in_their_order():
    names = ["call a", "call b", "result b", "result a"]

    numbers = number_parallel_calls([make_entry(*name.split()) for name in names])

    assert numbers == {0: 1, 1: 2, 2: 2, 3: 1}


def test_a_call_that_begins_before_the_last_of_a_group_ends_joins_the_group():
    names = ["call a", "call b", "result b", "call c", "result a", "result c"]

    numbers = number_parallel_calls([make_entry(*name.split()) for name in names])

    assert numbers == {0: 1, 1: 2, 2: 2, 3: 3, 4: 1, 5: 3}


def test_calls_one_after_the_other_are_not_numbered():
    names = ["call a", "result a", "call b", "result b"]

    assert not number_parallel_calls([make_entry(*name.split()) for name in names])


def test_an_unanswered_call_is_not_parallel_to_later_ones():
    names = ["call a", "message x", "call b", "result b"]

    assert not number_parallel_calls([make_entry(*name.split()) for name in names])


def test_an_unanswered_call_is_parallel_to_the_calls_beside_it():
    names = ["call a", "call b", "result b", "call c", "result c"]

    numbers = number_parallel_calls([make_entry(*name.split()) for name in names])

    assert numbers == {0: 1, 1: 2, 2: 2}


def test_calls_of_different_tools_are_not_numbered():
    entries = [make_placed(make_call(name, name)) for name in ("Bash", "Read")]

    assert not number_parallel_calls(entries)
