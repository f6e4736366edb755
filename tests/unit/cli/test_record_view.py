"""One record, on a terminal and in a pipe."""

from __future__ import annotations

import json
from typing import get_args

import click
import pytest
from rich.cells import cell_len

from leslied.cli.record_view import RecordRenderer
from leslied.cli.render_options import Gap, RenderOptions, collapse_gaps
from leslied.model.record import Record, RecordType
from tests.support.records import make_event, make_prompt, make_record


def make_call(tool: str, given: object, call_id: str = "c") -> Record:
    return make_record(
        "",
        type="tool_use",
        tool_name=tool,
        tool_input=json.dumps(given),
        tool_call_id=call_id,
    )


def make_result(content: str, call_id: str = "c", **told: object) -> Record:
    return make_record(
        content, type="tool_result", role="tool", tool_call_id=call_id, metadata=told
    )


def render_records(
    look: RenderOptions, *records: Record, indent: str = ""
) -> list[str]:
    teller = RecordRenderer(look)
    lines = [line for record in records for line in teller.render(record, indent)]
    return [click.unstyle(line) for line in collapse_gaps(lines)]


PLAIN, RICH = RenderOptions(), RenderOptions(width=60, folder="/home/dev/app")


def test_a_pipe_gets_the_answer_as_it_was_written():
    assert render_records(PLAIN, make_record("# one\n**two**")) == ["# one", "**two**"]


def test_a_pipe_gets_no_escapes():
    records = [
        make_prompt("a"),
        make_call("Edit", {"file_path": "/x"}),
        make_event("x"),
    ]
    teller = RecordRenderer(
        RenderOptions(is_full=True, include_thinking=True, tool_output="whole")
    )

    told = "".join(line for record in records for line in teller.render(record, ""))

    assert told
    assert "\x1b" not in told


def test_long_lines_keep_their_indent():
    told = render_records(RICH, make_prompt("word " * 40), indent="    ")

    body = [line for line in told if line]
    assert len(body) > 3
    assert all(line.startswith("    > ") for line in body)
    assert max(map(cell_len, body)) <= 60


@pytest.mark.parametrize("look", [RICH, RenderOptions(width=60, tool_output="whole")])
def test_wide_characters_are_counted_as_wide(look: RenderOptions):
    records = [
        make_prompt("日本語のプロンプト" * 20),
        make_record("日本語🎉" * 40),
        make_call("Bash", {"command": "echo " + "日本" * 60}),
        make_result("日本\t語" * 60),
    ]

    told = render_records(look, *records, indent="  ")

    assert max(map(cell_len, told)) <= 60


@pytest.mark.parametrize(
    ("tool", "given", "shown"),
    [
        ("Read", {"file_path": "/home/dev/app/src/a.py"}, "● Read src/a.py"),
        ("Read", {"file_path": "/home/dev/apple"}, "● Read /home/dev/apple"),
        ("read", {"filePath": "/home/dev/app/a"}, "● read a"),
        ("Grep", {"path": "/home/dev", "pattern": "x"}, "● Grep x"),
        ("Task", {"prompt": "a b", "description": "Look"}, "● Task Look"),
        ("shell", {"command": ["bash", "-lc", "ls  -l"]}, "● shell ls -l"),
        ("shell", {"command": ["git", "log"]}, "● shell git log"),
        ("odd\nname", {"n": 1}, '● odd name {"n": 1}'),
        ("none", [], "● none []"),
    ],
)
def test_a_call_says_what_it_does(tool: str, given: object, shown: str):
    assert render_records(RICH, make_call(tool, given)) == [shown]


def test_in_a_pipe_paths_stay_whole():
    call = make_call("Read", {"file_path": "/home/dev/app/src/a.py"})

    assert render_records(PLAIN, call) == ["● Read /home/dev/app/src/a.py"]


def test_a_shown_edit_needs_no_answer_that_it_is_done():
    edit = {"file_path": "/home/dev/app/a", "old_string": "x", "new_string": "y"}

    told = render_records(
        RICH, make_call("Edit", edit), make_result("The file is updated.")
    )

    assert told == ["● Edit a +1 -1", "    - x", "    + y"]


def test_an_edit_that_failed_says_so():
    edit = {"file_path": "/a", "old_string": "x", "new_string": "y"}

    told = render_records(
        RICH, make_call("Edit", edit), make_result("No match.", is_error=True)
    )

    assert told[-1] == "  ✗ No match."


def test_a_result_is_cut_unless_all_is_wanted():
    result = make_result("\n".join("123456"))

    assert render_records(PLAIN, result)[-2:] == ["    4", "    … 2 more lines"]
    assert render_records(RenderOptions(tool_output="whole"), result)[-1] == "    6"
    assert (
        render_records(RenderOptions(tool_output="none"), make_call("a", {}), result)
        == []
    )


def test_thinking_is_shown_when_asked_for():
    thought = make_record("hm", type="thinking")

    assert render_records(PLAIN, thought) == []
    assert render_records(RenderOptions(include_thinking=True), thought) == ["~ hm"]


@pytest.mark.parametrize(
    "look",
    [
        PLAIN,
        RICH,
        RenderOptions(
            width=60, is_full=True, tool_output="whole", include_thinking=True
        ),
    ],
)
def test_no_control_character_gets_through_any_record(look: RenderOptions):
    evil = "".join(map(chr, [*range(9), *range(11, 32), *range(127, 160)]))
    evil += "\x1b]52;c;aGk=\x07\x1b]8;;http://x\x1b\\\x1b[2J\u202e"
    fields = {"tool_name": evil, "tool_input": json.dumps({"command": evil})}
    records = [make_record(evil, type=kind, **fields) for kind in get_args(RecordType)]
    records.append(make_call("Write", {"file_path": evil, "content": evil}))
    records.append(make_event(evil, metadata={"note": evil}, content=evil))

    told = "".join(render_records(look, *records))

    assert told
    assert not [c for c in told if ord(c) < 32 or 127 <= ord(c) < 160 or c == "\u202e"]


def test_gaps_are_one_and_stand_outside_of_what_ended():
    lines = ["a", Gap("  │"), Gap(""), Gap("  │"), "b", "", "", "c", Gap("")]

    assert list(collapse_gaps(lines)) == ["a", "", "b", "", "", "c"]
