"""The file edits in a tool call's arguments, whichever agent's tool it is."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    Sign = Literal["+", "-", " ", "@"]
    Change = tuple[Sign, str]

PATHS = ("file_path", "filePath", "path", "notebook_path", "absolute_path")
"""What agents call the argument that names a file."""
_OLD = ("old_string", "oldString", "old_str", "oldText")
_NEW = ("new_string", "newString", "new_str", "newText")
_WHOLE = ("content", "file_text", "new_source")
_PATCHES = ("input", "patchText", "patch")
_WRITERS = frozenset(
    [
        "write",
        "write_file",
        "create",
        "create_file",
        "notebookedit",
        "str_replace_editor",
        "str_replace_based_edit_tool",
    ]
)
_PATCH = re.compile(
    r"\*\*\* Begin Patch\n(.*?)(?:^\*\*\* End Patch|\Z)", re.DOTALL | re.MULTILINE
)
_FILE = re.compile(r"\*\*\* (Add|Update|Delete) File: (.+)")
_MOVE = "*** Move to: "
_LONGEST = 60_000
"""Texts longer than this are not compared: all goes, all comes."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One file, and what became of its lines."""

    path: str
    changes: tuple[Change, ...]

    @property
    def count(self) -> str:
        """How many lines came and went: `+3 -1`."""
        signs = [sign for sign, _ in self.changes]
        told = ((sign, signs.count(sign)) for sign in ("+", "-"))
        return " ".join(f"{sign}{number}" for sign, number in told if number)


def find_edits(tool: str, given: Any) -> list[Edit]:
    """Return what the call changes in files; nothing where that cannot be read."""
    if not isinstance(given, dict):
        return []
    patched = find_patch_edits(tool, given)
    if patched:
        return patched
    path = _first(given, PATHS)
    if not path:
        return []
    changes = list(_changes(tool, given))
    return [Edit(path, tuple(changes))] if changes else []


def find_replacements(arguments: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the old and new text of each replacement that an edit makes."""
    several = arguments.get("edits")
    parts = several if isinstance(several, list) else [arguments]
    return [pair for part in parts if (pair := _find_pair(part))]


def find_patch_edits(tool: str, arguments: Mapping[str, Any]) -> list[Edit]:
    """Return the edits of a patch, as `apply_patch` takes it; none without one."""
    return list(_read_patch(_find_patch(tool, arguments)))


def _changes(tool: str, given: Mapping[str, Any]) -> Iterator[Change]:
    pairs = find_replacements(given)
    for number, (old, new) in enumerate(pairs):
        if number:
            yield "@", ""
        yield from _compare(old, new)
    name = tool.rpartition(".")[2].lower()
    whole = _first(given, _WHOLE) if name in _WRITERS and not pairs else ""
    yield from (("+", line) for line in _split(whole))


def _find_pair(part: Any) -> tuple[str, str] | None:
    if not isinstance(part, dict):
        return None
    old, new = _first(part, _OLD), _first(part, _NEW)
    return (old, new) if old or new else None


def _compare(old: str, new: str) -> Iterator[Change]:
    before, after = _split(old), _split(new)
    if len(old) + len(new) > _LONGEST:
        yield from (("-", line) for line in before)
        yield from (("+", line) for line in after)
        return
    diff = difflib.unified_diff(before, after, lineterm="", n=2)
    for number, line in enumerate(diff):
        if number < 3:
            continue
        if line[:2] == "@@":
            yield "@", ""
        elif line[0] in "+- ":
            yield line[0], line[1:]  # type: ignore[misc]


def _find_patch(tool: str, given: Mapping[str, Any]) -> str:
    """The text of a patch, given as such or to a shell."""
    command = given.get("command") or given.get("cmd")
    words = command if isinstance(command, list) else [command]
    told = [given.get(name) for name in _PATCHES]
    if "apply_patch" in tool or any(_is_patching(word) for word in words):
        told += words
    found = (_PATCH.search(text) for text in told if isinstance(text, str))
    return next((match[1] for match in found if match), "")


def _is_patching(word: Any) -> bool:
    return isinstance(word, str) and word.lstrip().startswith("apply_patch")


def _read_patch(text: str) -> Iterator[Edit]:
    path, changes = "", list[Any]()
    for line in text.split("\n"):
        head = _FILE.fullmatch(line)
        if head:
            if path:
                yield Edit(path, tuple(changes))
            changes = []
            path = f"{head[2]} (deleted)" if head[1] == "Delete" else head[2]
        elif line.startswith(_MOVE):
            path += f" → {line.removeprefix(_MOVE)}"
        elif line.startswith("@@"):
            changes += [("@", "")] if changes else []
        elif line[:1] in ("+", "-", " "):
            changes.append((line[0], line[1:]))
    if path:
        yield Edit(path, tuple(changes))


def _first(given: Mapping[str, Any], names: Sequence[str]) -> str:
    found = (given[name] for name in names if isinstance(given.get(name), str))
    return next(found, "")


def _split(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []
