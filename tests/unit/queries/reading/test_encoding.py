"""The JSON form of messages."""

from __future__ import annotations

import json
from typing import Any

from leslied.model.record import Record
from leslied.queries.reading.encoding import (
    MAX_DIFF_LINES,
    MAX_OUTPUT_LINES,
    MessageEncoder,
    count_images,
    encode_arguments,
    encode_edit,
    encode_output,
)
from leslied.queries.reading.pages import make_shown_unit
from leslied.rendering.edits import FileEdit
from tests.support.records import START_TIME, make_prompt, make_record, time_at
from tests.support.units import make_placed, make_unit


def make_call(tool: str, arguments: dict[str, Any], **fields: Any) -> Record:
    return make_record(
        "",
        type="tool_use",
        tool_name=tool,
        tool_call_id="c1",
        tool_input=json.dumps(arguments),
        created_at=time_at(0),
        **fields,
    )


def make_result(content: str, **fields: Any) -> Record:
    return make_record(
        content, type="tool_result", role="tool", tool_call_id="c1", **fields
    )


def encode(*records: Record) -> list[dict[str, Any]]:
    encoder = MessageEncoder(START_TIME, "/home/dev/app")
    return [encoder.encode(m) for m in make_shown_unit(make_unit(*records)).messages]


def encode_call(*records: Record) -> dict[str, Any]:
    (message,) = encode(*records)
    (call,) = message["calls"]
    return dict(call)


def test_a_call_has_its_duration_and_outcome():
    call = encode_call(
        make_call("Bash", {"command": "ls"}), make_result("a", created_at=time_at(1.5))
    )

    assert (call["duration_ms"], call["outcome"]) == (1500, "ok")
    assert (call["tool"], call["label"], call["text"]) == ("Bash", "ls", "a")


def test_a_failed_call_and_one_without_an_answer_are_marked():
    failed = make_result("no", metadata={"is_error": True})

    assert encode_call(make_call("Bash", {}), failed)["outcome"] == "failed"
    assert encode_call(make_call("Bash", {}))["outcome"] == "unanswered"


def test_an_edit_is_a_diff_with_a_path_relative_to_the_folder():
    arguments = {
        "file_path": "/home/dev/app/a.py",
        "old_string": "x",
        "new_string": "y",
    }

    call = encode_call(make_call("Edit", arguments))

    assert call["label"] == "a.py"
    assert call["arguments"] == []
    assert call["edits"][0]["lines"] == [["-", "x"], ["+", "y"]]


def test_a_report_is_markdown():
    call = encode_call(
        make_call("Task", {}), make_result("wrapped", metadata={"report": "**done**"})
    )

    assert "<strong>done</strong>" in call["html"]


def test_a_task_is_markdown_and_a_prompt_is_plain_text():
    task = make_prompt("**do** it", metadata={"origin": "task"})

    assert "<strong>" in encode(task)[0]["html"]
    assert encode(make_prompt("**do** it"))[0]["html"] == ""


def test_a_compaction_is_an_event_with_its_summary():
    record = make_record(
        "what was said", type="system_event", metadata={"kind": "compacted"}
    )

    (event,) = encode(record)

    assert (event["speaker"], event["kind"]) == ("event", "compacted")
    assert "what was said" in event["html"]


def test_an_error_has_its_text():
    (error,) = encode(make_record("overloaded", type="error"))

    assert (error["speaker"], error["text"]) == ("error", "overloaded")


def test_a_long_output_is_cut():
    output = encode_output("line\n" * (MAX_OUTPUT_LINES + 1))

    assert output["is_cut"]
    assert output["text"].count("\n") == MAX_OUTPUT_LINES - 1


def test_control_characters_are_shown_by_name():
    assert encode_output("\x1b[2K")["text"] == "\u241b[2K"


def test_a_long_diff_is_cut():
    edit = encode_edit(FileEdit("a", (("+", "x"),) * (MAX_DIFF_LINES + 2)))

    assert (len(edit["lines"]), edit["hidden_lines"]) == (MAX_DIFF_LINES, 2)


def test_arguments_that_are_not_texts_are_json():
    command, options = encode_arguments({"command": "ls <x>", "n": {"a": 1}})

    assert "&lt;" in command["html"]
    assert (options["text"], options["html"]) == ('{\n  "a": 1\n}', "")


def test_images_are_counted():
    text = (
        "[image image/png, 5 KB]\n[image image/svg+xml, 1 KB]\n[image image/gif, 1 B]"
    )

    assert count_images(make_placed(make_record(text))) == 2
