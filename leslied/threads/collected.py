"""Plans and to-do lists that an agent keeps elsewhere, as a thread's own would look."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from leslied.model.file_change import FileChange

COLLECTED = ".meta/collected"
"""Below a thread's folder; never where an agent's own assets stand."""
PLAN_FILE = re.compile(r".*/\.claude/plans/[^/]+\.md", re.DOTALL)
"""Where Claude Code keeps the plans of its plan mode."""
_STATES = {"completed": "done", "done": "done", "in_progress": "doing"}
_GONE = ("cancelled", "canceled", "deleted")

Kind = Literal["plan", "progress"]


@dataclass(frozen=True, slots=True)
class Collected:
    """One asset that the thread has not of its own, and the call that told it last."""

    type: Kind
    text: str
    by: FileChange

    @property
    def place(self) -> str:
        """Below the thread's folder."""
        return f"{COLLECTED}/{self.type}.md"


@dataclass(slots=True)
class _Step:
    text: str
    state: str
    waits_for: list[str] = field(default_factory=list)


def collect(
    touches: Sequence[FileChange], read_plan: Callable[[str], str | None]
) -> list[Collected]:
    """The plan and the progress that these calls of one session tell, if any.

    `read_plan` gives the words that a plan's file holds now.
    """
    found = (_find_plan(touches, read_plan), _find_progress(touches))
    return [each for each in found if each]


def _find_plan(
    touches: Sequence[FileChange], read_plan: Callable[[str], str | None]
) -> Collected | None:
    files = [t for t in touches if t.path and PLAN_FILE.fullmatch(t.path)]
    shown = [t for t in touches if t.kind == "plan"]
    agreed = [t for t in shown if not t.path]
    if files and (words := read_plan(files[-1].path)):
        return Collected("plan", _end(words), files[-1])
    written = [t for t in files if t.kind == "write" and t.body]
    for told in (agreed, written, shown):
        if told:
            return Collected("plan", _end(told[-1].body), told[-1])
    lists = [t for t in touches if t.kind == "todos" and t.path == "plan"]
    if lists and (steps := _steps(lists[-1])):
        return Collected("plan", _write_plan(lists[-1], steps), lists[-1])
    return None


def _find_progress(touches: Sequence[FileChange]) -> Collected | None:
    lists = [t for t in touches if t.kind in ("todos", "task")]
    if not lists:
        return None
    last = lists[-1]
    steps = _steps(last) if last.kind == "todos" else _fold_tasks(lists)
    return Collected("progress", _write_progress(steps), last) if steps else None


def _steps(touch: FileChange) -> list[_Step]:
    told = json.loads(touch.body or "{}")
    return [
        _Step(each["text"], _STATES.get(each["status"], "open"))
        for each in told.get("steps", [])
        if each["status"] not in _GONE
    ]


def _fold_tasks(touches: Sequence[FileChange]) -> list[_Step]:
    """The tasks as they stand after every call about them."""
    tasks: dict[str, _Step] = {}
    for touch in touches:
        if touch.kind != "task":
            continue
        told: dict[str, Any] = json.loads(touch.body or "{}")
        status = str(told.get("status") or "")
        if status in _GONE:
            tasks.pop(touch.path, None)
            continue
        task = tasks.setdefault(touch.path, _Step("", "open"))
        task.text = str(told.get("subject") or task.text)
        task.state = _STATES.get(status, "open") if status else task.state
        more = told.get("addBlockedBy")
        task.waits_for += [str(each) for each in more] if isinstance(more, list) else []
    for task in tasks.values():
        left = [tasks[each] for each in task.waits_for if each in tasks]
        task.waits_for = [each.text for each in left if each.state != "done"]
        if task.waits_for and task.state != "done":
            task.state = "blocked"
    return [task for task in tasks.values() if task.text]


def _write_plan(touch: FileChange, steps: list[_Step]) -> str:
    words = str(json.loads(touch.body).get("words") or "").strip()
    numbered = [f"{n}. {_line(step.text)}" for n, step in enumerate(steps, 1)]
    return "\n".join(["# Plan", "", *([words, ""] if words else []), *numbered, ""])


def _write_progress(steps: list[_Step]) -> str:
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
            lines += ["", f"## {heading}", "", *map(_write_step, here)]
    return "\n".join([*lines, ""])


def _write_step(step: _Step) -> str:
    box = "x" if step.state == "done" else " "
    why = f" (waits for {', '.join(step.waits_for)})" if step.waits_for else ""
    return f"- [{box}] {_line(step.text)}{_line(why)}"


def _line(text: str) -> str:
    return re.sub(r"\s*\n\s*", " ", text).rstrip()


def _end(text: str) -> str:
    return text.rstrip("\n") + "\n"
