"""Files, plans and to-do lists that the calls of a unit changed. Pure.

A call counts if it has a result and did not fail; any other call counts only if it
submits a plan, which is then a draft. A shell command counts only where its effect is
certain.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from leslied.model.file_change import FileChange
from leslied.sessions.calls import CallResults
from leslied.sessions.path_changes import has_succeeded, iter_path_changes
from leslied.sessions.tools import (
    TODO_ARGUMENTS,
    TODO_TEXTS,
    find_tool_kind,
    parse_arguments,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leslied.model.file_change import FileChangeKind
    from leslied.model.record import PlacedRecord
    from leslied.sessions.tools import ToolKind

PLAN_AND_TODO_KINDS: tuple[ToolKind, ...] = (
    "plan",
    "steps",
    "todos",
    "new_task",
    "task",
)
"""Kinds of tools that maintain a plan or a to-do list outside of files."""
_TASK_CREATED = re.compile(r"[Tt]ask #(\w+) created")
_CHECK_BOX = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+\[([ xX])\]\s+(\S.*)$", re.MULTILINE)
"""An item of a to-do list in Markdown."""
_MAX_BODY_CHARACTERS = 200_000


def find_file_changes(
    entries: Sequence[PlacedRecord], folder: str, chat_id: str
) -> list[FileChange]:
    """Return the changes by the entries of one unit, in order.

    `folder` is the working folder at the start of the unit; events in the log may
    change it.
    """
    results = CallResults(entries)
    changes: list[FileChange] = []
    for placed in entries:
        record = placed.record
        cwd = record.metadata.get("cwd")
        if record.type == "system_event" and isinstance(cwd, str) and cwd:
            folder = cwd
            changes.append(
                _CallChanges(placed, None, folder, chat_id).make_change("folder", cwd)
            )
        elif record.type == "tool_use":
            result = results.find_result(placed)
            changes += _CallChanges(placed, result, folder, chat_id).find_changes()
    return changes


@dataclass(frozen=True, slots=True)
class _CallChanges:
    """The changes by one call, derived from its result and its working folder.

    An event that changes the working folder is treated as a call without a result.
    """

    placed: PlacedRecord
    result: PlacedRecord | None
    folder: str
    chat_id: str

    def find_changes(self) -> list[FileChange]:
        """Return all changes by the call."""
        kind = find_tool_kind(self.placed.record.tool_name)
        arguments = parse_arguments(self.placed.record.tool_input)
        match kind:
            case "plan":
                return self._find_plan_changes(arguments.get("plan"))
            case _ if not self._has_succeeded(is_shell=kind == "shell"):
                return []
            case "steps" | "todos":
                return self._find_list_changes(arguments, kind)
            case "new_task" | "task":
                return self._find_task_changes(arguments, kind)
        tool = self.placed.record.tool_name
        return [
            self.make_change(change.kind, change.path, change.body)
            for change in iter_path_changes(tool, arguments, self.folder)
        ]

    def make_change(
        self, kind: FileChangeKind, path: str = "", body: str = ""
    ) -> FileChange:
        """Return a change by this call; its body is empty if it would be too long."""
        record = self.placed.record
        return FileChange(
            session=record.session,
            kind=kind,
            path=path,
            tool=record.tool_name,
            call_id=record.tool_call_id,
            chat_id=self.chat_id,
            unit=self.placed.unit,
            read_order=self.placed.read_order,
            at=record.created_at,
            body=body if len(body) <= _MAX_BODY_CHARACTERS else "",
        )

    def _has_succeeded(self, *, is_shell: bool = False) -> bool:
        if self.result is None:
            return False
        result = self.result.record
        return has_succeeded(result.metadata, result.content, is_shell=is_shell)

    def _find_plan_changes(self, plan: Any) -> list[FileChange]:
        """Return the plan; its path is `draft` unless the user accepted it."""
        if not isinstance(plan, str) or not plan.strip():
            return []
        path = "" if self._has_succeeded() else "draft"
        return [self.make_change("plan", path, plan)]

    def _find_list_changes(
        self, arguments: dict[str, Any], kind: Literal["steps", "todos"]
    ) -> list[FileChange]:
        """Return the list, in a form that is the same for all agents.

        The path of the change is `plan` if the items are steps of a plan.
        """
        if arguments.get("command") == "view":
            return []
        names = ("plan",) if kind == "steps" else TODO_ARGUMENTS
        lists = (arguments.get(name) for name in names)
        items = next((each for each in lists if isinstance(each, list)), None)
        if items is None:
            items = _parse_check_boxes(arguments)
        if items is None:
            return []
        steps = [step for item in items if (step := _parse_step(item))]
        body = {"steps": steps, "words": arguments.get("explanation") or ""}
        path = "plan" if kind == "steps" else ""
        return [self.make_change("todos", path, json.dumps(body, ensure_ascii=False))]

    def _find_task_changes(
        self, arguments: dict[str, Any], kind: Literal["new_task", "task"]
    ) -> list[FileChange]:
        """Return the created or updated task; its path is the task's id."""
        task_id = str(arguments.get("taskId") or "")
        if kind == "new_task" and self.result:
            match = _TASK_CREATED.search(self.result.record.content)
            task_id = match[1] if match else ""
        if not task_id:
            return []
        return [
            self.make_change("task", task_id, json.dumps(arguments, ensure_ascii=False))
        ]


def _parse_check_boxes(arguments: dict[str, Any]) -> list[dict[str, str]] | None:
    """Return the items of a to-do list in Markdown; None if no argument has any."""
    items = [
        {"content": text, "status": "pending" if mark == " " else "completed"}
        for argument in arguments.values()
        if isinstance(argument, str)
        for mark, text in _CHECK_BOX.findall(argument)
    ]
    return items or None


def _parse_step(item: Any) -> dict[str, str] | None:
    """Return text and status of an item of any agent's list; None if it has no text."""
    if not isinstance(item, dict):
        return None
    text = next(filter(None, map(item.get, TODO_TEXTS)), None)
    if not isinstance(text, str) or not text.strip():
        return None
    return {"text": text.strip(), "status": str(item.get("status") or "pending")}
