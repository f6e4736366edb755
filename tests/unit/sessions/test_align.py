"""Alignment of units, and the differences between them."""

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


def list_statuses(differences: tuple[UnitDifference, ...]) -> list[str]:
    return [difference.status for difference in differences]


def list_changes(difference: UnitDifference) -> list[tuple[str, str]]:
    """Return status and type of the entries that differ."""
    return [(e.status, get_type(e)) for e in difference.entries if e.status != "same"]


def get_type(entry: EntryDifference) -> str:
    return entry.either.record.type


def test_different_times_and_ids_are_not_a_difference():
    a = make_unit(make_prompt("go", created_at=time_at(0)), make_record("ok", "id1"))
    b = make_unit(make_prompt("go", created_at=time_at(99)), make_record("ok", "id2"))

    assert list_statuses(align_units([a], [b])) == ["same"]


def test_a_different_answer_is_a_change():
    (difference,) = align_units(
        [make_turn_unit("go", "yes")], [make_turn_unit("go", "no")]
    )

    assert difference.status == "changed"
    assert list_changes(difference) == [("changed", "assistant_message")]


def test_an_additional_unit_is_not_paired():
    a, b = (
        [make_turn_unit("one"), make_turn_unit("two")],
        [make_turn_unit("one"), make_turn_unit("and now?"), make_turn_unit("two")],
    )

    assert list_statuses(align_units(a, b)) == ["same", "only_b", "same"]


def test_units_with_similar_prompts_are_paired():
    a = [make_turn_unit("fix the login bug"), make_turn_unit("write the tests")]
    b = [
        make_turn_unit("hello"),
        make_turn_unit("please fix the login bug"),
        make_turn_unit("write the tests now"),
    ]

    assert list_statuses(align_units(a, b)) == ["only_b", "changed", "changed"]


def test_units_that_begin_with_the_same_entry_are_paired():
    shared_prompt = make_placed(make_prompt("yes"), "shared_prompt")
    a = [make_turn_unit("go"), make_unit(shared_prompt, make_record("a"))]
    b = [
        make_turn_unit("other words"),
        make_turn_unit("yes"),
        make_unit(shared_prompt, make_record("b")),
    ]

    assert list_statuses(align_units(a, b)) == ["only_a", "only_b", "only_b", "changed"]


def test_the_only_units_of_two_sessions_are_always_paired():
    (difference,) = align_units([make_turn_unit("red")], [make_turn_unit("blue")])

    assert list_changes(difference) == [("changed", "user_message")]


def test_results_in_another_order_are_not_a_difference():
    calls = [make_call("Bash", '{"c": "ls"}', "1"), make_call("Bash", '{"c": 2}', "2")]
    results = [make_result("1", "one"), make_result("2", "two")]
    prompt = make_prompt("go")

    differences = align_units(
        [make_unit(prompt, *calls, *results)],
        [make_unit(prompt, *calls, *results[::-1])],
    )

    assert list_statuses(differences) == ["same"]


def test_a_different_result_of_the_same_call_is_the_only_change():
    call = make_call("Bash", '{"command": "make test"}', "1")
    a = make_unit(make_prompt("go"), call, make_result("1", "1 passed"))
    b = make_unit(make_prompt("go"), call, make_result("1", "1 failed"))

    (difference,) = align_units([a], [b])

    assert list_changes(difference) == [("changed", "tool_result")]


def test_a_failed_result_with_the_same_text_is_a_change():
    call = make_call("Bash", "{}", "1")
    a = make_unit(call, make_result("1", "x"))
    b = make_unit(call, make_result("1", "x", metadata={"is_error": True}))

    (difference,) = align_units([a], [b])

    (change,) = [entry for entry in difference.entries if entry.status == "changed"]
    assert change.fields == (FieldDifference("is_error", False, True),)


def test_calls_of_different_tools_are_not_paired():
    a = make_unit(make_prompt("go"), make_call("Read", '{"path": "a"}', "1"))
    b = make_unit(make_prompt("go"), make_call("Grep", '{"path": "a"}', "1"))

    (difference,) = align_units([a], [b])

    assert list_changes(difference) == [("only_a", "tool_use"), ("only_b", "tool_use")]


def test_a_missing_result_differs_from_an_empty_one():
    call = make_call("Bash", "{}", "1")

    (difference,) = align_units(
        [make_unit(call)], [make_unit(call, make_result("1", ""))]
    )

    assert list_changes(difference) == [("only_b", "tool_result")]


def test_a_result_without_a_call_is_compared():
    (difference,) = align_units(
        [make_unit(make_result("9", "x"))], [make_unit(make_prompt("x"))]
    )

    assert list_changes(difference) == [
        ("only_a", "tool_result"),
        ("only_b", "user_message"),
    ]


def test_thinking_is_compared_only_on_request():
    a = make_unit(make_prompt("go"), make_record("hm", type="thinking"))
    b = make_unit(make_prompt("go"))

    assert list_statuses(align_units([a], [b])) == ["same"]
    assert list_statuses(align_units([a], [b], DiffScope(include_thinking=True))) == [
        "changed"
    ]


def test_an_interrupt_is_a_difference_and_other_events_are_not():
    a = make_unit(make_prompt("go"), make_event("context"))
    b = make_unit(
        make_prompt("go"), make_event("notice", metadata={"note": "interrupt"})
    )

    (difference,) = align_units([a], [b])

    assert list_changes(difference) == [("only_b", "system_event")]


def test_model_and_stop_reason_are_compared():
    a = make_unit(make_prompt("go"), make_record("ok", model="large"))
    b = make_unit(
        make_prompt("go"), make_record("ok", model="small"), stop_reason="cancelled"
    )

    (difference,) = align_units([a], [b])

    assert difference.fields == (
        FieldDifference("stop_reason", "end_turn", "cancelled"),
        FieldDifference("model", "large", "small"),
    )


def test_unit_0_is_omitted_if_it_has_only_events():
    unit_0 = make_unit(make_event("opened"), number=0)

    assert list_statuses(
        align_units([unit_0, make_turn_unit("go")], [make_turn_unit("go")])
    ) == ["same"]


def test_unit_0_is_never_paired_with_a_prompt():
    unit_0 = make_unit(make_record("welcome"), number=0)
    differences = align_units(
        [unit_0, make_turn_unit("go")],
        [make_unit(make_record("x")), make_turn_unit("go")],
    )

    assert list_statuses(differences) == ["only_a", "only_b", "same"]


def test_subagents_are_paired_in_the_order_of_their_calls():
    calls = [make_call("Task", '{"p": "x"}', "1"), make_call("Task", '{"p": "y"}', "2")]
    first = make_child(make_prompt("look at x"), make_record("fine"), call="1")
    second = make_child(make_prompt("look at y"), make_record("fine"), call="2")
    a = make_unit(make_prompt("go"), *calls, subagents=(first, second))
    b = make_unit(make_prompt("go"), *calls, subagents=(second, first))

    assert list_statuses(align_units([a], [b])) == ["same"]


def test_a_different_answer_of_a_subagent_changes_its_unit():
    task = make_prompt("look")
    a = make_unit(make_prompt("go"), subagents=(make_child(task, make_record("x")),))
    b = make_unit(make_prompt("go"), subagents=(make_child(task, make_record("y")),))

    (difference,) = align_units([a], [b])

    assert (difference.status, list_statuses(difference.subagents)) == (
        "changed",
        ["changed"],
    )
    assert list_statuses(align_units([a], [b], DiffScope(include_subagents=False))) == [
        "same"
    ]


def test_empty_sessions_have_no_difference():
    assert align_units([], []) == ()
