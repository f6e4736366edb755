"""Our entries in Claude Code's settings: put in, found, taken out again.

The file is edited as text. Every byte that is not ours stays, and taking our entries
out gives back the file as it was: each command ends with a word that says what had to
be made for it (`entry`, `event`, `hooks`, `file`), and a `+` where line breaks had to
be added around it.
"""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leslied.errors import UserError
from leslied.hooks.jsonc import JsoncNode, parse_jsonc, skip_space

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

EVENTS = (
    "SessionStart",
    "UserPromptSubmit",
    "PreCompact",
    "Stop",
    "SubagentStop",
    "SessionEnd",
)
PROGRAM = Path(__file__).with_name("program.py")
_TIMEOUT_SECONDS = 5
_OUR_COMMAND = re.compile(
    r"leslied/hooks/program\.py.* (entry|event|hooks|file)(\+?) 2>"
)


@dataclass(frozen=True, slots=True)
class HookCommand:
    """How the hook program is started."""

    python: str
    data_dir: str

    def make_group(self, marker: str) -> dict[str, Any]:
        """One group of hooks, as the settings want it."""
        command = make_command(self.python, self.data_dir, marker)
        hook = {"type": "command", "command": command, "timeout": _TIMEOUT_SECONDS}
        return {"hooks": [hook]}

    def is_current(self, command: str) -> bool:
        """Whether the command is the one this call makes."""
        found = _OUR_COMMAND.search(command)
        made = found[1] + found[2] if found else ""
        return command == make_command(self.python, self.data_dir, made)


def make_command(python: str, data_dir: str, marker: str) -> str:
    """The words for a shell.

    Python leaves with 2 when the program is gone, and 2 means to Claude Code that the
    prompt is to be thrown away: whatever happens, the shell says 0.
    """
    words = [python, "-I", "-S", str(PROGRAM), data_dir, marker]
    return shlex.join(words) + " 2>/dev/null || true"


def install(text: str | None, hook_command: HookCommand) -> str:
    """The settings with our entries in them, once; None stands for no file."""
    bare = None if text is None else uninstall(text)
    if bare is None:
        made = {event: [hook_command.make_group("file")] for event in EVENTS}
        return json.dumps({"hooks": made}, indent=2) + "\n"
    done = _insert_entries(bare, hook_command)
    if uninstall(done) != bare:
        raise UserError("Its form is too unusual to be edited without changing it.")
    return done


def uninstall(text: str) -> str | None:
    """The settings as they were without us; None where the file was ours."""
    root = _parse(text)
    hooks = root.find("hooks")
    if hooks is None or hooks.kind != "{":
        return text
    cuts: list[tuple[int, int]] = []
    gone: list[tuple[JsoncNode, str]] = []
    for event in hooks.children:
        made = _remove_event(text, event, cuts)
        if made:
            gone.append((event, made))
    made = _merge_markers(made for _, made in gone)
    nodes = [event for event, _ in gone]
    if nodes != hooks.children or made[:5] not in ("hooks", "file"):
        cuts += _cut(text, hooks, nodes, has_breaks=made == "event+")
    elif made == "file" and root.children == [hooks]:
        return None
    else:
        cuts += _cut(text, root, [hooks], has_breaks=made == "hooks+")
    for start, end in sorted(cuts, reverse=True):
        text = text[:start] + text[end:]
    return text


def find_commands(text: str) -> dict[str, str]:
    """Our command for each event that has one."""
    found = {}
    hooks = _parse(text).find("hooks")
    for event in hooks.children if hooks else []:
        for group in event.children:
            for hook in _list_hooks(group):
                if _find_marker(hook):
                    found[event.key] = str(_get_command(hook))
    return found


def are_hooks_disabled(text: str) -> bool:
    """Whether the settings say that no hook runs at all."""
    node = _parse(text).find("disableAllHooks")
    return node is not None and node.value is True


def _parse(text: str) -> JsoncNode:
    try:
        root = parse_jsonc(text)
    except ValueError as error:
        raise UserError(f"It is not valid JSON ({error}).") from error
    if root.kind != "{":
        raise UserError("It holds no JSON object.")
    return root


def _insert_entries(text: str, hook_command: HookCommand) -> str:
    root = _parse(text)
    hooks = root.find("hooks")
    if hooks is None:
        return _insert(
            text,
            root,
            "hooks",
            {
                "hooks": lambda made: {
                    e: [hook_command.make_group(made)] for e in EVENTS
                }
            },
        )
    if hooks.kind != "{":
        raise UserError('"hooks" is no object in it.')
    there = {event.key: event for event in hooks.children if event.key in EVENTS}
    missing = [event for event in EVENTS if event not in there]
    for event in sorted(there.values(), key=lambda each: each.end, reverse=True):
        if event.kind != "[":
            raise UserError(f'"{event.key}" is no list in it.')
        text = _insert(text, event, "entry", {"": hook_command.make_group})
    made = {event: lambda made: [hook_command.make_group(made)] for event in missing}
    # What was put into the lists stands inside: the end of the last one moved.
    again = _parse(text).find("hooks")
    return _insert(text, again, "event", made) if again and made else text


def _insert(
    text: str, node: JsoncNode, marker: str, values: Mapping[str, Callable[[str], Any]]
) -> str:
    """The text with these values at the end of an object or a list."""
    line = "\r\n" if "\r\n" in text else "\n"
    outer = _line_indent(text, node.value_start)
    unit = _find_indent_unit(text)
    last = node.children[-1] if node.children else None
    if last:
        inner = _own_indent(text, last.start)
        before, after, at = "," + _format_break(line, inner), "", last.end
    elif unit is None:
        inner, before, after, at = None, "", "", node.value_start + 1
    else:
        inner, marker = outer + unit, marker + "+"
        before, after, at = line + inner, line + outer, node.value_start + 1
    between = "," + _format_break(line, inner)
    told = []
    for key, make in values.items():
        indent = None if inner is None else (unit or "  ")
        said = json.dumps(make(marker), indent=indent)
        said = said.replace("\n", line + (inner or ""))
        told.append(f"{json.dumps(key)}: {said}" if key else said)
    return text[:at] + before + between.join(told) + after + text[at:]


def _format_break(line: str, indent: str | None) -> str:
    return " " if indent is None else line + indent


def _find_indent_unit(text: str) -> str | None:
    """One step of the file's indentation; None where all stands on one line."""
    found = re.search(r"\n([ \t]+)\S", text)
    if found:
        return found[1]
    bare = text.strip("\ufeff \t\r\n")
    return "  " if "\n" in text.strip("\ufeff") or bare == "{}" else None


def _line_indent(text: str, at: int) -> str:
    """The white space that the line begins with."""
    start = text.rfind("\n", 0, at) + 1
    found = re.compile(r"[ \t]*").match(text, start)
    return found[0] if found else ""


def _own_indent(text: str, at: int) -> str | None:
    """The white space before it, where it begins its line."""
    start = text.rfind("\n", 0, at) + 1
    before = text[start:at]
    return before if start and not before.strip(" \t") else None


def _remove_event(text: str, event: JsoncNode, cuts: list[tuple[int, int]]) -> str:
    """What was made for the event, where all of it goes; else the cuts inside it."""
    gone, words = [], []
    for group in event.children if event.kind == "[" else []:
        hooks = _list_hooks(group)
        ours = [hook for hook in hooks if _find_marker(hook)]
        words += [_find_marker(hook) for hook in ours]
        if ours and ours == hooks:
            gone.append(group)
        elif ours:
            inner = group.find("hooks")
            cuts += _cut(text, inner, ours, has_breaks=False) if inner else []
    made = _merge_markers(words)
    if gone and gone == event.children and not made.startswith("entry"):
        return made
    cuts += _cut(text, event, gone, has_breaks=made == "entry+")
    return ""


def _cut(
    text: str, node: JsoncNode, removed: list[JsoncNode], *, has_breaks: bool
) -> list[tuple[int, int]]:
    """What to cut so that these children are gone, and a comma each."""
    children = node.children
    if not removed:
        return []
    if removed == children:
        return [_cut_all(text, node, has_breaks=has_breaks)]
    cuts = []
    has_kept = False
    for number, child in enumerate(children):
        if child not in removed:
            has_kept = True
        elif has_kept:
            cuts += _cut_between(text, children[number - 1].end, child.start, child)
        else:
            cuts += _cut_between(text, child.end, children[number + 1].start, child)
    return cuts


def _cut_between(
    text: str, start: int, end: int, child: JsoncNode
) -> list[tuple[int, int]]:
    """The child with all that lies between; comments there stay."""
    if text[start:end].strip() == ",":
        return [(min(start, child.start), max(end, child.end))]
    comma = skip_space(text, start)
    return [(comma, comma + 1), (child.start, child.end)]


def _cut_all(text: str, node: JsoncNode, *, has_breaks: bool) -> tuple[int, int]:
    start, end = node.children[0].start, node.children[-1].end
    if text[skip_space(text, end)] == ",":
        end = skip_space(text, end) + 1
    if has_breaks and text[node.value_start + 1 : start].isspace():
        start = node.value_start + 1
        outer = re.escape(_line_indent(text, node.value_start))
        added = re.compile(rf"\r?\n{outer}").match(text, end)
        end = added.end() if added else end
    return start, end


def _list_hooks(group: JsoncNode) -> list[JsoncNode]:
    inner = group.find("hooks")
    return inner.children if inner and inner.kind == "[" else []


def _get_command(hook: JsoncNode) -> object:
    command = hook.find("command")
    return command.value if command else None


def _find_marker(hook: JsoncNode) -> str:
    """What was made for the hook, where it is ours; else nothing."""
    command = _get_command(hook)
    found = _OUR_COMMAND.search(command) if isinstance(command, str) else None
    return found[1] + found[2] if found else ""


def _merge_markers(words: Any) -> str:
    """The word they all say; `entry` where they differ, which takes the least out."""
    said = set(words)
    return said.pop() if len(said) == 1 else "entry"
