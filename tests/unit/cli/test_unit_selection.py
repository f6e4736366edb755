"""Choosing among the units and entries of a session."""

from __future__ import annotations

import pytest

from leslied.cli.unit_selection import UnitSelection, filter_unit, select_units
from leslied.errors import UserError
from leslied.model.session import Unit
from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.clock import FakeClock
from tests.support.exports import read_session
from tests.support.pages import write_sample_session


@pytest.fixture
def units(claude: ClaudeHome, clock: FakeClock) -> tuple[Unit, ...]:
    """Three prompts, and what stands before the first."""
    talk = ClaudeLogBuilder()
    claude.write(*(talk.prompt(word) for word in ("one", "two", "three")))
    claude.sync(is_final=True)
    return read_session(claude.store_path, clock).units


@pytest.fixture
def unit(claude: ClaudeHome, clock: FakeClock) -> Unit:
    """One with something of everything."""
    write_sample_session(claude)
    claude.sync(is_final=True)
    return read_session(claude.store_path, clock).units[1]


def types(unit: Unit) -> set[str]:
    return {placed.record.type for placed in unit.entries}


@pytest.mark.parametrize(
    ("excerpt", "numbers"),
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
def test_units_are_chosen_by_number_or_from_an_end(
    units: tuple[Unit, ...], excerpt: UnitSelection, numbers: list[int]
):
    assert [unit.number for unit in select_units(units, excerpt)] == numbers


@pytest.mark.parametrize("number", [4, -4, 99])
def test_a_unit_that_is_not_there_is_a_sentence(units: tuple[Unit, ...], number: int):
    with pytest.raises(UserError, match=f"no unit {number}: the session has 1 to 3"):
        select_units(units, UnitSelection(unit=number))


def test_without_a_prompt_there_is_what_stands_before_it(units: tuple[Unit, ...]):
    assert select_units(units[:1], UnitSelection(first=1)) == units[:1]
    with pytest.raises(UserError, match="no prompt yet"):
        select_units(units[:1], UnitSelection(unit=1))


def test_everything_is_kept_unless_asked_otherwise(unit: Unit):
    assert filter_unit(unit, UnitSelection()) == unit


def test_answers_are_only_the_agents_own(unit: Unit):
    thinned = filter_unit(unit, UnitSelection(is_answers_only=True))

    assert types(thinned) == {"assistant_message"}
    assert thinned.subagents == ()


def test_without_tools_subagents_lose_theirs_too(unit: Unit):
    thinned = filter_unit(unit, UnitSelection(include_tools=False))

    assert not types(thinned) & {"tool_use", "tool_result"}
    assert "thinking" in types(thinned)
    assert types(thinned.subagents[0]) >= {"user_message", "assistant_message"}
    assert not types(thinned.subagents[0]) & {"tool_use", "tool_result"}


def test_thinking_and_subagents_are_left_out_each_for_itself(unit: Unit):
    without_thinking = filter_unit(unit, UnitSelection(include_thinking=False))
    without_subagents = filter_unit(unit, UnitSelection(include_subagents=False))

    assert types(unit) - types(without_thinking) == {"thinking"}
    assert without_thinking.subagents
    assert without_subagents.entries == unit.entries
    assert without_subagents.subagents == ()
