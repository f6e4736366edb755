"""Tests of selecting units and entries of a session."""

from __future__ import annotations

import pytest

from leslied.errors import UserError
from leslied.model.session import Unit
from leslied.queries.unit_selection import UnitSelection, filter_unit, select_units
from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.clock import FakeClock
from tests.support.exports import read_session
from tests.support.pages import write_sample_session


@pytest.fixture
def units(claude: ClaudeHome, clock: FakeClock) -> tuple[Unit, ...]:
    """Return three units, and unit 0 with the entries before the first prompt."""
    builder = ClaudeLogBuilder()
    claude.write(*(builder.prompt(text) for text in ("one", "two", "three")))
    claude.sync(is_final=True)
    return read_session(claude.store_path, clock).units


@pytest.fixture
def unit(claude: ClaudeHome, clock: FakeClock) -> Unit:
    """Return a unit with entries of every type and a subagent."""
    write_sample_session(claude)
    claude.sync(is_final=True)
    return read_session(claude.store_path, clock).units[1]


def list_types(unit: Unit) -> set[str]:
    return {placed.record.type for placed in unit.entries}


@pytest.mark.parametrize(
    ("selection", "numbers"),
    [
        (UnitSelection(), [0, 1, 2, 3]),
        (UnitSelection(unit=2), [2]),
        (UnitSelection(unit=0), [0]),
        (UnitSelection(unit=-1), [3]),
        (UnitSelection(unit=-3), [1]),
        (UnitSelection(first=1), [1]),
        (UnitSelection(first=9), [1, 2, 3]),
        (UnitSelection(last=2), [2, 3]),
        (UnitSelection(last=9), [1, 2, 3]),
    ],
)
def test_units_are_selected_by_number_or_from_either_end(
    units: tuple[Unit, ...], selection: UnitSelection, numbers: list[int]
):
    assert [unit.number for unit in select_units(units, selection)] == numbers


@pytest.mark.parametrize("number", [4, -4, 99])
def test_an_unknown_unit_is_an_error(units: tuple[Unit, ...], number: int):
    with pytest.raises(
        UserError, match=f"no unit {number}: the session has units 1 to 3"
    ):
        select_units(units, UnitSelection(unit=number))


def test_a_session_without_a_prompt_has_unit_0_only(units: tuple[Unit, ...]):
    assert select_units(units[:1], UnitSelection(first=1)) == units[:1]
    with pytest.raises(UserError, match="no prompt yet"):
        select_units(units[:1], UnitSelection(unit=1))


def test_everything_is_selected_by_default(unit: Unit):
    assert filter_unit(unit, UnitSelection()) == unit


def test_answers_only_excludes_prompts_tools_and_subagents(unit: Unit):
    filtered = filter_unit(unit, UnitSelection(is_answers_only=True))

    assert list_types(filtered) == {"assistant_message"}
    assert filtered.subagents == ()


def test_excluding_tools_applies_to_subagents_too(unit: Unit):
    filtered = filter_unit(unit, UnitSelection(include_tools=False))

    assert not list_types(filtered) & {"tool_use", "tool_result"}
    assert "thinking" in list_types(filtered)
    assert list_types(filtered.subagents[0]) >= {"user_message", "assistant_message"}
    assert not list_types(filtered.subagents[0]) & {"tool_use", "tool_result"}


def test_thinking_and_subagents_are_excluded_independently(unit: Unit):
    without_thinking = filter_unit(unit, UnitSelection(include_thinking=False))
    without_subagents = filter_unit(unit, UnitSelection(include_subagents=False))

    assert list_types(unit) - list_types(without_thinking) == {"thinking"}
    assert without_thinking.subagents
    assert without_subagents.entries == unit.entries
    assert without_subagents.subagents == ()
