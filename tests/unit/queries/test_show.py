"""One session, unit, subagent or entry."""

from __future__ import annotations

import json

import pytest

from leslied.app import App
from leslied.errors import UserError
from leslied.model.omitted_text import OmittedText
from leslied.queries import units
from leslied.queries.context import QueryContext
from leslied.queries.show import show_session
from leslied.queries.unit_selection import UnitSelection
from tests.support.queries import SECRET


def test_a_shown_session_contains_no_secret(queries: QueryContext):
    shown = show_session(queries, "last", UnitSelection())

    assert SECRET not in json.dumps(shown.to_dict())
    assert SECRET not in repr(list(shown.iter_units()))
    assert SECRET not in repr(shown.load_session())


def test_secrets_are_shown_on_request(app: App):
    with app.open_queries(reveal=True) as queries:
        shown = show_session(queries, "last", UnitSelection())

    assert SECRET in json.dumps(shown.to_dict())


def test_only_the_selected_units_are_shown(queries: QueryContext):
    shown = show_session(queries, "last", UnitSelection(unit=-1))

    assert [unit["prompt"] for unit in shown.to_dict()["units"]] == ["And now?"]


def test_counts_are_those_of_the_full_unit(queries: QueryContext):
    selection = UnitSelection(unit=1, include_tools=False)
    (unit,) = show_session(queries, "last", selection).to_dict()["units"]

    assert unit["tool_calls"] == 1
    assert {entry["type"] for entry in unit["entries"]}.isdisjoint(
        {"tool_use", "tool_result"}
    )


def test_entries_can_be_left_out(queries: QueryContext):
    shown = show_session(queries, "last", UnitSelection())
    units = shown.to_dict(with_entries=False)["units"]

    assert [unit["entries"] for unit in units] == [[]] * len(units)


def test_units_of_an_entry_cannot_be_selected(queries: QueryContext):
    shown = show_session(queries, "last", UnitSelection())
    entry_id = next(shown.iter_units()).entries[0].entry_id

    with pytest.raises(UserError, match="that of an entry"):
        show_session(queries, entry_id, UnitSelection(unit=1))
    assert show_session(queries, entry_id, UnitSelection()).is_entry


def test_long_texts_are_loaded_unit_by_unit(
    queries: QueryContext, monkeypatch: pytest.MonkeyPatch
):
    whole = show_session(queries, "last", UnitSelection()).to_dict()
    monkeypatch.setattr(units, "_MAX_LOADED_CHARACTERS", 3)

    shown = show_session(queries, "last", UnitSelection())

    entries = [placed for unit in shown.session.units for placed in unit.entries]
    assert any(isinstance(each.record.content, OmittedText) for each in entries)
    assert shown.to_dict() == whole
    for unit in shown.iter_units():
        assert not isinstance(unit.prompt, OmittedText)
        for placed in unit.entries:
            assert not isinstance(placed.record.content, OmittedText)
            assert not isinstance(placed.record.tool_input, OmittedText)
