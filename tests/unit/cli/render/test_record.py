"""Tests of rendering one record, for a terminal and a pipe."""

from __future__ import annotations

import json
from typing import get_args

import click
import pytest
from rich.cells import cell_len

from leslied.cli.render.options import Gap, RenderOptions, collapse_gaps
from leslied.cli.render.record import RecordRenderer
from leslied.model.record import INJECT, SHELL, Record, RecordType
from tests.support.records import make_event, make_prompt, make_record


def make_call(tool: str, arguments: object, call_id: str = "c") -> Record:
    return make_record(
        "",
        type="tool_use",
        tool_name=tool,
        tool_input=json.dumps(arguments),
        tool_call_id=call_id,
    )


def make_result(content: str, call_id: str = "c", **metadata: object) -> Record:
    return make_record(
        content,
        type="tool_result",
        role="tool",
        tool_call_id=call_id,
        metadata=metadata,
    )


def render_records(
    options: RenderOptions, *records: Record, indent: str = ""
) -> list[str]:
    renderer = RecordRenderer(options)
    lines = [line for record in records for line in renderer.render(record, indent)]
    return [click.unstyle(line) for line in collapse_gaps(lines)]


PLAIN, RICH = RenderOptions(), RenderOptions(width=60, folder="/home/dev/app")


def test_a_pipe_gets_unrendered_markdown():
    assert render_records(PLAIN, make_record("# one\n**two**")) == ["# one", "**two**"]


def test_a_pipe_gets_no_escape_sequences():
    records = [
        make_prompt("a"),
        make_call("Edit", {"file_path": "/x"}),
        make_event("x"),
    ]
    renderer = RecordRenderer(
        RenderOptions(is_full=True, include_thinking=True, tool_output="whole")
    )

    text = "".join(line for record in records for line in renderer.render(record, ""))

    assert text
    assert "\x1b" not in text


def test_wrapped_lines_keep_their_indent():
    lines = render_records(RICH, make_prompt("word " * 40), indent="    ")

    body = [line for line in lines if line]
    assert len(body) > 3
    assert all(line.startswith("    > ") for line in body)
    assert max(map(cell_len, body)) <= 60


@pytest.mark.parametrize(
    "options", [RICH, RenderOptions(width=60, tool_output="whole")]
)
def test_lines_with_wide_characters_fit_the_terminal(options: RenderOptions):
    records = [
        make_prompt("日本語のプロンプト" * 20),
        make_record("日本語🎉" * 40),
        make_call("Bash", {"command": "echo " + "日本" * 60}),
        make_result("日本\t語" * 60),
    ]

    lines = render_records(options, *records, indent="  ")

    assert max(map(cell_len, lines)) <= 60


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
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
def test_a_call_shows_its_most_informative_argument(
    tool: str, arguments: object, expected: str
):
    assert render_records(RICH, make_call(tool, arguments)) == [expected]


def test_in_a_pipe_paths_are_not_shortened():
    call = make_call("Read", {"file_path": "/home/dev/app/src/a.py"})

    assert render_records(PLAIN, call) == ["● Read /home/dev/app/src/a.py"]


def test_the_result_of_a_shown_edit_is_hidden():
    edit = {"file_path": "/home/dev/app/a", "old_string": "x", "new_string": "y"}

    lines = render_records(
        RICH, make_call("Edit", edit), make_result("The file is updated.")
    )

    assert lines == ["● Edit a +1 -1", "    - x", "    + y"]


def test_the_result_of_a_failed_edit_is_shown():
    edit = {"file_path": "/a", "old_string": "x", "new_string": "y"}

    lines = render_records(
        RICH, make_call("Edit", edit), make_result("No match.", is_error=True)
    )

    assert lines[-1] == "  ✗ No match."


def test_a_result_is_cut_unless_whole_output_is_requested():
    result = make_result("\n".join("123456"))

    assert render_records(PLAIN, result)[-2:] == ["    4", "    … 2 more lines"]
    assert render_records(RenderOptions(tool_output="whole"), result)[-1] == "    6"
    assert (
        render_records(RenderOptions(tool_output="none"), make_call("a", {}), result)
        == []
    )


def test_thinking_is_shown_on_request_only():
    thought = make_record("hm", type="thinking")

    assert render_records(PLAIN, thought) == []
    assert render_records(RenderOptions(include_thinking=True), thought) == ["~ hm"]


@pytest.mark.parametrize(
    "options",
    [
        PLAIN,
        RICH,
        RenderOptions(
            width=60, is_full=True, tool_output="whole", include_thinking=True
        ),
    ],
)
def test_no_record_can_print_control_characters(options: RenderOptions):
    hostile = "".join(map(chr, [*range(9), *range(11, 32), *range(127, 160)]))
    hostile += "\x1b]52;c;aGk=\x07\x1b]8;;http://x\x1b\\\x1b[2J\u202e"
    fields = {"tool_name": hostile, "tool_input": json.dumps({"command": hostile})}
    types = get_args(RecordType)
    records = [make_record(hostile, type=each, **fields) for each in types]
    records.append(make_call("Write", {"file_path": hostile, "content": hostile}))
    records.append(make_event(hostile, metadata={"note": hostile}, content=hostile))

    text = "".join(render_records(options, *records))

    assert text
    assert not [c for c in text if ord(c) < 32 or 127 <= ord(c) < 160 or c == "\u202e"]


def test_adjacent_gaps_collapse_into_the_outermost():
    lines = ["a", Gap("  │"), Gap(""), Gap("  │"), "b", "", "", "c", Gap("")]

    assert list(collapse_gaps(lines)) == ["a", "", "b", "", "", "c"]


def test_a_result_shows_what_the_subagent_reported():
    result = make_result("[frame]\n  found it\n[trailer]", report="found it")

    assert render_records(PLAIN, result) == ["  └ found it"]


def test_the_whole_result_has_the_words_of_the_log():
    options = RenderOptions(is_full=True, tool_output="whole")
    result = make_result("[frame] found it", report="found it")

    assert render_records(options, result) == ["  └ [frame] found it"]


def test_a_notification_shows_the_first_lines_of_the_report():
    report = "\n".join("abcdef")
    metadata = {"notification": "task \x1b[1m over", "report": report}
    lines = render_records(PLAIN, make_event("notice", metadata=metadata))

    assert lines[0] == "◆ task ␛[1m over"
    assert lines[1:] == ["  └ a", "    b", "    c", "    d", "    … 2 more lines"]


def test_a_compaction_is_shown_once_and_with_its_command():
    records = [
        make_event("compacted", metadata={"note": "compact_boundary"}),
        make_event("compacted", metadata={"note": "summary"}, content="Long ago"),
        make_prompt("/compact it", metadata={"asks_for": "compacted"}),
    ]

    lines = render_records(PLAIN, *records)

    assert lines == ["≈ conversation compacted", "≈ /compact it"]


def test_a_rewind_is_shown():
    assert render_records(PLAIN, make_event("rewound")) == ["↶ conversation rewound"]


# Output of commands and injected messages


def test_the_output_of_a_shell_command_follows_it_like_a_result():
    output = make_event("notice", content="one\ntwo", tool_name=SHELL)

    lines = render_records(PLAIN, make_prompt("! ls"), output)

    assert lines[1:] == ["> ! ls", "", "  └ one", "    two"]


def test_an_injected_message_is_shown_whole_and_named():
    text = "\n".join(f"line {number}" for number in range(20))
    message = make_event("notice", content=text, tool_name=INJECT)

    lines = render_records(PLAIN, message)

    assert lines[0] == "● leslied inject"
    assert lines[1:] == [f"  line {number}" for number in range(20)]
