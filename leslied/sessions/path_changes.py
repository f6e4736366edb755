"""The paths that a tool call changes, from its arguments alone. Pure.

Whether the call had an effect is a question about its result: see `has_succeeded`.
"""

from __future__ import annotations

import os.path
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import MsgspecError, Struct
from msgspec.json import Decoder
from msgspec.structs import asdict

from leslied.sessions.shell import iter_commands
from leslied.sessions.tools import (
    COMMAND_ARGUMENTS,
    PATCH_ARGUMENTS,
    PATH_ARGUMENTS,
    SCRIPTS_ARGUMENT,
    find_shell_command,
    find_text,
    find_tool_kind,
    parse_arguments,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from leslied.model.file_change import FileChangeKind
    from leslied.sessions.shell import ShellWrite, SimpleCommand
    from leslied.sessions.tools import ToolKind

FILE_KINDS: tuple[ToolKind, ...] = ("write", "edit", "notebook", "editor", "patch")
"""Kinds of tools whose calls name the files that they change."""
SHELL_KINDS: tuple[ToolKind, ...] = ("shell",)
"""Kinds of tools whose calls may change any file."""
_FAILED_EXIT = re.compile(r"exit code:? [1-9]", re.IGNORECASE)
_PATCH_HEADER = re.compile(
    r"^\*\*\* (Add File|Update File|Delete File|Move to): (.+?)[ \t]*$", re.MULTILINE
)
_PATCH_KINDS: dict[str, FileChangeKind] = {
    "Add File": "write",
    "Update File": "edit",
    "Delete File": "delete",
    "Move to": "move",
}
_NO_WRITE = re.compile(r"\d?>&\d|[\d&]?>+\s*/dev/null")
"""Common redirections that change no file."""
_UNUSUAL_PATH = re.compile(r"//|/\.|/$|\0")
"""An absolute path without a match is in normal form already."""
_WRITE_HINT = re.compile(r">|\btee\b|apply_patch")


class PathChange(NamedTuple):
    """What a call does to one file."""

    kind: FileChangeKind
    path: str
    """The absolute path."""
    body: str = ""
    """The new content of a file that the call writes as a whole."""
    moved_from: str = ""
    """The earlier absolute path of a file that the call moves."""


def may_write_files(shell_arguments: str) -> bool:
    """Return False if a shell command surely writes no file; this is fast."""
    return bool(_WRITE_HINT.search(_NO_WRITE.sub("", shell_arguments)))


def has_succeeded(
    metadata: Mapping[str, Any], content: str, *, is_shell: bool = False
) -> bool:
    """Return whether the call with this result had an effect."""
    if metadata.get("is_error") or metadata.get("exit_code", 0) not in (0, None):
        return False
    return not (is_shell and _FAILED_EXIT.search(content))


def find_changed_paths(tool: str, tool_input: str, folder: str) -> Iterable[PathChange]:
    """Return a call's changes fast; most do not have the content that it writes."""
    kind = find_tool_kind(tool)
    if kind in ("write", "edit", "notebook"):
        path = _find_path(tool_input)
        absolute = resolve_path(folder, path) if path else ""
        if not absolute:
            return ()
        return (PathChange("write" if kind == "write" else "edit", absolute),)
    if kind == "shell" and not may_write_files(tool_input):
        return ()
    return iter_path_changes(tool, parse_arguments(tool_input), folder)


def iter_path_changes(
    tool: str, arguments: Mapping[str, Any], folder: str
) -> Iterator[PathChange]:
    """Yield the changes of a call that runs in `folder`.

    A path that cannot be resolved is left out.
    """
    path = find_text(arguments, PATH_ARGUMENTS)
    kind = find_tool_kind(tool)
    if kind == "editor":
        kind = find_tool_kind(str(arguments.get("command")))
    match kind:
        case "write":
            content = arguments.get("content", arguments.get("file_text"))
            body = content if isinstance(content, str) else ""
            yield from _make_change(path, "write", folder, body)
        case "edit" | "notebook":
            yield from _make_change(path, "edit", folder)
        case "patch":
            patches = (arguments.get(name) for name in PATCH_ARGUMENTS)
            patch = next(filter(None, patches), None)
            # Hermes has one tool that applies a patch or replaces a text in a file.
            yield from _make_change("" if patch else path, "edit", folder)
            yield from _iter_patch_changes(patch, folder)
        case "shell":
            yield from _iter_shell_changes(arguments, folder)


def resolve_path(folder: str, path: str) -> str:
    """Return `path` below `folder` as an absolute path; empty if that is impossible."""
    if not path:
        return os.path.normpath(folder) if folder.startswith("/") else ""
    if path[0] == "/" and not _UNUSUAL_PATH.search(path):
        return path
    absolute = os.path.join(folder, path)  # noqa: PTH118 - text from a log, not a file
    if not absolute.startswith("/") or "\0" in absolute:
        return ""
    # `normpath` keeps two slashes at the start.
    return "/" + os.path.normpath(absolute).lstrip("/")


class _PathArguments(Struct):
    """The arguments in PATH_ARGUMENTS, in the same order."""

    file_path: Any = None
    filePath: Any = None  # noqa: N815 - an agent's name
    notebook_path: Any = None
    path: Any = None
    absolute_path: Any = None
    filepath: Any = None


_path_decoder = Decoder(_PathArguments)


def _find_path(tool_input: str) -> str:
    """Return the path in a call's arguments, without parsing all of them."""
    try:
        arguments = _path_decoder.decode(tool_input)
    except (MsgspecError, UnicodeError, RecursionError):
        return find_text(parse_arguments(tool_input), PATH_ARGUMENTS)
    if isinstance(arguments.file_path, str):
        return arguments.file_path
    return find_text(asdict(arguments), PATH_ARGUMENTS)


def _make_change(
    path: str, kind: FileChangeKind, folder: str, body: str = ""
) -> Iterator[PathChange]:
    absolute = resolve_path(folder, path) if path else ""
    if absolute:
        yield PathChange(kind, absolute, body)


def _iter_patch_changes(text: Any, folder: str) -> Iterator[PathChange]:
    """Yield the changes of a patch, whose paths are relative to `folder`."""
    if not isinstance(text, str) or "*** Begin Patch" not in text:
        return
    previous = ""
    for action, path in _PATCH_HEADER.findall(text):
        absolute = resolve_path(folder, path)
        if absolute:
            kind = _PATCH_KINDS[action]
            moved_from = previous if kind == "move" else ""
            yield PathChange(kind, absolute, moved_from=moved_from)
        previous = absolute


def _iter_shell_changes(
    arguments: Mapping[str, Any], folder: str
) -> Iterator[PathChange]:
    """Yield the changes by a shell command, none if it runs in the background."""
    if arguments.get("run_in_background") or arguments.get("is_background"):
        return
    # Copilot CLI runs a command with any other mode in the background.
    if arguments.get("mode") not in (None, "sync"):
        return
    workdir = (
        arguments.get("workdir")
        or arguments.get("directory")
        or arguments.get("cwd")
        or ""
    )
    folder = resolve_path(folder, workdir) if isinstance(workdir, str) else ""
    commands = (arguments.get(name) for name in COMMAND_ARGUMENTS)
    command = next(filter(None, commands), None)
    if isinstance(command, list):
        if len(command) == 2 and command[0] == "apply_patch":
            yield from _iter_patch_changes(command[1], folder)
        command = find_shell_command(command)
    scripts = [command, *_list_scripts(arguments)]
    for script in scripts:
        if isinstance(script, str):
            for simple_command, writes in iter_commands(script):
                yield from _iter_command_changes(simple_command, writes, folder)


def _list_scripts(arguments: Mapping[str, Any]) -> list[Any]:
    """Return the commands of a call that runs several."""
    scripts = arguments.get(SCRIPTS_ARGUMENT)
    return scripts if isinstance(scripts, list) else []


def _iter_command_changes(
    command: SimpleCommand, writes: list[ShellWrite], folder: str
) -> Iterator[PathChange]:
    for write in writes:
        if write.folder is not None or write.path.startswith("/"):
            base = resolve_path(folder, write.folder or "")
            absolute = resolve_path(base, write.path)
            if absolute:
                yield PathChange(write.mode, absolute)
    if command.words[:1] == ["apply_patch"]:
        for text in (*command.words[1:], *command.heredocs):
            yield from _iter_patch_changes(text, folder)
