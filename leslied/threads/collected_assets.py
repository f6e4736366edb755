"""Assets collected from plans and to-do lists that are not in a thread's folder."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from leslied.model.file_change import FileChange

_STATES_BY_STATUS = {"completed": "done", "done": "done", "in_progress": "doing"}
"""Our state of an item for each status that agents use; any other status is open."""
_REMOVED_STATUSES = ("cancelled", "canceled", "deleted")

CollectedType = Literal["plan", "progress"]


@dataclass(frozen=True, slots=True)
class CollectedAsset:
    """The text of one collected asset, and the last call that changed it."""

    type: CollectedType
    text: str
    last_call: FileChange


@dataclass(slots=True)
class _TodoItem:
    text: str
    state: str
    """One of `open`, `doing`, `blocked` and `done`."""
    blocker_ids: list[str] = field(default_factory=list)
    """Ids of the tasks that must be done first."""
    blocked_by: list[str] = field(default_factory=list)
    """Texts of the blocking tasks that are not done, set after all calls."""


def collect_assets(
    changes: Sequence[FileChange],
    is_plan_file: Callable[[str], bool],
    read_plan: Callable[[str], str | None],
) -> list[CollectedAsset]:
    """Return the plan and the progress of one session, as far as they exist.

    `changes` are all changes of the session, in order. `is_plan_file` tells whether an
    agent keeps a plan at a path; `read_plan` returns its current text, or None.
    """
    plan_file_changes = [c for c in changes if c.path and is_plan_file(c.path)]
    plan = _find_plan(changes, plan_file_changes, read_plan)
    assets = (plan, _find_progress(changes))
    return [asset for asset in assets if asset]


def _find_plan(
    changes: Sequence[FileChange],
    plan_file_changes: Sequence[FileChange],
    read_plan: Callable[[str], str | None],
) -> CollectedAsset | None:
    """Return the newest plan of the best kind that the session has.

    The kinds, best first: the current text of a plan file, an accepted plan, the last
    text written to a plan file, a proposed plan, a list of steps.
    """
    proposed_plans = [c for c in changes if c.kind == "plan"]
    # A plan that was not accepted has the path "draft".
    accepted_plans = [c for c in proposed_plans if not c.path]
    if plan_file_changes and (text := read_plan(plan_file_changes[-1].path)):
        return CollectedAsset("plan", _end_with_newline(text), plan_file_changes[-1])
    written_plans = [c for c in plan_file_changes if c.kind == "write" and c.body]
    for plans in (accepted_plans, written_plans, proposed_plans):
        if plans:
            text = _end_with_newline(plans[-1].body)
            return CollectedAsset("plan", text, plans[-1])
    step_lists = [c for c in changes if c.kind == "todos" and c.path == "plan"]
    if step_lists and (items := _parse_items(step_lists[-1])):
        text = _render_plan(step_lists[-1], items)
        return CollectedAsset("plan", text, step_lists[-1])
    return None


def _find_progress(changes: Sequence[FileChange]) -> CollectedAsset | None:
    """Return the last to-do list, or all tasks if a task was changed after it."""
    list_changes = [c for c in changes if c.kind in ("todos", "task")]
    if not list_changes:
        return None
    last = list_changes[-1]
    items = _parse_items(last) if last.kind == "todos" else _apply_tasks(list_changes)
    return CollectedAsset("progress", _render_progress(items), last) if items else None


def _parse_items(change: FileChange) -> list[_TodoItem]:
    body = json.loads(change.body or "{}")
    return [
        _TodoItem(step["text"], _STATES_BY_STATUS.get(step["status"], "open"))
        for step in body.get("steps", [])
        if step["status"] not in _REMOVED_STATUSES
    ]


def _apply_tasks(changes: Sequence[FileChange]) -> list[_TodoItem]:
    """Return the items as they are after all calls that created or updated a task."""
    tasks: dict[str, _TodoItem] = {}
    for change in changes:
        if change.kind != "task":
            continue
        body: dict[str, Any] = json.loads(change.body or "{}")
        status = str(body.get("status") or "")
        if status in _REMOVED_STATUSES:
            tasks.pop(change.path, None)
            continue
        task = tasks.setdefault(change.path, _TodoItem("", "open"))
        task.text = str(body.get("subject") or task.text)
        task.state = _STATES_BY_STATUS.get(status, "open") if status else task.state
        blocker_ids = body.get("addBlockedBy")
        if isinstance(blocker_ids, list):
            task.blocker_ids += [str(task_id) for task_id in blocker_ids]
    for task in tasks.values():
        blockers = [tasks[task_id] for task_id in task.blocker_ids if task_id in tasks]
        task.blocked_by = [item.text for item in blockers if item.state != "done"]
        if task.blocked_by and task.state != "done":
            task.state = "blocked"
    return [task for task in tasks.values() if task.text]


def _render_plan(change: FileChange, items: list[_TodoItem]) -> str:
    intro = str(json.loads(change.body).get("words") or "").strip()
    numbered = [f"{n}. {_join_lines(item.text)}" for n, item in enumerate(items, 1)]
    return "\n".join(["# Plan", "", *([intro, ""] if intro else []), *numbered, ""])


def _render_progress(items: list[_TodoItem]) -> str:
    done_count = sum(item.state == "done" for item in items)
    percent = 100 * done_count // len(items)
    lines = [
        "# Progress",
        "",
        f"**Overall Completion**: {percent}% ({done_count}/{len(items)})",
    ]
    for state, heading in (
        ("doing", "In Progress"),
        ("open", "To Do"),
        ("blocked", "Blocked"),
        ("done", "Completed"),
    ):
        section_items = [item for item in items if item.state == state]
        if section_items:
            lines += ["", f"## {heading}", "", *map(_render_item, section_items)]
    return "\n".join([*lines, ""])


def _render_item(item: _TodoItem) -> str:
    mark = "x" if item.state == "done" else " "
    is_waiting = item.blocked_by and item.state != "done"
    suffix = f" (waits for {', '.join(item.blocked_by)})" if is_waiting else ""
    return f"- [{mark}] {_join_lines(item.text)}{_join_lines(suffix)}"


def _join_lines(text: str) -> str:
    return re.sub(r"\s*\n\s*", " ", text).rstrip()


def _end_with_newline(text: str) -> str:
    return text.rstrip("\n") + "\n"
