"""A session as a page: what stands where."""

from __future__ import annotations

import click
import pytest
from msgspec.structs import replace

from leslied.cli.render_options import RenderOptions
from leslied.cli.session_view import render_record, render_units
from leslied.model.session import Unit
from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.clock import FakeClock
from tests.support.exports import read_session
from tests.support.pages import write_sample_session
from tests.support.records import make_prompt, make_record


@pytest.fixture
def unit(claude: ClaudeHome, clock: FakeClock) -> Unit:
    """One with something of everything."""
    write_sample_session(claude)
    claude.sync(is_final=True)
    return read_session(claude.store_path, clock).units[1]


def render_lines(*units: Unit, look: RenderOptions) -> list[str]:
    return [click.unstyle(line) for line in render_units(units, look)]


def test_every_subagent_is_shown_also_where_nobody_knows_its_call(unit: Unit):
    (known,) = unit.subagents
    lost = replace(known, summary=replace(known.summary, spawn_call_id=""))

    told = render_lines(
        replace(unit, subagents=(lost, lost, known)), look=RenderOptions()
    )

    heads = [at for at, line in enumerate(told) if "subagent · a5c0041" in line]
    assert len(heads) == 3
    assert heads[0] < told.index("● Edit /home/dev/app/src/parser.py") < heads[1]


def test_results_stand_under_their_calls_also_when_they_ran_side_by_side(
    claude: ClaudeHome, clock: FakeClock
):
    talk = ClaudeLogBuilder()
    claude.write(
        talk.prompt("go"),
        talk.call("Bash", {"command": "one"}, "a"),
        talk.call("Bash", {"command": "two"}, "b"),
        talk.result("b", "second"),
        talk.result("a", "first"),
    )
    claude.sync(is_final=True)

    told = render_lines(
        *read_session(claude.store_path, clock).units, look=RenderOptions()
    )

    assert told[-4:] == ["● Bash one", "  └ first", "● Bash two", "  └ second"]


def test_what_subagents_did_is_behind_a_bar(unit: Unit):
    told = render_lines(unit, look=RenderOptions(width=60))

    inner = told[
        told.index("● Task Look for callers") + 1 : told.index("  └ One caller.")
    ]
    assert len(inner) > 6
    assert all(line.startswith("  │") for line in inner)


def test_a_page_is_made_line_by_line(unit: Unit):
    """The second unit is not asked for before the first is shown."""
    asked = []

    def units() -> object:
        for number in range(3):
            asked.append(number)
            yield unit

    lines = render_units(units(), RenderOptions(width=60))
    next(lines)

    assert asked == [0]


def test_one_entry_is_told_as_on_the_page():
    assert list(render_record(make_prompt("go"), "  ", is_full=False)) == [
        "",
        "  > go",
        "",
    ]
    thought = make_record("hm", type="thinking")
    assert list(render_record(thought, "  ", is_full=True)) == ["  ~ hm"]
