"""Which files and lists the calls of a unit touched. Pure, and never a guess.

A call counts once it was answered and did not fail; what a shell command did counts
where it is plain to see.
"""

from __future__ import annotations

import json
import os.path
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leslied.model.file_change import FileChange
from leslied.sessions.shell import Simple, Written, walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leslied.model.file_change import FileChangeKind
    from leslied.model.record import PlacedRecord

_WHOLE = frozenset(["write", "write_file", "create", "create_file"])
_PART = frozenset(
    [
        "edit",
        "multiedit",
        "notebookedit",
        "replace",
        "str_replace",
        "insert",
        "edit_file",
    ]
)
_PATCH = frozenset(["apply_patch", "patch"])
_SHELL = frozenset(
    [
        "bash",
        "shell",
        "exec_command",
        "shell_command",
        "run_shell_command",
        "local_shell",
    ]
)
_EDITORS = frozenset(["str_replace_editor", "str_replace_based_edit_tool"])
_PATHS = ("file_path", "filePath", "notebook_path", "path", "absolute_path")
_TODOS = frozenset(["todowrite", "todo_write", "write_todos"])
LISTS = (
    "ExitPlanMode",
    "exit_plan_mode",
    "TaskCreate",
    "TaskUpdate",
    "TodoWrite",
    "todowrite",
    "todo_write",
    "write_todos",
    "update_plan",
)
"""Tools that keep a plan or a list outside any file."""
_FAILED = re.compile(r"exit code:? [1-9]", re.IGNORECASE)
_TASK = re.compile(r"[Tt]ask #(\w+) created")
_PATCHED = re.compile(
    r"^\*\*\* (Add File|Update File|Delete File|Move to): (.+?)[ \t]*$", re.MULTILINE
)
_PATCH_KINDS: dict[str, FileChangeKind] = {
    "Add File": "write",
    "Update File": "edit",
    "Delete File": "delete",
    "Move to": "move",
}
_LONGEST_BODY = 200_000


def find_touches(
    entries: Sequence[PlacedRecord], folder: str, chat_id: str
) -> list[FileChange]:
    """What these entries of one unit touched, in order; `folder` is where they began.

    Entries that tell of a folder move the ones after them there.
    """
    results = {
        placed.record.tool_call_id: placed
        for placed in entries
        if placed.record.type == "tool_result"
    }
    touches: list[FileChange] = []
    for placed in entries:
        record = placed.record
        told = record.metadata.get("cwd")
        if record.type == "system_event" and isinstance(told, str) and told:
            folder = told
            touches.append(_Call(placed, None, folder, chat_id).touch("folder", told))
        elif record.type == "tool_use":
            answer = results.get(record.tool_call_id)
            touches += _Call(placed, answer, folder, chat_id).find()
    return touches


@dataclass(frozen=True, slots=True)
class _Call:
    """One call with its answer."""

    placed: PlacedRecord
    answer: PlacedRecord | None
    folder: str
    chat_id: str

    def find(self) -> list[FileChange]:
        """Everything the call touched."""
        name = self.placed.record.tool_name.rpartition(".")[2].lower()
        told = self._told()
        if name in ("exitplanmode", "exit_plan_mode"):
            return self._plan(told.get("plan"))
        if name == "update_plan" or name in _TODOS:
            return self._list(told, name)
        if name in ("taskcreate", "taskupdate"):
            return self._task(told, name)
        if not self._has_worked(is_shell=name in _SHELL):
            return []
        return list(self._files(name, told))

    def touch(self, kind: FileChangeKind, path: str = "", body: str = "") -> FileChange:
        """One thing it touched."""
        record = self.placed.record
        return FileChange(
            session=record.session,
            kind=kind,
            path=path,
            tool=record.tool_name,
            call_id=record.tool_call_id,
            chat_id=self.chat_id,
            unit=self.placed.unit,
            placement=self.placed.placement,
            at=record.created_at,
            body=body if len(body) <= _LONGEST_BODY else "",
        )

    def _told(self) -> dict[str, Any]:
        text = self.placed.record.tool_input
        try:
            told = json.loads(text) if text else {}
        except (ValueError, RecursionError):
            told = text
        return told if isinstance(told, dict) else {"input": told}

    def _has_worked(self, *, is_shell: bool = False) -> bool:
        if self.answer is None:
            return False
        result = self.answer.record
        code = result.metadata.get("exit_code", 0)
        if result.metadata.get("is_error") or code not in (0, None):
            return False
        return not (is_shell and _FAILED.search(result.content))

    def _files(self, name: str, told: dict[str, Any]) -> Iterator[FileChange]:
        path = next((p for k in _PATHS if isinstance(p := told.get(k), str)), "")
        content = told.get("content", told.get("file_text"))
        body = content if isinstance(content, str) else ""
        if name in _EDITORS:
            name = str(told.get("command"))
        if name in _WHOLE:
            yield from self._at(path, "write", body=body)
        elif name in _PART:
            yield from self._at(path, "edit")
        elif name in _PATCH:
            text = told.get("input") or told.get("patchText") or told.get("patch")
            yield from self._patch(text, self.folder)
        elif name in _SHELL:
            yield from self._shell(told)

    def _at(
        self, path: str, kind: FileChangeKind, *, body: str = ""
    ) -> Iterator[FileChange]:
        whole = _join(self.folder, path) if path else ""
        if whole:
            yield self.touch(kind, whole, body)

    def _patch(self, text: Any, folder: str) -> Iterator[FileChange]:
        if isinstance(text, str) and "*** Begin Patch" in text:
            for what, path in _PATCHED.findall(text):
                whole = _join(folder, path)
                if whole:
                    yield self.touch(_PATCH_KINDS[what], whole)

    def _shell(self, told: dict[str, Any]) -> Iterator[FileChange]:
        if told.get("run_in_background") or told.get("is_background"):
            return
        if told.get("mode") not in (None, "sync"):
            return
        where = told.get("workdir") or told.get("directory") or told.get("cwd") or ""
        folder = _join(self.folder, where) if isinstance(where, str) else ""
        command = told.get("command") or told.get("cmd")
        if isinstance(command, list):
            if len(command) == 2 and command[0] == "apply_patch":
                yield from self._patch(command[1], folder)
            command = command[2] if _is_shell(command) else ""
        if not isinstance(command, str):
            return
        for simple, written in walk(command):
            yield from self._run(simple, written, folder)

    def _run(
        self, simple: Simple, written: list[Written], folder: str
    ) -> Iterator[FileChange]:
        for each in written:
            if each.folder is not None or each.path.startswith("/"):
                base = _join(folder, each.folder or "")
                whole = _join(base, each.path)
                if whole:
                    yield self.touch(each.mode, whole)
        if simple.words[:1] == ["apply_patch"]:
            for text in (*simple.words[1:], *simple.fed):
                yield from self._patch(text, folder)

    def _plan(self, plan: Any) -> list[FileChange]:
        if not isinstance(plan, str) or not plan.strip():
            return []
        path = "" if self._has_worked() else "draft"
        return [self.touch("plan", path, plan)]

    def _list(self, told: dict[str, Any], name: str) -> list[FileChange]:
        items = told.get("plan" if name == "update_plan" else "todos")
        if not isinstance(items, list):
            return []
        steps = [step for item in items if (step := _step(item))]
        body = {"steps": steps, "words": told.get("explanation") or ""}
        path = "plan" if name == "update_plan" else ""
        return [self.touch("todos", path, json.dumps(body, ensure_ascii=False))]

    def _task(self, told: dict[str, Any], name: str) -> list[FileChange]:
        if not self._has_worked():
            return []
        number = str(told.get("taskId") or "")
        if name == "taskcreate" and self.answer:
            made = _TASK.search(self.answer.record.content)
            number = made[1] if made else ""
        if not number:
            return []
        return [self.touch("task", number, json.dumps(told, ensure_ascii=False))]


def _step(item: Any) -> dict[str, str] | None:
    if not isinstance(item, dict):
        return None
    words = item.get("content") or item.get("step") or item.get("description")
    if not isinstance(words, str) or not words.strip():
        return None
    return {"text": words.strip(), "status": str(item.get("status") or "pending")}


def _is_shell(command: list[Any]) -> bool:
    """Whether it is a shell that was given its command as the third word."""
    if len(command) != 3 or command[1] not in ("-c", "-lc", "-ic"):
        return False
    return str(command[0]).rpartition("/")[2] in ("bash", "sh", "zsh", "dash")


def _join(folder: str, path: str) -> str:
    """The path from the root on; empty where that is not known."""
    if not path:
        return os.path.normpath(folder) if folder.startswith("/") else ""
    whole = os.path.join(folder, path)  # noqa: PTH118 - text of a log, no file
    if not whole.startswith("/") or "\0" in whole:
        return ""
    return "/" + os.path.normpath(whole).lstrip("/")
