"""Which unit of which stream spawned a subagent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

import pytest

from leslied.model.record import SessionKey
from leslied.model.session import SessionSummary
from leslied.sessions.subagents import (
    MainCall,
    ParentUnit,
    add_spawn_calls,
    find_parents,
    get_main_unit,
)
from tests.support.records import make_key, time_at
from tests.support.units import make_summary

MAIN_KEY = make_key()


@dataclass
class Lookup:
    """Facts that a test states directly; units start every ten seconds."""

    calls: dict[str, dict[SessionKey, int]] = field(default_factory=dict)
    prompts: dict[str, str] = field(default_factory=dict)
    main_calls: Sequence[tuple[int, str]] = ()
    named_calls: Sequence[tuple[str, str]] = ()

    def find_call_units(self, call_id: str) -> dict[SessionKey, int]:
        return self.calls.get(call_id, {})

    def find_prompt(self, child: SessionSummary) -> str:
        return self.prompts.get(child.subagent_id, "")

    def iter_main_calls(self) -> Sequence[MainCall]:
        return [MainCall(unit, "", text) for unit, text in self.main_calls] + [
            MainCall(0, call_id, text) for call_id, text in self.named_calls
        ]

    def find_unit_at(self, time: datetime | None) -> int:
        return int((time - time_at(0)).total_seconds()) // 10 if time else 0


def make_child(name: str, **fields: object) -> SessionSummary:
    return make_summary(get_key(name), **fields)


def get_key(name: str) -> SessionKey:
    return make_key(source=f"subagent:{name}")


def find_parent(lookup: Lookup, child: SessionSummary, *others: SessionSummary):
    return find_parents(MAIN_KEY, [child, *others], lookup)[child.key]


def test_the_parent_is_the_stream_with_the_call():
    child, other = make_child("a", spawn_call_id="c"), make_child("b")
    lookup = Lookup(calls={"c": {other.key: 0}})

    assert find_parent(lookup, child, other) == (other.key, 0)


def test_a_call_in_the_main_session_takes_precedence():
    child, other = make_child("a", spawn_call_id="c"), make_child("b")
    lookup = Lookup(calls={"c": {other.key: 0, MAIN_KEY: 3}})

    assert find_parent(lookup, child, other) == (MAIN_KEY, 3)


def test_a_call_in_its_own_log_does_not_spawn_a_subagent():
    child = make_child("a", spawn_call_id="c", started_at=time_at(20))
    lookup = Lookup(calls={"c": {child.key: 0}})

    assert find_parent(lookup, child) == (MAIN_KEY, 2)


def test_a_call_in_another_session_is_ignored():
    child = make_child("a", spawn_call_id="c", started_at=time_at(20))
    lookup = Lookup(calls={"c": {make_key("other"): 7}})

    assert find_parent(lookup, child) == (MAIN_KEY, 2)


def test_without_its_call_a_subagent_has_the_parent_that_its_log_names():
    child = make_child("a", parent_agent="b", spawn_call_id="gone")

    assert find_parent(Lookup(), child, make_child("b")) == (get_key("b"), 0)


@pytest.mark.parametrize(
    ("prompt", "arguments"),
    [
        ("count", '{"prompt": "count"}'),
        ('say "hi"\nthen stop', '{"prompt": "say \\"hi\\"\\nthen stop"}'),
        ("x" * 200 + "tail", '{"prompt": "' + "x" * 200 + '"}'),
    ],
)
def test_a_call_with_the_prompt_spawned_the_subagent(prompt: str, arguments: str):
    calls = [(1, '{"prompt": "other"}'), (2, arguments), (3, arguments)]
    lookup = Lookup(prompts={"a": prompt}, main_calls=calls)
    child = make_child("a", started_at=time_at(90))

    assert find_parent(lookup, child) == (MAIN_KEY, 2)


def test_without_a_matching_call_the_start_time_decides():
    lookup = Lookup(prompts={"a": "count"}, main_calls=[(1, "{}")])

    child = make_child("a", started_at=time_at(40))

    assert find_parent(lookup, child) == (MAIN_KEY, 4)


def test_subagents_that_name_each_other_still_lead_to_the_main_session():
    children = [
        make_child("a", parent_agent="b", started_at=time_at(10)),
        make_child("b", parent_agent="a", started_at=time_at(20)),
        make_child("c", parent_agent="a"),
    ]

    parents = find_parents(MAIN_KEY, children, Lookup())

    assert parents == {
        get_key("a"): ParentUnit(MAIN_KEY, 1),
        get_key("b"): ParentUnit(get_key("a"), 0),
        get_key("c"): ParentUnit(get_key("a"), 0),
    }


def test_a_nested_subagent_belongs_to_the_unit_of_its_parent():
    children = [
        make_child("a", spawn_call_id="c"),
        make_child("b", parent_agent="a"),
        make_child("d", parent_agent="b", started_at=time_at(90)),
    ]
    parents = find_parents(MAIN_KEY, children, Lookup(calls={"c": {MAIN_KEY: 2}}))

    assert get_main_unit(get_key("d"), MAIN_KEY, parents) == 2


def test_the_call_with_the_prompt_as_an_argument_spawned_the_subagent():
    calls = [("c1", '{"task": "count all files"}'), ("c2", '{"task": "count"}')]
    lookup = Lookup(prompts={"a": "count"}, named_calls=calls)

    (child,) = add_spawn_calls([make_child("a")], lookup)

    assert child.spawn_call_id == "c2"


def test_subagents_with_the_same_prompt_belong_to_different_calls():
    calls = [("c1", '{"task": "count"}'), ("c2", '{"task": "count"}')]
    lookup = Lookup(prompts={"a": "count", "b": "count"}, named_calls=calls)
    late = make_child("a", started_at=time_at(20))
    early = make_child("b", started_at=time_at(10))

    children = add_spawn_calls([late, early], lookup)

    assert [child.spawn_call_id for child in children] == ["c2", "c1"]


def test_a_call_that_a_log_names_is_not_replaced():
    calls = [("c1", '{"task": "count"}')]
    lookup = Lookup(prompts={"a": "count", "b": "count"}, named_calls=calls)
    linked = make_child("a", spawn_call_id="c1")

    children = add_spawn_calls([linked, make_child("b")], lookup)

    assert [child.spawn_call_id for child in children] == ["c1", ""]


def test_a_subagent_of_a_subagent_is_not_looked_for_in_the_main_session():
    lookup = Lookup(prompts={"a": "count"}, named_calls=[("c1", '{"task": "count"}')])

    (child,) = add_spawn_calls([make_child("a", parent_agent="b")], lookup)

    assert child.spawn_call_id == ""
