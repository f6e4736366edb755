"""The tools of all agents: what each one does, and what its arguments mean.

An adapter adds the tools of its agent with its property `tools`; see
`agents/_contract.py`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from leslied.model.session import WaitingFor

ToolKind = Literal[
    "write",
    "edit",
    "notebook",
    "editor",
    "patch",
    "shell",
    "plan",
    "steps",
    "todos",
    "new_task",
    "task",
]
"""What a tool does.

`write` replaces a whole file, `edit` a part of it, and `notebook` a cell. An `editor`
has commands that are named like other tools. `patch` applies a patch in Codex's format.
`plan` submits a plan for approval, `steps` updates the steps of a plan, and `todos` a
to-do list. `new_task` adds a task to a list, and `task` changes one.
"""

PATH_ARGUMENTS = (
    "file_path",
    "filePath",
    "notebook_path",
    "path",
    "absolute_path",
    "filepath",
)
"""Names that agents use for the argument with a file's path."""
OLD_TEXT_ARGUMENTS = (
    "old_string",
    "oldString",
    "old_str",
    "oldText",
    "old_text",
    "before",
)
NEW_TEXT_ARGUMENTS = (
    "new_string",
    "newString",
    "new_str",
    "newText",
    "new_text",
    "after",
)
CONTENT_ARGUMENTS = ("content", "contents", "file_text", "new_source")
PATCH_ARGUMENTS = ("input", "patchText", "patch")
COMMAND_ARGUMENTS = ("command", "cmd")
SCRIPTS_ARGUMENT = "commands"
"""Name of the argument with several commands that run one after the other."""
EDITOR_COMMANDS = ("create", "str_replace", "insert", "view", "undo_edit")
"""Commands of a tool of the kind `editor`."""
TODO_ARGUMENTS = ("todos", "task_list")
"""Names that agents use for the argument with the items of a to-do list."""
TODO_TEXTS = ("content", "step", "description", "title")
"""Names that agents use for the text of such an item."""
_SHELLS = ("bash", "sh", "zsh", "dash")
_SHELL_OPTIONS = ("-c", "-lc", "-ic")

_QUESTIONS: dict[str, WaitingFor] = {
    "AskUserQuestion": "question",
    "ask_user": "question",
    "ask_user_question": "question",
    "request_user_input": "question",
    "question": "question",
    "ExitPlanMode": "permission",
    "exit_plan_mode": "permission",
}
"""Tools whose calls wait for the user."""
_KINDS: dict[str, ToolKind] = {
    "Write": "write",
    "write_file": "write",
    "create": "write",
    "create_file": "write",
    "Edit": "edit",
    "MultiEdit": "edit",
    "replace": "edit",
    "str_replace": "edit",
    "insert": "edit",
    "edit_file": "edit",
    "NotebookEdit": "notebook",
    "str_replace_editor": "editor",
    "str_replace_based_edit_tool": "editor",
    "apply_patch": "patch",
    "patch": "patch",
    "Bash": "shell",
    "shell": "shell",
    "exec_command": "shell",
    "shell_command": "shell",
    "run_shell_command": "shell",
    "local_shell": "shell",
    "ExitPlanMode": "plan",
    "exit_plan_mode": "plan",
    "update_plan": "steps",
    "TodoWrite": "todos",
    "todowrite": "todos",
    "todo_write": "todos",
    "write_todos": "todos",
    "TaskCreate": "new_task",
    "TaskUpdate": "task",
}
_KINDS_BY_LOWER_NAME = {name.lower(): kind for name, kind in _KINDS.items()}
_pending_loaders: dict[Callable[[], Iterable[Mapping[str, ToolKind]]], None] = {}
"""Functions that return tools which are not in the table yet, in order."""


def add_tools(kinds: Mapping[str, ToolKind]) -> None:
    """Add the tools of an agent; a tool that exists keeps its kind."""
    for name, kind in kinds.items():
        _KINDS.setdefault(name, kind)
        _KINDS_BY_LOWER_NAME.setdefault(name.lower(), kind)


def add_tools_on_first_use(
    load: Callable[[], Iterable[Mapping[str, ToolKind]]],
) -> None:
    """Add the tools that `load` returns, as soon as somebody asks for any tool."""
    _pending_loaders[load] = None


def _load_pending_tools() -> None:
    for load in tuple(_pending_loaders):
        for kinds in load():
            add_tools(kinds)
        # Until the loader is removed, another thread that asks for a tool runs it, too.
        _pending_loaders.pop(load, None)


def find_tool_kind(name: str) -> ToolKind | None:
    """Return what a tool does, or None if it is not in the table.

    Agents spell the same name differently, and some put a namespace before it.
    """
    if _pending_loaders:
        _load_pending_tools()
    whole = name.lower()
    kind = _KINDS_BY_LOWER_NAME.get(whole)
    return kind or _KINDS_BY_LOWER_NAME.get(whole.rpartition(".")[2])


def list_tool_names(kinds: Collection[ToolKind]) -> tuple[str, ...]:
    """List the tools of these kinds, each as its agent spells it."""
    if _pending_loaders:
        _load_pending_tools()
    return tuple(name for name, kind in _KINDS.items() if kind in kinds)


def parse_arguments(tool_input: str) -> dict[str, Any]:
    """Return a call's arguments; wrap those that are not a JSON object as `input`."""
    try:
        arguments = json.loads(tool_input) if tool_input else {}
    except (ValueError, RecursionError):
        arguments = tool_input
    return arguments if isinstance(arguments, dict) else {"input": arguments}


def find_text(arguments: Mapping[str, Any], names: Iterable[str]) -> str:
    """Return the first of the named arguments that is text, or ""."""
    values = (arguments.get(name) for name in names)
    return next((value for value in values if isinstance(value, str)), "")


def find_shell_command(words: list[Any]) -> str | None:
    """Return COMMAND of a list such as `bash -c COMMAND`, or None."""
    match words:
        case [str(program), str(option), str(command)] if option in _SHELL_OPTIONS:
            return command if program.rpartition("/")[2] in _SHELLS else None
    return None


def find_question(tool: str) -> WaitingFor | None:
    """Return what a call of the tool asks the user for, or None."""
    return _QUESTIONS.get(tool)
