"""Tool results of iFlow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from leslied.agents.iflow.results import simplify_results
from leslied.model.source import FileStamp, RawEntry, Shape, SourceRef

ROOT = Path("/home/dev/.iflow/projects")


def make_entry(value: dict[str, Any]) -> RawEntry:
    source = SourceRef(
        agent="iflow",
        path=ROOT / "-app" / "session-1.jsonl",
        root=ROOT,
        shape=Shape.APPEND_LOG,
        stamp=FileStamp(0, 0, 0, 0, 0),
    )
    return RawEntry(source, 0, json.dumps(value).encode())


def make_line(content: object, **fields: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": "call_1", "content": content}
    return {"type": "user", "message": {"content": [block]}, **fields}


def simplify(line: dict[str, Any]) -> dict[str, Any]:
    (block,) = json.loads(simplify_results(make_entry(line)).data)["message"]["content"]
    return dict(block)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ({"functionResponse": {"response": {"output": "Done."}}}, "Done."),
        ({"responseParts": {"functionResponse": {"response": {"error": "E"}}}}, "E"),
        ({"resultDisplay": "Shown."}, "Shown."),
        ({"other": 1}, '{"other":1}'),
        ("plain", "plain"),
    ],
)
def test_a_result_becomes_text(content: object, text: str):
    assert simplify(make_line(content))["content"] == text


@pytest.mark.parametrize(
    ("status", "is_error"), [("success", False), ("", False), ("error", True)]
)
def test_the_status_marks_an_error(status: str, is_error: bool):  # noqa: FBT001
    line = make_line({"resultDisplay": "x"}, toolUseResult={"status": status})

    assert simplify(line).get("is_error", False) == is_error


@pytest.mark.parametrize(
    "line", [{"type": "user"}, make_line("text"), make_line({"a": 1}, type="later")]
)
def test_other_lines_stay_as_they_are(line: dict[str, Any]):
    entry = make_entry(line)

    assert simplify_results(entry) == entry
