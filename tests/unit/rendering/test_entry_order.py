"""The entries of a unit in reading order, and of a session in order of time."""

from __future__ import annotations

from leslied.model.timed_entry import TimedEntry
from leslied.rendering.entry_order import build_timeline, iter_in_reading_order
from tests.support.records import (
    make_event,
    make_prompt,
    make_record,
    make_result,
    time_at,
)
from tests.support.units import make_call, make_child, make_placed, make_unit


def make_timed_record(text: str, seconds: float | None, **fields):
    created_at = None if seconds is None else time_at(seconds)
    return make_record(text, created_at=created_at, **fields)


def list_pauses(timeline: tuple[TimedEntry, ...]) -> list[tuple[str, float]]:
    """Return text and pause in seconds of each entry."""
    return [(e.placed.record.content, e.pause.total_seconds()) for e in timeline]


def test_a_result_follows_its_call_in_reading_order():
    a, b = (make_placed(make_call("Bash", "{}", call_id)) for call_id in ("a", "b"))
    result_a, result_b = (make_placed(make_result("out", each)) for each in ("a", "b"))

    entries = iter_in_reading_order([a, b, result_b, result_a])

    assert list(entries) == [a, result_a, b, result_b]


def test_a_pause_is_the_time_since_the_previous_entry():
    unit = make_unit(
        make_timed_record("a", 0),
        make_timed_record("b", 1.5),
        make_timed_record("c", 60),
    )

    assert list_pauses(build_timeline([unit])) == [("a", 0), ("b", 1.5), ("c", 58.5)]


def test_entries_with_the_same_time_have_no_pause():
    unit = make_unit(make_timed_record("a", 5), make_timed_record("b", 5))

    assert list_pauses(build_timeline([unit])) == [("a", 0), ("b", 0)]


def test_entries_of_one_log_keep_their_order_if_a_time_decreases():
    unit = make_unit(
        make_timed_record("a", 10),
        make_timed_record("b", 5),
        make_timed_record("c", 12),
    )

    assert list_pauses(build_timeline([unit])) == [("a", 0), ("b", 0), ("c", 7)]


def test_one_wrong_time_does_not_affect_the_others():
    unit = make_unit(
        make_timed_record("a", 0),
        make_timed_record("b", 1e9),
        make_timed_record("c", 10),
        make_timed_record("d", 13),
    )

    assert list_pauses(build_timeline([unit]))[2:] == [("c", 0), ("d", 3)]


def test_an_entry_without_a_time_follows_the_previous_one_without_a_pause():
    unit = make_unit(
        make_timed_record("a", 0),
        make_timed_record("b", None),
        make_timed_record("c", 4),
    )

    assert list_pauses(build_timeline([unit])) == [("a", 0), ("b", 0), ("c", 4)]


def test_a_log_without_times_has_no_pauses():
    units = [
        make_unit(make_timed_record("a", None), make_timed_record("b", None)),
        make_unit(make_timed_record("c", None)),
    ]

    assert list_pauses(build_timeline(units)) == [("a", 0), ("b", 0), ("c", 0)]


def test_there_is_a_pause_between_units():
    units = [
        make_unit(make_timed_record("a", 0)),
        make_unit(make_timed_record("b", 100), number=2),
    ]

    assert list_pauses(build_timeline(units)) == [("a", 0), ("b", 100)]


def test_excluded_entries_do_not_affect_pauses():
    unit = make_unit(
        make_timed_record("a", 0), make_timed_record("", 3), make_timed_record("b", 8)
    )

    timeline = build_timeline([unit], lambda record: bool(record.content))

    assert list_pauses(timeline) == [("a", 0), ("b", 8)]


def test_entries_of_subagents_are_merged_by_time():
    child = make_child(make_timed_record("x", 3), make_timed_record("y", 6), call="1")
    unit = make_unit(
        make_prompt("go", created_at=time_at(0)),
        make_call("Task", "{}", "1", created_at=time_at(2)),
        make_timed_record("meanwhile", 5),
        subagents=(child,),
    )

    timeline = build_timeline([unit])

    assert list_pauses(timeline)[2:] == [("x", 1), ("meanwhile", 2), ("y", 1)]
    assert [entry.depth for entry in timeline] == [0, 0, 1, 0, 1]


def test_a_subagent_never_precedes_its_call():
    child = make_child(
        make_timed_record("x", None), make_timed_record("y", -50), call="1"
    )
    unit = make_unit(
        make_timed_record("a", 0),
        make_call("Task", "{}", "1", created_at=time_at(2)),
        subagents=(child,),
    )

    assert [text for text, _ in list_pauses(build_timeline([unit]))] == [
        "a",
        "",
        "x",
        "y",
    ]


def test_a_subagent_of_a_subagent_has_depth_two():
    inner = make_child(make_timed_record("deep", 2), name="b")
    outer = make_child(make_timed_record("x", 1), name="a", subagents=(inner,))

    timeline = build_timeline(
        [make_unit(make_timed_record("a", 0), subagents=(outer,))]
    )

    assert [(e.placed.record.content, e.depth) for e in timeline] == [
        ("a", 0),
        ("x", 1),
        ("deep", 2),
    ]


def test_a_late_entry_of_a_subagent_follows_the_next_prompt():
    child = make_child(make_timed_record("late", 50), call="1")
    units = [
        make_unit(
            make_call("Task", "{}", "1", created_at=time_at(1)), subagents=(child,)
        ),
        make_unit(make_timed_record("next", 20), number=2),
    ]

    assert [text for text, _ in list_pauses(build_timeline(units))] == [
        "",
        "next",
        "late",
    ]


def test_an_event_with_a_late_time_does_not_delay_later_entries():
    late_event = make_event("subagent_linked", "l", created_at=time_at(9))
    child = make_child(late_event, make_timed_record("below", 2), call="c1")
    unit = make_unit(
        make_call("Task", "{}", "c1"), make_timed_record("after", 5), subagents=(child,)
    )

    texts = [content for content, _ in list_pauses(build_timeline([unit])) if content]
    assert texts == ["below", "after"]
