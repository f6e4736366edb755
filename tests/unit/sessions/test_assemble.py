"""Records are assembled into units, with subagents under their parents."""

from __future__ import annotations

from msgspec.structs import replace

from leslied.model.record import Record
from leslied.sessions.assemble import RecordStream, assemble
from tests.support.records import (
    make_call,
    make_event,
    make_key,
    make_prompt,
    make_record,
    make_result,
    time_at,
)
from tests.support.units import make_placed, make_summary


def make_stream(*units: list[Record], number: int = 1) -> RecordStream:
    """Return the stream of a main session with these units, numbered from `number`."""
    entries = [
        replace(make_placed(record), unit=unit)
        for unit, records in enumerate(units, number)
        for record in records
    ]
    return RecordStream(make_summary(), entries)


def make_subagent(name: str, *records: Record, **fields: object) -> RecordStream:
    summary = make_summary(make_key(source=f"subagent:{name}"), **fields)
    entries = [replace(make_placed(record), unit=0) for record in records]
    return RecordStream(summary, entries)


def test_entries_with_the_same_number_are_one_unit():
    main = make_stream(
        [make_event("opened")],
        [make_prompt("one"), make_record("done")],
        [make_prompt("two")],
        number=0,
    )

    units = assemble(main, ())

    assert [(unit.number, unit.prompt) for unit in units] == [
        (0, ""),
        (1, "one"),
        (2, "two"),
    ]
    assert [len(unit.entries) for unit in units] == [1, 2, 1]


def test_units_that_the_user_took_back_are_marked_with_their_subagents():
    main = make_stream(
        [make_prompt("one")],
        [make_prompt("two"), make_call("Agent", "c")],
        [make_prompt("instead")],
    )
    main.summary = make_summary(units=3, rewound=(range(2, 3),))
    child = make_subagent("x", make_prompt(), spawn_call_id="c")

    units = assemble(main, [child])

    assert [unit.is_rewound for unit in units] == [False, True, False]
    assert [child.is_rewound for child in units[1].subagents] == [True]


def test_results_are_linked_to_calls():
    main = make_stream([make_prompt(), make_call("Bash", "c"), make_result("out", "c")])

    (unit,) = assemble(main, ())

    assert unit.entries[-1].record.tool_name == "Bash"


def test_a_subagent_is_part_of_the_unit_that_spawned_it():
    main = make_stream(
        [make_prompt("one"), make_call("Task", "c")], [make_prompt("two")]
    )
    child = make_subagent("a", make_prompt("count"), spawn_call_id="c")

    first, second = assemble(main, [child])

    assert [unit.prompt for unit in first.subagents] == ["count"]
    assert second.subagents == ()


def test_a_subagent_of_a_subagent_is_nested():
    main = make_stream([make_prompt("one"), make_call("Task", "c")])
    child = make_subagent(
        "a", make_prompt("count"), make_call("Task", "d"), spawn_call_id="c"
    )
    nested = make_subagent("b", make_prompt("list"), spawn_call_id="d")

    (unit,) = assemble(main, [nested, child])

    assert [subagent.prompt for subagent in unit.subagents] == ["count"]
    assert [subagent.prompt for subagent in unit.subagents[0].subagents] == ["list"]


def test_one_unit_of_a_session_contains_all_of_its_unlinked_subagents():
    main = make_stream([make_prompt("five", created_at=time_at(50))], number=5)
    child = make_subagent("a", make_prompt("count"), started_at=time_at(1))

    (unit,) = assemble(main, [child])

    assert len(unit.subagents) == 1


def test_a_session_without_records_has_no_units():
    assert assemble(make_stream(), [make_subagent("a", make_prompt())]) == ()
