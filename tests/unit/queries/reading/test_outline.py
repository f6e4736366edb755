"""The outline of a session."""

from __future__ import annotations

import json

import pytest

from leslied.errors import UserError
from leslied.queries.context import QueryContext
from leslied.queries.reading.outline import load_outline
from leslied.queries.show import show_session
from leslied.queries.unit_selection import UnitSelection
from tests.support.claude import SESSION
from tests.support.queries import SECRET


def test_an_outline_has_a_line_about_each_unit(queries: QueryContext):
    outline = load_outline(queries, SESSION).to_dict()

    first, second = outline["units"]
    assert second["title"] == "And now?"
    assert (first["number"], first["messages"], first["tool_calls"]) == (1, 3, 1)
    assert (first["stop_reason"], first["rewound"], first["pages"]) == (
        "end_turn",
        False,
        1,
    )
    assert outline["resume_command"].endswith(f"claude --resume {SESSION}")


def test_an_outline_has_no_secrets(queries: QueryContext):
    assert SECRET not in json.dumps(load_outline(queries, SESSION).to_dict())


def test_the_facts_are_those_of_the_whole_session(sample: QueryContext):
    outline = load_outline(sample, SESSION).to_dict()

    shown = show_session(sample, SESSION, UnitSelection()).to_dict()
    names = ("chat_id", "started_at", "ended_at", "stop_reason", "tool_calls")
    assert [[u[n] for n in names] for u in outline["units"]] == [
        [u[n] for n in names] for u in shown["units"] if u["number"]
    ]
    assert outline["session"] == shown["session"]


def test_an_outline_can_start_at_a_unit(queries: QueryContext):
    outline = load_outline(queries, SESSION, 2).to_dict()

    assert [unit["number"] for unit in outline["units"]] == [2]
    assert {unit for unit, _ in outline["context"]} == {2}


def test_the_costs_of_units_add_up(sample: QueryContext):
    outline = load_outline(sample, SESSION).to_dict()

    total = sum(unit["cost_usd"] for unit in outline["units"])
    assert total == pytest.approx(outline["session"]["cost_usd"])


def test_the_id_of_a_unit_names_a_position(queries: QueryContext):
    chat_id = load_outline(queries, SESSION).units[1].unit.chat_id

    position = load_outline(queries, chat_id).to_dict()["position"]

    assert position == {"unit": 2, "subagent": None, "entry": None}


def test_an_unknown_session_is_an_error(queries: QueryContext):
    with pytest.raises(UserError, match="No session"):
        load_outline(queries, "zzz")
