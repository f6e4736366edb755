"""Insert, find and remove leslied's entries in Claude Code's settings.

The settings map each event to a list of groups, and each group to a list of hooks. An
entry of ours is a group with one hook, whose command starts the hook program.

The file is edited as text, and no byte outside our entries changes. Removing the
entries restores the original file, because each command contains a marker of what was
created for it: `entry` (only the entry), `event` (also the list of the event), `hooks`
(also the object of all events) or `file`. A `+` after the marker means that line breaks
were added around what was created.
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
    from collections.abc import Callable, Iterable, Mapping

EVENTS = (
    "SessionStart",
    "UserPromptSubmit",
    "PreCompact",
    "Notification",
    "Stop",
    "SubagentStop",
    "SessionEnd",
)
PROGRAM = Path(__file__).with_name("program.py")
_TIMEOUT_SECONDS = 5
_OUR_COMMAND = re.compile(
    r"leslied/hooks/program\.py.* (entry|event|hooks|file)(\+?) 2>",
    re.DOTALL,  # The path of the data folder may contain a line break.
)


@dataclass(frozen=True, slots=True)
class HookCommand:
    """The command that starts the hook program."""

    python: str
    data_dir: str

    def make_group(self, marker: str) -> dict[str, Any]:
        """Return a group of hooks with only ours, as the settings file contains it.

        `marker` says what leslied creates for the group, and has to remove with it.
        """
        command = make_command(self.python, self.data_dir, marker)
        hook = {"type": "command", "command": command, "timeout": _TIMEOUT_SECONDS}
        return {"hooks": [hook]}

    def is_current(self, command: str) -> bool:
        """Return whether the command is the one that `make_group` would return now."""
        match = _OUR_COMMAND.search(command)
        marker = match[1] + match[2] if match else ""
        return command == make_command(self.python, self.data_dir, marker)


def make_command(python: str, data_dir: str, marker: str) -> str:
    """Return the shell command of our hook.

    Python exits with 2 if the program file is missing, and Claude Code discards the
    prompt if a hook exits with 2. So the shell command always exits with 0.
    """
    arguments = [python, "-I", "-S", str(PROGRAM), data_dir, marker]
    return shlex.join(arguments) + " 2>/dev/null || true"


def install(text: str | None, hook_command: HookCommand) -> str:
    """Return the settings with exactly one set of our entries.

    `text` is None if there is no file. Raise UserError if the text is not valid, or if
    the entries could not be removed again without a trace.
    """
    original = None if text is None else uninstall(text)
    # There is no file, or nothing but our entries in a file that leslied created.
    if original is None:
        groups = {event: [hook_command.make_group("file")] for event in EVENTS}
        return json.dumps({"hooks": groups}, indent=2) + "\n"
    edited = _insert_entries(original, hook_command)
    if uninstall(edited) != original:
        raise UserError("Its layout is too unusual to be edited safely.")
    return edited


def uninstall(text: str) -> str | None:
    """Return the settings without our entries, or None if leslied created the file.

    The markers in our commands say what leslied created; it is removed too, unless the
    user has added something to it. Raise UserError if the text is not a JSON object.
    """
    root = _parse(text)
    hooks = root.find("hooks")
    if hooks is None or hooks.kind != "{":
        return text
    cuts: list[tuple[int, int]] = []
    removed_events: list[JsoncNode] = []
    markers: list[str] = []
    for event in hooks.children:
        event_marker = _find_event_cuts(text, event, cuts)
        if event_marker:
            removed_events.append(event)
            markers.append(event_marker)
    marker = _merge_markers(markers)
    created_hooks = marker in ("hooks", "hooks+", "file")
    if created_hooks and removed_events == hooks.children:
        if marker == "file" and root.children == [hooks]:
            return None
        cuts += _find_cuts(text, root, [hooks], has_breaks=marker == "hooks+")
    else:
        cuts += _find_cuts(text, hooks, removed_events, has_breaks=marker == "event+")
    for start, end in sorted(cuts, reverse=True):
        text = text[:start] + text[end:]
    return text


def find_commands(text: str) -> dict[str, str]:
    """Return our command by event name, for the events that have one."""
    commands = {}
    hooks = _parse(text).find("hooks")
    for event in hooks.children if hooks else []:
        for group in event.children:
            for hook in _list_hooks(group):
                if _find_marker(hook):
                    commands[event.key] = str(_get_command(hook))
    return commands


def are_hooks_disabled(text: str) -> bool:
    """Return whether the settings disable all hooks."""
    node = _parse(text).find("disableAllHooks")
    return node is not None and node.value is True


def _parse(text: str) -> JsoncNode:
    """Return the root object; raise UserError if the text is not a JSON object."""
    try:
        root = parse_jsonc(text)
    except ValueError as error:
        raise UserError(f"It is not valid JSON ({error}).") from error
    if root.kind != "{":
        raise UserError("It does not contain a JSON object.")
    return root


def _insert_entries(text: str, hook_command: HookCommand) -> str:
    """Return the settings with our entries; they must not contain any yet."""
    root = _parse(text)
    hooks = root.find("hooks")
    if hooks is None:
        return _insert(
            text,
            root,
            "hooks",
            {
                "hooks": lambda marker: {
                    event: [hook_command.make_group(marker)] for event in EVENTS
                }
            },
        )
    if hooks.kind != "{":
        raise UserError('Its "hooks" is not an object.')
    present_events = {
        event.key: event for event in hooks.children if event.key in EVENTS
    }
    # Edit from the end of the file, so that the positions of earlier lists stay valid.
    for event in sorted(
        present_events.values(), key=lambda node: node.end, reverse=True
    ):
        if event.kind != "[":
            raise UserError(f'Its "{event.key}" is not a list.')
        text = _insert(text, event, "entry", {"": hook_command.make_group})
    missing_events = {
        event: lambda marker: [hook_command.make_group(marker)]
        for event in EVENTS
        if event not in present_events
    }
    # The insertions above moved the end of the object, so parse again.
    hooks = _parse(text).find("hooks")
    if not hooks or not missing_events:
        return text
    return _insert(text, hooks, "event", missing_events)


def _insert(
    text: str, node: JsoncNode, marker: str, values: Mapping[str, Callable[[str], Any]]
) -> str:
    """Insert values at the end of an object or a list and return the new text.

    `values` maps each key, empty in a list, to a function that makes the value for a
    marker. The marker gets a `+` if line breaks have to be added around the values.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    outer_indent = _get_line_indent(text, node.value_start)
    indent_unit = _find_indent_unit(text)
    last_child = node.children[-1] if node.children else None
    # An indent of None means that the values stay on the current line.
    if last_child:
        indent = _find_own_indent(text, last_child.start)
        before, after, at = "," + _format_break(newline, indent), "", last_child.end
    elif indent_unit is None:
        indent, before, after, at = None, "", "", node.value_start + 1
    else:
        indent, marker = outer_indent + indent_unit, marker + "+"
        before, after = newline + indent, newline + outer_indent
        at = node.value_start + 1
    separator = "," + _format_break(newline, indent)
    members = []
    for key, make_value in values.items():
        json_indent = None if indent is None else (indent_unit or "  ")
        value = json.dumps(make_value(marker), indent=json_indent)
        value = value.replace("\n", newline + (indent or ""))
        members.append(f"{json.dumps(key)}: {value}" if key else value)
    return text[:at] + before + separator.join(members) + after + text[at:]


def _format_break(newline: str, indent: str | None) -> str:
    """Return what separates two members: a space if they are on the same line."""
    return " " if indent is None else newline + indent


def _find_indent_unit(text: str) -> str | None:
    """Return one level of the file's indentation, or None if it is a single line.

    An empty object is not counted as a single line.
    """
    match = re.search(r"\n([ \t]+)\S", text)
    if match:
        return match[1]
    stripped = text.strip("\ufeff \t\r\n")
    return "  " if "\n" in text.strip("\ufeff") or stripped == "{}" else None


def _get_line_indent(text: str, at: int) -> str:
    """Return the indentation of the line that contains the position."""
    start = text.rfind("\n", 0, at) + 1
    match = re.compile(r"[ \t]*").match(text, start)
    return match[0] if match else ""


def _find_own_indent(text: str, at: int) -> str | None:
    """Return the indentation before a position.

    Return None if the position is on the first line or after other text.
    """
    start = text.rfind("\n", 0, at) + 1
    indent = text[start:at]
    return indent if start and not indent.strip(" \t") else None


def _find_event_cuts(text: str, event: JsoncNode, cuts: list[tuple[int, int]]) -> str:
    """Append to `cuts` the ranges to remove from one event.

    If leslied created the event, and the user has added nothing to it, do not cut it:
    return the marker of our commands, which says what else leslied created. Otherwise
    return an empty string.
    """
    removed_groups, markers = [], []
    for group in event.children if event.kind == "[" else []:
        hooks = _list_hooks(group)
        our_hooks = [hook for hook in hooks if _find_marker(hook)]
        markers += [_find_marker(hook) for hook in our_hooks]
        if our_hooks and our_hooks == hooks:
            removed_groups.append(group)
        elif our_hooks and (hook_list := group.find("hooks")):
            cuts += _find_cuts(text, hook_list, our_hooks, has_breaks=False)
    marker = _merge_markers(markers)
    is_all_removed = bool(removed_groups) and removed_groups == event.children
    if is_all_removed and not marker.startswith("entry"):
        return marker
    cuts += _find_cuts(text, event, removed_groups, has_breaks=marker == "entry+")
    return ""


def _find_cuts(
    text: str, node: JsoncNode, removed_children: list[JsoncNode], *, has_breaks: bool
) -> list[tuple[int, int]]:
    """Return the ranges to cut to remove these children, with one comma for each.

    `has_breaks` means that leslied added line breaks around all children of the node;
    they are cut too if all children are.
    """
    children = node.children
    if not removed_children:
        return []
    if removed_children == children:
        return [_find_cut_of_all(text, node, has_breaks=has_breaks)]
    cuts = []
    # Cut the comma before a child, or the comma after it if no earlier child stays.
    has_predecessor = False
    for index, child in enumerate(children):
        if child not in removed_children:
            has_predecessor = True
        elif has_predecessor:
            cuts += _find_child_cuts(text, children[index - 1].end, child.start, child)
        else:
            cuts += _find_child_cuts(text, child.end, children[index + 1].start, child)
    return cuts


def _find_child_cuts(
    text: str, start: int, end: int, child: JsoncNode
) -> list[tuple[int, int]]:
    """Return what to delete: the child, and the comma between `start` and `end`.

    That is one range, or two ranges if a comment between them has to stay.
    """
    if text[start:end].strip() == ",":
        return [(min(start, child.start), max(end, child.end))]
    comma = skip_space(text, start)
    return [(comma, comma + 1), (child.start, child.end)]


def _find_cut_of_all(
    text: str, node: JsoncNode, *, has_breaks: bool
) -> tuple[int, int]:
    """Return the range of all children, a trailing comma, and added line breaks."""
    start, end = node.children[0].start, node.children[-1].end
    if text[skip_space(text, end)] == ",":
        end = skip_space(text, end) + 1
    if has_breaks and text[node.value_start + 1 : start].isspace():
        start = node.value_start + 1
        outer_indent = re.escape(_get_line_indent(text, node.value_start))
        added_break = re.compile(rf"\r?\n{outer_indent}").match(text, end)
        end = added_break.end() if added_break else end
    return start, end


def _list_hooks(group: JsoncNode) -> list[JsoncNode]:
    hook_list = group.find("hooks")
    return hook_list.children if hook_list and hook_list.kind == "[" else []


def _get_command(hook: JsoncNode) -> object:
    command = hook.find("command")
    return command.value if command else None


def _find_marker(hook: JsoncNode) -> str:
    """Return the marker in the hook's command, empty if the hook is not ours."""
    command = _get_command(hook)
    match = _OUR_COMMAND.search(command) if isinstance(command, str) else None
    return match[1] + match[2] if match else ""


def _merge_markers(markers: Iterable[str]) -> str:
    """Return the marker that all have; if they differ, `entry`, to remove the least.

    A marker says what leslied created besides its entries.
    """
    distinct_markers = set(markers)
    return distinct_markers.pop() if len(distinct_markers) == 1 else "entry"
