"""Files and lists that tool calls changed, for the tools of every agent."""

from __future__ import annotations

import json
from typing import Any

import pytest

from leslied.model.file_change import FileChange
from leslied.model.record import PlacedRecord
from leslied.sessions.file_changes import find_file_changes
from tests.support.records import make_event, make_record, time_at

FOLDER = "/home/dev/mill"
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
            read_order=number,
            observed_at=time_at(0),
            decoder_version=1,
            path="/logs/a.jsonl",
            generation=1,
            offset=0,
            length=1,
        )
        for number, record in enumerate(records, 1)
    ]


def find_call_changes(
    tool: str, arguments: Any, result: Any = "ok", **metadata: Any
) -> list[FileChange]:
    """Return the changes by one call with this result; None means no result."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    records = [
        make_record("", type="tool_use", tool_name=tool, tool_call_id="c1",
                    tool_input=text, created_at=time_at(1)),
    ]  # fmt: skip
    if result is not None:
        records.append(
            make_record(result, type="tool_result", role="tool", tool_call_id="c1",
                        metadata=metadata),
        )  # fmt: skip
    return find_file_changes(place_records(*records), FOLDER, "chat-1")


def list_paths(changes: list[FileChange]) -> list[tuple[str, str]]:
    return [(change.kind, change.path) for change in changes]


@pytest.mark.parametrize(
    ("tool", "arguments", "kind"),
    [
        ("Write", {"file_path": f"{FOLDER}/plan.md", "content": "x"}, "write"),
        ("Edit", {"file_path": f"{FOLDER}/plan.md"}, "edit"),
        ("MultiEdit", {"file_path": f"{FOLDER}/plan.md", "edits": []}, "edit"),
        ("NotebookEdit", {"notebook_path": f"{FOLDER}/plan.md"}, "edit"),
        ("write_file", {"file_path": f"{FOLDER}/plan.md"}, "write"),
        ("replace", {"file_path": "plan.md"}, "edit"),
        ("write", {"filePath": f"{FOLDER}/plan.md"}, "write"),
        ("edit", {"filePath": f"{FOLDER}/plan.md"}, "edit"),
        ("create", {"path": f"{FOLDER}/plan.md", "file_text": "x"}, "write"),
        ("str_replace", {"path": f"{FOLDER}/plan.md"}, "edit"),
        ("str_replace_editor", {"command": "create", "path": "plan.md"}, "write"),
        ("str_replace_editor", {"command": "insert", "path": "plan.md"}, "edit"),
        ("Bash", {"command": "echo hi > plan.md"}, "write"),
        ("exec_command", {"cmd": "echo > plan.md", "workdir": FOLDER}, "write"),
        ("shell", {"command": ["bash", "-lc", "echo >> plan.md"]}, "append"),
        ("run_shell_command", {"command": "echo > plan.md"}, "write"),
        ("bash", {"command": "echo > plan.md", "mode": "sync"}, "write"),
        ("Write", {"file_path": f"{FOLDER}/x/../plan.md"}, "write"),
    ],
)
def test_the_tools_of_every_agent_are_supported(tool: str, arguments: Any, kind: str):
    (change,) = find_call_changes(tool, arguments)

    assert (change.kind, change.path) == (kind, f"{FOLDER}/plan.md")
    assert (change.tool, change.call_id, change.chat_id) == (tool, "c1", "chat-1")
    assert (change.unit, change.at) == (1, time_at(1))


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("apply_patch", {"input": _PATCH}),
        ("apply_patch", _PATCH),
        ("patch", {"patchText": _PATCH}),
        ("shell", {"command": ["apply_patch", _PATCH]}),
        ("shell", {"command": ["bash", "-lc", f"apply_patch <<'E'\n{_PATCH}E\n"]}),
    ],
)
def test_a_patch_changes_every_file_that_it_names(tool: str, arguments: Any):
    assert list_paths(find_call_changes(tool, arguments)) == [
        ("write", f"{FOLDER}/plan.md"),
        ("edit", f"{FOLDER}/design.md"),
        ("move", f"{FOLDER}/design/20261116-a-b-c.md"),
        ("delete", f"{FOLDER}/old.md"),
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
def test_a_call_that_failed_or_has_no_result_changed_nothing(
    result: str | None, metadata: dict[str, Any]
):
    arguments = {"command": "echo > plan.md"}

    assert find_call_changes("Bash", arguments, result, **metadata) == []


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("Bash", {"command": "echo > plan.md", "run_in_background": True}),
        ("bash", {"command": "echo > plan.md", "mode": "async"}),
        ("Read", {"file_path": f"{FOLDER}/plan.md"}),
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
def test_an_uncertain_change_is_omitted(tool: str, arguments: Any):
    assert find_call_changes(tool, arguments) == []


def test_an_event_with_a_folder_changes_the_folder_of_later_calls():
    arguments = {"command": "echo > plan.md"}
    folder_event = make_event("context", metadata={"cwd": "/srv/dam"})
    call = make_record(
        type="tool_use",
        tool_name="Bash",
        tool_call_id="c",
        tool_input=json.dumps(arguments),
    )
    result = make_record(type="tool_result", role="tool", tool_call_id="c")

    changes = find_file_changes(
        place_records(folder_event, call, result), FOLDER, "chat-1"
    )

    assert list_paths(changes) == [
        ("folder", "/srv/dam"),
        ("write", "/srv/dam/plan.md"),
    ]


def test_a_relative_path_without_a_folder_is_omitted():
    call = make_record(
        type="tool_use",
        tool_name="Write",
        tool_call_id="c",
        tool_input='{"file_path": "plan.md"}',
    )
    result = make_record(type="tool_result", role="tool", tool_call_id="c")

    assert find_file_changes(place_records(call, result), "", "chat-1") == []


def test_a_plan_is_recorded_with_its_text_and_as_a_draft_if_refused():
    (accepted,) = find_call_changes("ExitPlanMode", {"plan": "# Plan"})
    (refused,) = find_call_changes(
        "ExitPlanMode", {"plan": "# Plan"}, "no", is_error=True
    )

    assert (accepted.kind, accepted.path, accepted.body) == ("plan", "", "# Plan")
    assert refused.path == "draft"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("TodoWrite", {"todos": [{"content": "Dam", "status": "completed"}]}),
        ("todowrite", {"todos": [{"content": "Dam", "status": "completed"}]}),
        ("write_todos", {"todos": [{"description": "Dam", "status": "completed"}]}),
        ("TodoWrite", {"todos": [{"title": "Dam", "status": "completed"}]}),
        ("TodoWrite", {"task_list": [{"title": "Dam", "status": "completed"}]}),
        ("update_plan", {"plan": [{"step": "Dam", "status": "completed"}]}),
        ("todo_write", {"content": "# To do\n- [x] Dam\nMore."}),
    ],
)
def test_todo_lists_of_all_agents_are_recorded_in_the_same_form(
    tool: str, arguments: Any
):
    (change,) = find_call_changes(tool, arguments)

    assert change.kind == "todos"
    assert json.loads(change.body)["steps"] == [{"text": "Dam", "status": "completed"}]


@pytest.mark.parametrize(
    ("result", "metadata"), [("Not allowed", {"is_error": True}), (None, {})]
)
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("TodoWrite", {"todos": [{"content": "Dam", "status": "completed"}]}),
        ("update_plan", {"plan": [{"step": "Dam", "status": "completed"}]}),
        ("TaskUpdate", {"taskId": "7", "status": "completed"}),
        ("todo_write", {"content": "- [ ] Dam"}),
    ],
)
def test_a_list_is_unchanged_by_a_call_that_was_refused_or_has_no_result(
    tool: str, arguments: Any, result: Any, metadata: Any
):
    assert find_call_changes(tool, arguments, result, **metadata) == []


def test_a_list_is_unchanged_by_a_call_that_reads_it():
    assert find_call_changes("TodoWrite", {"command": "view", "task_list": []}) == []


def test_a_created_task_gets_its_id_from_the_result():
    (created,) = find_call_changes(
        "TaskCreate", {"subject": "Dam"}, "Task #7 created successfully"
    )
    (updated,) = find_call_changes("TaskUpdate", {"taskId": "7", "status": "completed"})

    assert (created.path, updated.path) == ("7", "7")
    assert find_call_changes("TaskCreate", {"subject": "Dam"}, "it went wrong") == []
