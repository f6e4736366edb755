"""Which unit stands against which, and how they differ."""

from __future__ import annotations

from leslied.model.difference import EntryDifference, FieldDifference, UnitDifference
from leslied.sessions.align import DiffScope, align_units
from tests.support.records import make_event, make_prompt, make_record, time_at
from tests.support.units import (
    make_call,
    make_child,
    make_placed,
    make_result,
    make_turn_unit,
    make_unit,
)


def statuses(found: tuple[UnitDifference, ...]) -> list[str]:
    return [each.status for each in found]


def changes(found: UnitDifference) -> list[tuple[str, str]]:
    """What is not the same, and of which type."""
    return [(e.status, _type(e)) for e in found.entries if e.status != "same"]


def _type(each: EntryDifference) -> str:
    return each.either.record.type


def test_other_times_and_ids_are_no_difference():
    one = make_unit(make_prompt("go", created_at=time_at(0)), make_record("ok", "id1"))
    other = make_unit(
        make_prompt("go", created_at=time_at(99)), make_record("ok", "id2")
    )

    assert statuses(align_units([one], [other])) == ["same"]


def test_another_answer_is_a_change():
    (found,) = align_units([make_turn_unit("go", "yes")], [make_turn_unit("go", "no")])

    assert found.status == "changed"
    assert changes(found) == [("changed", "assistant_message")]


def test_a_unit_more_stands_alone():
    a, b = (
        [make_turn_unit("one"), make_turn_unit("two")],
        [make_turn_unit("one"), make_turn_unit("and now?"), make_turn_unit("two")],
    )

    assert statuses(align_units(a, b)) == ["same", "only_b", "same"]


def test_like_prompts_belong_together():
    a = [make_turn_unit("fix the login bug"), make_turn_unit("write the tests")]
    b = [
        make_turn_unit("hello"),
        make_turn_unit("please fix the login bug"),
        make_turn_unit("write the tests now"),
    ]

    assert statuses(align_units(a, b)) == ["only_b", "changed", "changed"]


def test_units_that_begin_with_the_same_entry_belong_together():
    shared = make_placed(make_prompt("yes"), "shared")
    a = [make_turn_unit("go"), make_unit(shared, make_record("a"))]
    b = [
        make_turn_unit("other words"),
        make_turn_unit("yes"),
        make_unit(shared, make_record("b")),
    ]

    assert statuses(align_units(a, b)) == ["only_a", "only_b", "only_b", "changed"]


def test_two_units_alone_are_compared_however_unlike():
    (found,) = align_units([make_turn_unit("red")], [make_turn_unit("blue")])

    assert changes(found) == [("changed", "user_message")]


def test_results_in_another_order_are_no_difference():
    calls = [make_call("Bash", '{"c": "ls"}', "1"), make_call("Bash", '{"c": 2}', "2")]
    results = [make_result("1", "one"), make_result("2", "two")]
    prompt = make_prompt("go")

    found = align_units(
        [make_unit(prompt, *calls, *results)],
        [make_unit(prompt, *calls, *results[::-1])],
    )

    assert statuses(found) == ["same"]


def test_another_result_of_the_same_call_is_the_only_change():
    call = make_call("Bash", '{"command": "make test"}', "1")
    a = make_unit(make_prompt("go"), call, make_result("1", "1 passed"))
    b = make_unit(make_prompt("go"), call, make_result("1", "1 failed"))

    (found,) = align_units([a], [b])

    assert changes(found) == [("changed", "tool_result")]


def test_a_result_that_failed_with_the_same_words_is_a_change():
    call = make_call("Bash", "{}", "1")
    a = make_unit(call, make_result("1", "x"))
    b = make_unit(call, make_result("1", "x", metadata={"is_error": True}))

    (found,) = align_units([a], [b])

    (change,) = [each for each in found.entries if each.status == "changed"]
    assert change.fields == (FieldDifference("is_error", False, True),)


def test_calls_of_other_tools_stand_alone():
    a = make_unit(make_prompt("go"), make_call("Read", '{"path": "a"}', "1"))
    b = make_unit(make_prompt("go"), make_call("Grep", '{"path": "a"}', "1"))

    (found,) = align_units([a], [b])

    assert changes(found) == [("only_a", "tool_use"), ("only_b", "tool_use")]


def test_a_call_without_an_answer_differs_from_one_that_answered_nothing():
    call = make_call("Bash", "{}", "1")

    (found,) = align_units([make_unit(call)], [make_unit(call, make_result("1", ""))])

    assert changes(found) == [("only_b", "tool_result")]


def test_a_result_without_a_call_is_compared():
    (found,) = align_units(
        [make_unit(make_result("9", "x"))], [make_unit(make_prompt("x"))]
    )

    assert changes(found) == [("only_a", "tool_result"), ("only_b", "user_message")]


def test_thinking_counts_only_when_asked_for():
    a = make_unit(make_prompt("go"), make_record("hm", type="thinking"))
    b = make_unit(make_prompt("go"))

    assert statuses(align_units([a], [b])) == ["same"]
    assert statuses(align_units([a], [b], DiffScope(include_thinking=True))) == [
        "changed"
    ]


def test_an_interruption_is_a_difference_and_other_events_are_none():
    a = make_unit(make_prompt("go"), make_event("context"))
    b = make_unit(
        make_prompt("go"), make_event("notice", metadata={"note": "interrupt"})
    )

    (found,) = align_units([a], [b])

    assert changes(found) == [("only_b", "system_event")]


def test_model_mode_and_stop_reason_are_told():
    a = make_unit(make_prompt("go"), make_record("ok", model="large"))
    b = make_unit(
        make_prompt("go"), make_record("ok", model="small"), stop_reason="cancelled"
    )

    (found,) = align_units([a], [b])

    assert found.fields == (
        FieldDifference("stop_reason", "end_turn", "cancelled"),
        FieldDifference("model", "large", "small"),
    )


def test_what_stands_before_the_first_prompt_is_left_out_when_nobody_spoke():
    opening = make_unit(make_event("opened"), number=0)

    assert statuses(
        align_units([opening, make_turn_unit("go")], [make_turn_unit("go")])
    ) == ["same"]


def test_an_opening_is_never_paired_with_a_prompt():
    opening = make_unit(make_record("welcome"), number=0)
    found = align_units(
        [opening, make_turn_unit("go")],
        [make_unit(make_record("x")), make_turn_unit("go")],
    )

    assert statuses(found) == ["only_a", "only_b", "same"]


def test_subagents_are_paired_in_the_order_of_their_calls():
    calls = [make_call("Task", '{"p": "x"}', "1"), make_call("Task", '{"p": "y"}', "2")]
    one = make_child(make_prompt("look at x"), make_record("fine"), call="1")
    two = make_child(make_prompt("look at y"), make_record("fine"), call="2")
    a = make_unit(make_prompt("go"), *calls, subagents=(one, two))
    b = make_unit(make_prompt("go"), *calls, subagents=(two, one))

    assert statuses(align_units([a], [b])) == ["same"]


def test_a_subagent_that_says_something_else_changes_its_unit():
    task = make_prompt("look")
    a = make_unit(make_prompt("go"), subagents=(make_child(task, make_record("x")),))
    b = make_unit(make_prompt("go"), subagents=(make_child(task, make_record("y")),))

    (found,) = align_units([a], [b])

    assert (found.status, statuses(found.subagents)) == ("changed", ["changed"])
    assert statuses(align_units([a], [b], DiffScope(include_subagents=False))) == [
        "same"
    ]


def test_sessions_without_anything_have_no_difference():
    assert align_units([], []) == ()
