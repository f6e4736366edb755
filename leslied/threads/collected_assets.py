"""Assets collected from plans and to-do lists outside the thread's folder."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from leslied.model.file_change import FileChange

COLLECTED_FOLDER = ".meta/collected"
"""Folder below the thread's folder, separate from assets that agents write."""
PLAN_FILE = re.compile(r".*/\.claude/plans/[^/]+\.md", re.DOTALL)
"""Paths of the files in which Claude Code keeps the plans of its plan mode."""
_STATES = {"completed": "done", "done": "done", "in_progress": "doing"}
_REMOVED_STATES = ("cancelled", "canceled", "deleted")

CollectedType = Literal["plan", "progress"]


@dataclass(frozen=True, slots=True)
class CollectedAsset:
    """The text of one collected asset, and the last call that changed it."""

    type: CollectedType
    text: str
    last_call: FileChange

    @property
    def relative_path(self) -> str:
        """Path below the thread's folder."""
        return f"{COLLECTED_FOLDER}/{self.type}.md"


@dataclass(slots=True)
class _TodoItem:
    text: str
    state: str
    blocked_by: list[str] = field(default_factory=list)
    """Ids of the blocking tasks; their texts once all calls are applied."""


def collect_assets(
    changes: Sequence[FileChange], read_plan: Callable[[str], str | None]
) -> list[CollectedAsset]:
    """Return the plan and the progress of one session, those that exist.

    `changes` are all changes of the session, in order. `read_plan` returns the current
    text of a plan file, or None.
    """
    assets = (_find_plan(changes, read_plan), _find_progress(changes))
    return [asset for asset in assets if asset]


def _find_plan(
    changes: Sequence[FileChange], read_plan: Callable[[str], str | None]
) -> CollectedAsset | None:
    file_changes = [c for c in changes if c.path and PLAN_FILE.fullmatch(c.path)]
    proposed = [c for c in changes if c.kind == "plan"]
    # A plan that was not accepted has the path "draft".
    accepted = [c for c in proposed if not c.path]
    if file_changes and (text := read_plan(file_changes[-1].path)):
        return CollectedAsset("plan", _end_with_newline(text), file_changes[-1])
    written = [c for c in file_changes if c.kind == "write" and c.body]
    for plans in (accepted, written, proposed):
        if plans:
            text = _end_with_newline(plans[-1].body)
            return CollectedAsset("plan", text, plans[-1])
    lists = [c for c in changes if c.kind == "todos" and c.path == "plan"]
    if lists and (items := _parse_items(lists[-1])):
        return CollectedAsset("plan", _render_plan(lists[-1], items), lists[-1])
    return None


def _find_progress(changes: Sequence[FileChange]) -> CollectedAsset | None:
    list_changes = [c for c in changes if c.kind in ("todos", "task")]
    if not list_changes:
        return None
    last = list_changes[-1]
    items = _parse_items(last) if last.kind == "todos" else _apply_tasks(list_changes)
    return CollectedAsset("progress", _render_progress(items), last) if items else None


def _parse_items(change: FileChange) -> list[_TodoItem]:
    body = json.loads(change.body or "{}")
    return [
        _TodoItem(step["text"], _STATES.get(step["status"], "open"))
        for step in body.get("steps", [])
        if step["status"] not in _REMOVED_STATES
    ]


def _apply_tasks(changes: Sequence[FileChange]) -> list[_TodoItem]:
    """Return the items as they are after all calls that created or updated a task."""
    tasks: dict[str, _TodoItem] = {}
    for change in changes:
        if change.kind != "task":
            continue
        body: dict[str, Any] = json.loads(change.body or "{}")
        status = str(body.get("status") or "")
        if status in _REMOVED_STATES:
            tasks.pop(change.path, None)
            continue
        task = tasks.setdefault(change.path, _TodoItem("", "open"))
        task.text = str(body.get("subject") or task.text)
        task.state = _STATES.get(status, "open") if status else task.state
        blocker_ids = body.get("addBlockedBy")
        if isinstance(blocker_ids, list):
            task.blocked_by += [str(task_id) for task_id in blocker_ids]
    for task in tasks.values():
        blockers = [tasks[task_id] for task_id in task.blocked_by if task_id in tasks]
        task.blocked_by = [item.text for item in blockers if item.state != "done"]
        if task.blocked_by and task.state != "done":
            task.state = "blocked"
    return [task for task in tasks.values() if task.text]


def _render_plan(change: FileChange, items: list[_TodoItem]) -> str:
    intro = str(json.loads(change.body).get("words") or "").strip()
    numbered = [f"{n}. {_join_lines(item.text)}" for n, item in enumerate(items, 1)]
    return "\n".join(["# Plan", "", *([intro, ""] if intro else []), *numbered, ""])


def _render_progress(items: list[_TodoItem]) -> str:
    done = sum(item.state == "done" for item in items)
    percent = 100 * done // len(items)
    lines = [
        "# Progress",
        "",
        f"**Overall Completion**: {percent}% ({done}/{len(items)})",
    ]
    for state, heading in (
        ("doing", "In Progress"),
        ("open", "To Do"),
        ("blocked", "Blocked"),
        ("done", "Completed"),
    ):
        section = [item for item in items if item.state == state]
        if section:
            lines += ["", f"## {heading}", "", *map(_render_item, section)]
    return "\n".join([*lines, ""])


def _render_item(item: _TodoItem) -> str:
    mark = "x" if item.state == "done" else " "
    suffix = f" (waits for {', '.join(item.blocked_by)})" if item.blocked_by else ""
    return f"- [{mark}] {_join_lines(item.text)}{_join_lines(suffix)}"


def _join_lines(text: str) -> str:
    return re.sub(r"\s*\n\s*", " ", text).rstrip()


def _end_with_newline(text: str) -> str:
    return text.rstrip("\n") + "\n"
