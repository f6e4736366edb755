"""Which calls touched which files: every agent's own words for it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from leslied.model.file_change import FileChange
from leslied.model.record import PlacedRecord
from leslied.sessions.file_changes import find_file_changes
from tests.support.records import make_event, make_record, time_at

HERE = "/home/dev/mill"
_PATCH = (
    "*** Begin Patch\n*** Add File: plan.md\n+x\n*** Update File: design.md\n"
    "*** Move to: design/20261116-a-b-c.md\n@@\n-a\n+b\n*** Delete File: old.md\n"
    "*** End Patch\n"
)


def place_records(*records: Any) -> list[PlacedRecord]:
    return [
        PlacedRecord(
            record=record,
            entry_id=f"{number:032x}",
            sequence=number,
            unit=1,
            placement=number,
            observed_at=time_at(0),
            decoder_version=1,
            path="/logs/a.jsonl",
            generation=1,
            offset=0,
            length=1,
        )
        for number, record in enumerate(records, 1)
    ]


def changes_of_call(
    tool: str, told: Any, result: Any = "ok", **metadata: Any
) -> list[FileChange]:
    """What one call touched that was answered so; None is no answer."""
    text = told if isinstance(told, str) else json.dumps(told)
    records = [
        make_record("", type="tool_use", tool_name=tool, tool_call_id="c1",
                    tool_input=text, created_at=time_at(1)),
    ]  # fmt: skip
    if result is not None:
        records.append(
            make_record(result, type="tool_result", role="tool", tool_call_id="c1",
                        metadata=metadata),
        )  # fmt: skip
    return find_file_changes(place_records(*records), HERE, "chat-1")


def paths(touches: list[FileChange]) -> list[tuple[str, str]]:
    return [(touch.kind, touch.path) for touch in touches]


@pytest.mark.parametrize(
    ("tool", "told", "kind"),
    [
        ("Write", {"file_path": f"{HERE}/plan.md", "content": "x"}, "write"),
        ("Edit", {"file_path": f"{HERE}/plan.md"}, "edit"),
        ("MultiEdit", {"file_path": f"{HERE}/plan.md", "edits": []}, "edit"),
        ("NotebookEdit", {"notebook_path": f"{HERE}/plan.md"}, "edit"),
        ("write_file", {"file_path": f"{HERE}/plan.md"}, "write"),
        ("replace", {"file_path": "plan.md"}, "edit"),
        ("write", {"filePath": f"{HERE}/plan.md"}, "write"),
        ("edit", {"filePath": f"{HERE}/plan.md"}, "edit"),
        ("create", {"path": f"{HERE}/plan.md", "file_text": "x"}, "write"),
        ("str_replace", {"path": f"{HERE}/plan.md"}, "edit"),
        ("str_replace_editor", {"command": "create", "path": "plan.md"}, "write"),
        ("str_replace_editor", {"command": "insert", "path": "plan.md"}, "edit"),
        ("Bash", {"command": "echo hi > plan.md"}, "write"),
        ("exec_command", {"cmd": "echo > plan.md", "workdir": HERE}, "write"),
        ("shell", {"command": ["bash", "-lc", "echo >> plan.md"]}, "append"),
        ("run_shell_command", {"command": "echo > plan.md"}, "write"),
        ("bash", {"command": "echo > plan.md", "mode": "sync"}, "write"),
        ("Write", {"file_path": f"{HERE}/x/../plan.md"}, "write"),
    ],
)
def test_every_agents_tools_are_known(tool: str, told: Any, kind: str):
    (touch,) = changes_of_call(tool, told)

    assert (touch.kind, touch.path) == (kind, f"{HERE}/plan.md")
    assert (touch.tool, touch.call_id, touch.chat_id) == (tool, "c1", "chat-1")
    assert (touch.unit, touch.at) == (1, time_at(1))


@pytest.mark.parametrize(
    ("tool", "told"),
    [
        ("apply_patch", {"input": _PATCH}),
        ("apply_patch", _PATCH),
        ("patch", {"patchText": _PATCH}),
        ("shell", {"command": ["apply_patch", _PATCH]}),
        ("shell", {"command": ["bash", "-lc", f"apply_patch <<'E'\n{_PATCH}E\n"]}),
    ],
)
def test_a_patch_names_every_file_it_touches(tool: str, told: Any):
    assert paths(changes_of_call(tool, told)) == [
        ("write", f"{HERE}/plan.md"),
        ("edit", f"{HERE}/design.md"),
        ("move", f"{HERE}/design/20261116-a-b-c.md"),
        ("delete", f"{HERE}/old.md"),
    ]


@pytest.mark.parametrize(
    ("result", "metadata"),
    [
        (None, {}),
        ("no such file", {"is_error": True}),
        ("", {"exit_code": 1}),
        ("Output: x\nExit Code: 3", {}),
        ("<shellId: 0 completed with exit code 3>", {}),
    ],
)
def test_a_call_that_failed_or_was_never_answered_touched_nothing(
    result: str | None, metadata: dict[str, Any]
):
    told = {"command": "echo > plan.md"}

    assert changes_of_call("Bash", told, result, **metadata) == []


@pytest.mark.parametrize(
    ("tool", "told"),
    [
        ("Bash", {"command": "echo > plan.md", "run_in_background": True}),
        ("bash", {"command": "echo > plan.md", "mode": "async"}),
        ("Read", {"file_path": f"{HERE}/plan.md"}),
        ("mcp__files__write_file", {"path": "plan.md"}),
        ("Write", {"content": "x"}),
        ("Write", "not json"),
        ("Write", [1]),
        ("Write", {"file_path": 7}),
        ("Bash", {"command": None}),
        ("shell", {"command": ["python", "-c", "open('plan.md')"]}),
        ("Write", {"file_path": "/a\0b"}),
    ],
)
def test_what_is_not_certain_is_not_told(tool: str, told: Any):
    assert changes_of_call(tool, told) == []


def test_entries_that_tell_of_a_folder_move_the_calls_after_them():
    told = {"command": "echo > plan.md"}
    move = make_event("context", metadata={"cwd": "/srv/dam"})
    use = make_record(
        type="tool_use", tool_name="Bash", tool_call_id="c", tool_input=json.dumps(told)
    )
    answer = make_record(type="tool_result", role="tool", tool_call_id="c")

    touches = find_file_changes(place_records(move, use, answer), HERE, "chat-1")

    assert paths(touches) == [("folder", "/srv/dam"), ("write", "/srv/dam/plan.md")]


def test_an_edit_of_a_file_nobody_knows_the_folder_of_is_not_told():
    use = make_record(
        type="tool_use",
        tool_name="Write",
        tool_call_id="c",
        tool_input='{"file_path": "plan.md"}',
    )
    answer = make_record(type="tool_result", role="tool", tool_call_id="c")

    assert find_file_changes(place_records(use, answer), "", "chat-1") == []


def test_a_plan_that_was_shown_is_kept_with_its_words():
    (agreed,) = changes_of_call("ExitPlanMode", {"plan": "# Plan"})
    (refused,) = changes_of_call(
        "ExitPlanMode", {"plan": "# Plan"}, "no", is_error=True
    )

    assert (agreed.kind, agreed.path, agreed.body) == ("plan", "", "# Plan")
    assert refused.path == "draft"


@pytest.mark.parametrize(
    ("tool", "told"),
    [
        ("TodoWrite", {"todos": [{"content": "Dam", "status": "completed"}]}),
        ("todowrite", {"todos": [{"content": "Dam", "status": "completed"}]}),
        ("write_todos", {"todos": [{"description": "Dam", "status": "completed"}]}),
        ("update_plan", {"plan": [{"step": "Dam", "status": "completed"}]}),
    ],
)
def test_every_agents_lists_have_one_form(tool: str, told: Any):
    (touch,) = changes_of_call(tool, told)

    assert touch.kind == "todos"
    assert json.loads(touch.body)["steps"] == [{"text": "Dam", "status": "completed"}]


def test_a_task_has_the_number_its_answer_told():
    (made,) = changes_of_call(
        "TaskCreate", {"subject": "Dam"}, "Task #7 created successfully"
    )
    (changed,) = changes_of_call("TaskUpdate", {"taskId": "7", "status": "completed"})

    assert (made.path, changed.path) == ("7", "7")
    assert changes_of_call("TaskCreate", {"subject": "Dam"}, "it went wrong") == []
