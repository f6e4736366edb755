"""Plans and to-do lists that an agent keeps elsewhere, as a thread's own would look."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from leslied.model.file_change import FileChange

COLLECTED_FOLDER = ".meta/collected"
"""Below a thread's folder; never where an agent's own assets stand."""
PLAN_FILE = re.compile(r".*/\.claude/plans/[^/]+\.md", re.DOTALL)
"""Where Claude Code keeps the plans of its plan mode."""
_STATES = {"completed": "done", "done": "done", "in_progress": "doing"}
_REMOVED_STATES = ("cancelled", "canceled", "deleted")

CollectedType = Literal["plan", "progress"]


@dataclass(frozen=True, slots=True)
class CollectedAsset:
    """One asset that the thread has not of its own, and the call that told it last."""

    type: CollectedType
    text: str
    last_call: FileChange

    @property
    def relative_path(self) -> str:
        """Below the thread's folder."""
        return f"{COLLECTED_FOLDER}/{self.type}.md"


@dataclass(slots=True)
class _TodoItem:
    text: str
    state: str
    blocked_by: list[str] = field(default_factory=list)


def collect_assets(
    touches: Sequence[FileChange], read_plan: Callable[[str], str | None]
) -> list[CollectedAsset]:
    """The plan and the progress that these calls of one session tell, if any.

    `read_plan` gives the words that a plan's file holds now.
    """
    found = (_find_plan(touches, read_plan), _find_progress(touches))
    return [each for each in found if each]


def _find_plan(
    touches: Sequence[FileChange], read_plan: Callable[[str], str | None]
) -> CollectedAsset | None:
    files = [t for t in touches if t.path and PLAN_FILE.fullmatch(t.path)]
    shown = [t for t in touches if t.kind == "plan"]
    agreed = [t for t in shown if not t.path]
    if files and (words := read_plan(files[-1].path)):
        return CollectedAsset("plan", _end_with_newline(words), files[-1])
    written = [t for t in files if t.kind == "write" and t.body]
    for told in (agreed, written, shown):
        if told:
            return CollectedAsset("plan", _end_with_newline(told[-1].body), told[-1])
    lists = [t for t in touches if t.kind == "todos" and t.path == "plan"]
    if lists and (steps := _parse_steps(lists[-1])):
        return CollectedAsset("plan", _render_plan(lists[-1], steps), lists[-1])
    return None


def _find_progress(touches: Sequence[FileChange]) -> CollectedAsset | None:
    lists = [t for t in touches if t.kind in ("todos", "task")]
    if not lists:
        return None
    last = lists[-1]
    steps = _parse_steps(last) if last.kind == "todos" else _fold_tasks(lists)
    return CollectedAsset("progress", _render_progress(steps), last) if steps else None


def _parse_steps(touch: FileChange) -> list[_TodoItem]:
    told = json.loads(touch.body or "{}")
    return [
        _TodoItem(each["text"], _STATES.get(each["status"], "open"))
        for each in told.get("steps", [])
        if each["status"] not in _REMOVED_STATES
    ]


def _fold_tasks(touches: Sequence[FileChange]) -> list[_TodoItem]:
    """The tasks as they stand after every call about them."""
    tasks: dict[str, _TodoItem] = {}
    for touch in touches:
        if touch.kind != "task":
            continue
        told: dict[str, Any] = json.loads(touch.body or "{}")
        status = str(told.get("status") or "")
        if status in _REMOVED_STATES:
            tasks.pop(touch.path, None)
            continue
        task = tasks.setdefault(touch.path, _TodoItem("", "open"))
        task.text = str(told.get("subject") or task.text)
        task.state = _STATES.get(status, "open") if status else task.state
        more = told.get("addBlockedBy")
        task.blocked_by += (
            [str(each) for each in more] if isinstance(more, list) else []
        )
    for task in tasks.values():
        left = [tasks[each] for each in task.blocked_by if each in tasks]
        task.blocked_by = [each.text for each in left if each.state != "done"]
        if task.blocked_by and task.state != "done":
            task.state = "blocked"
    return [task for task in tasks.values() if task.text]


def _render_plan(touch: FileChange, steps: list[_TodoItem]) -> str:
    words = str(json.loads(touch.body).get("words") or "").strip()
    numbered = [f"{n}. {_join_lines(step.text)}" for n, step in enumerate(steps, 1)]
    return "\n".join(["# Plan", "", *([words, ""] if words else []), *numbered, ""])


def _render_progress(steps: list[_TodoItem]) -> str:
    done = sum(step.state == "done" for step in steps)
    percent = 100 * done // len(steps)
    lines = [
        "# Progress",
        "",
        f"**Overall Completion**: {percent}% ({done}/{len(steps)})",
    ]
    for state, heading in (
        ("doing", "In Progress"),
        ("open", "To Do"),
        ("blocked", "Blocked"),
        ("done", "Completed"),
    ):
        here = [step for step in steps if step.state == state]
        if here:
            lines += ["", f"## {heading}", "", *map(_render_step, here)]
    return "\n".join([*lines, ""])


def _render_step(step: _TodoItem) -> str:
    box = "x" if step.state == "done" else " "
    why = f" (waits for {', '.join(step.blocked_by)})" if step.blocked_by else ""
    return f"- [{box}] {_join_lines(step.text)}{_join_lines(why)}"


def _join_lines(text: str) -> str:
    return re.sub(r"\s*\n\s*", " ", text).rstrip()


def _end_with_newline(text: str) -> str:
    return text.rstrip("\n") + "\n"
