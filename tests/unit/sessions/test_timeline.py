"""In which order, and after which pauses, entries came."""

from __future__ import annotations

from leslied.model.timed_entry import TimedEntry
from leslied.sessions.timeline import build_timeline
from tests.support.records import at, make_event, make_prompt, make_record
from tests.support.units import make_call, make_child, make_unit


def said(text: str, seconds: float | None, **fields):
    created_at = None if seconds is None else at(seconds)
    return make_record(text, created_at=created_at, **fields)


def told(beats: tuple[TimedEntry, ...]) -> list[tuple[str, float]]:
    """What came, and how long after what came before it."""
    return [(b.placed.record.content, b.pause.total_seconds()) for b in beats]


def test_pauses_are_those_between_the_entries():
    unit = make_unit(said("a", 0), said("b", 1.5), said("c", 60))

    assert told(build_timeline([unit])) == [("a", 0), ("b", 1.5), ("c", 58.5)]


def test_entries_of_one_time_come_without_a_pause():
    unit = make_unit(said("a", 5), said("b", 5))

    assert told(build_timeline([unit])) == [("a", 0), ("b", 0)]


def test_a_log_keeps_its_order_though_a_time_runs_back():
    unit = make_unit(said("a", 10), said("b", 5), said("c", 12))

    assert told(build_timeline([unit])) == [("a", 0), ("b", 0), ("c", 7)]


def test_one_mad_time_does_not_stop_the_others():
    unit = make_unit(said("a", 0), said("b", 1e9), said("c", 10), said("d", 13))

    assert told(build_timeline([unit]))[2:] == [("c", 0), ("d", 3)]


def test_an_entry_without_a_time_comes_with_the_one_before_it():
    unit = make_unit(said("a", 0), said("b", None), said("c", 4))

    assert told(build_timeline([unit])) == [("a", 0), ("b", 0), ("c", 4)]


def test_a_log_without_times_has_no_pauses():
    units = [make_unit(said("a", None), said("b", None)), make_unit(said("c", None))]

    assert told(build_timeline(units)) == [("a", 0), ("b", 0), ("c", 0)]


def test_the_pause_between_units_counts():
    units = [make_unit(said("a", 0)), make_unit(said("b", 100), number=2)]

    assert told(build_timeline(units)) == [("a", 0), ("b", 100)]


def test_what_is_not_told_takes_no_part():
    unit = make_unit(said("a", 0), said("", 3), said("b", 8))

    beats = build_timeline([unit], lambda record: bool(record.content))

    assert told(beats) == [("a", 0), ("b", 8)]


def test_subagents_come_among_the_others():
    child = make_child(said("x", 3), said("y", 6), call="1")
    unit = make_unit(
        make_prompt("go", created_at=at(0)),
        make_call("Task", "{}", "1", created_at=at(2)),
        said("meanwhile", 5),
        subagents=(child,),
    )

    beats = build_timeline([unit])

    assert told(beats)[2:] == [("x", 1), ("meanwhile", 2), ("y", 1)]
    assert [beat.depth for beat in beats] == [0, 0, 1, 0, 1]


def test_a_subagent_never_comes_before_its_call():
    child = make_child(said("x", None), said("y", -50), call="1")
    unit = make_unit(
        said("a", 0), make_call("Task", "{}", "1", created_at=at(2)), subagents=(child,)
    )

    assert [text for text, _ in told(build_timeline([unit]))] == ["a", "", "x", "y"]


def test_a_subagent_of_a_subagent_is_two_deep():
    inner = make_child(said("deep", 2), name="b")
    outer = make_child(said("x", 1), name="a", subagents=(inner,))

    beats = build_timeline([make_unit(said("a", 0), subagents=(outer,))])

    assert [(b.placed.record.content, b.depth) for b in beats] == [
        ("a", 0),
        ("x", 1),
        ("deep", 2),
    ]


def test_a_late_subagent_comes_after_the_next_prompt():
    child = make_child(said("late", 50), call="1")
    units = [
        make_unit(make_call("Task", "{}", "1", created_at=at(1)), subagents=(child,)),
        make_unit(said("next", 20), number=2),
    ]

    assert [text for text, _ in told(build_timeline(units))] == ["", "next", "late"]


def test_an_event_that_was_noted_late_holds_nothing_up():
    linked = make_event("subagent_linked", "l", created_at=at(9))
    child = make_child(linked, said("below", 2), call="c1")
    unit = make_unit(
        make_call("Task", "{}", "c1"), said("after", 5), subagents=(child,)
    )

    spoken = [content for content, _ in told(build_timeline([unit])) if content]
    assert spoken == ["below", "after"]
