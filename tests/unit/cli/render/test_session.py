"""Tests of rendering a session as text."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest
from msgspec.structs import replace

from leslied.cli.render.options import RenderOptions
from leslied.cli.render.session import render_record, render_units
from leslied.model.session import Unit
from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.clock import FakeClock
from tests.support.exports import read_session
from tests.support.pages import write_sample_session
from tests.support.records import make_prompt, make_record


@pytest.fixture
def unit(claude: ClaudeHome, clock: FakeClock) -> Unit:
    """Return a unit with entries of every type and a subagent."""
    write_sample_session(claude)
    claude.sync(is_final=True)
    return read_session(claude.store_path, clock).units[1]


def render_lines(*units: Unit, options: RenderOptions) -> list[str]:
    return [click.unstyle(line) for line in render_units(units, options)]


def test_a_subagent_without_a_spawning_call_is_shown_at_the_end(unit: Unit):
    (spawned,) = unit.subagents
    orphan = replace(spawned, summary=replace(spawned.summary, spawn_call_id=""))

    lines = render_lines(
        replace(unit, subagents=(orphan, orphan, spawned)), options=RenderOptions()
    )

    headers = [i for i, line in enumerate(lines) if "subagent · a5c0041" in line]
    assert len(headers) == 3
    assert headers[0] < lines.index("● Edit /home/dev/app/src/parser.py") < headers[1]


def test_results_of_parallel_calls_are_shown_below_their_calls(
    claude: ClaudeHome, clock: FakeClock
):
    builder = ClaudeLogBuilder()
    claude.write(
        builder.prompt("go"),
        builder.call("Bash", {"command": "one"}, "a"),
        builder.call("Bash", {"command": "two"}, "b"),
        builder.result("b", "second"),
        builder.result("a", "first"),
    )
    claude.sync(is_final=True)

    lines = render_lines(
        *read_session(claude.store_path, clock).units, options=RenderOptions()
    )

    assert lines[-4:] == ["● Bash one", "  └ first", "● Bash two", "  └ second"]


def test_lines_of_a_subagent_start_with_a_bar(unit: Unit):
    lines = render_lines(unit, options=RenderOptions(width=60))

    inner = lines[
        lines.index("● Task Look for callers") + 1 : lines.index("  └ One caller.")
    ]
    assert len(inner) > 6
    assert all(line.startswith("  │") for line in inner)


def test_units_are_loaded_lazily(unit: Unit):
    loaded_numbers = []

    def iter_units() -> Iterator[Unit]:
        for number in range(3):
            loaded_numbers.append(number)
            yield unit

    lines = render_units(iter_units(), RenderOptions(width=60))
    next(lines)

    assert loaded_numbers == [0]


def test_a_single_record_is_rendered_as_in_a_session():
    assert list(render_record(make_prompt("go"), "  ", is_full=False)) == [
        "",
        "  > go",
        "",
    ]
    thought = make_record("hm", type="thinking")
    assert list(render_record(thought, "  ", is_full=True)) == ["  ~ hm"]
