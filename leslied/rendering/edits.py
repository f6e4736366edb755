"""File edits in the arguments of a tool call, as changed lines. Pure."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from leslied.sessions.tools import (
    COMMAND_ARGUMENTS,
    CONTENT_ARGUMENTS,
    NEW_TEXT_ARGUMENTS,
    OLD_TEXT_ARGUMENTS,
    PATCH_ARGUMENTS,
    PATH_ARGUMENTS,
    find_text,
    find_tool_kind,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    Sign = Literal["+", "-", " ", "@"]
    """Added, removed or unchanged; `@` separates two places in the file."""
    DiffLine = tuple[Sign, str]

_WRITING_KINDS = ("write", "editor", "notebook")
"""Kinds of tools whose content replaces a file or a part of it."""
_PATCH = re.compile(
    r"\*\*\* Begin Patch\n(.*?)(?:^\*\*\* End Patch|\Z)", re.DOTALL | re.MULTILINE
)
_FILE_HEADER = re.compile(r"\*\*\* (Add|Update|Delete) File: (.+)")
_MOVE_PREFIX = "*** Move to: "
_CONTEXT_LINES = 2
"""Number of unchanged lines that are shown before and after a change."""
_MAX_DIFF_CHARS = 60_000
"""Longer texts are not compared: the old one is shown as removed, the new as added."""
_MAX_DIFF_LINES = 4_000
"""Texts with more lines are not compared either, because the time for a comparison
grows with the square of the number of lines."""


class FileEdit(Struct, frozen=True):
    """The changed lines of one file."""

    path: str
    changes: tuple[DiffLine, ...]

    @property
    def diffstat(self) -> str:
        """Numbers of added and removed lines, as in `+3 -1`."""
        signs = [sign for sign, _ in self.changes]
        counts = ((sign, signs.count(sign)) for sign in ("+", "-"))
        return " ".join(f"{sign}{number}" for sign, number in counts if number)


def find_edits(tool: str, arguments: Any) -> list[FileEdit]:
    """Return the file edits of a tool call; empty if none is recognized."""
    if not isinstance(arguments, dict):
        return []
    patch_edits = find_patch_edits(tool, arguments)
    if patch_edits:
        return patch_edits
    path = find_text(arguments, PATH_ARGUMENTS)
    if not path:
        return []
    changes = list(_iter_changes(tool, arguments))
    return [FileEdit(path, tuple(changes))] if changes else []


def find_replacements(arguments: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the (old, new) text of each replacement in an edit call."""
    # Mistral Vibe puts the edits into `content`. Without a list, the call is one edit.
    lists = [arguments.get(name) for name in ("edits", "content")]
    edits = next((each for each in lists if isinstance(each, list)), [arguments])
    return [pair for edit in edits if (pair := _find_replacement(edit))]


def find_patch_edits(tool: str, arguments: Mapping[str, Any]) -> list[FileEdit]:
    """Return the edits of an `apply_patch` patch; empty without a patch."""
    return list(_parse_patch(_find_patch(tool, arguments)))


def _iter_changes(tool: str, arguments: Mapping[str, Any]) -> Iterator[DiffLine]:
    """Yield a call's replacements as diffs; without any, the content that it writes."""
    replacements = find_replacements(arguments)
    for number, (old, new) in enumerate(replacements):
        if number:
            yield "@", ""
        yield from _diff_texts(old, new)
    if not replacements and find_tool_kind(tool) in _WRITING_KINDS:
        content = find_text(arguments, CONTENT_ARGUMENTS)
        yield from (("+", line) for line in _split_lines(content))


def _find_replacement(edit: Any) -> tuple[str, str] | None:
    if not isinstance(edit, dict):
        return None
    old = find_text(edit, OLD_TEXT_ARGUMENTS)
    new = find_text(edit, NEW_TEXT_ARGUMENTS)
    return (old, new) if old or new else None


def can_compare(before: Sequence[str], after: Sequence[str]) -> bool:
    """Return whether two texts are short enough for a comparison line by line."""
    return (
        len(before) + len(after) <= _MAX_DIFF_LINES
        and sum(map(len, before)) + sum(map(len, after)) <= _MAX_DIFF_CHARS
    )


def _diff_texts(old: str, new: str) -> Iterator[DiffLine]:
    """Yield sign and text of each line of a diff; the sign `@` separates its hunks.

    If the texts are too long to be compared, yield all lines of both.
    """
    before, after = _split_lines(old), _split_lines(new)
    if not can_compare(before, after):
        yield from (("-", line) for line in before)
        yield from (("+", line) for line in after)
        return
    diff = difflib.unified_diff(before, after, lineterm="", n=_CONTEXT_LINES)
    for number, line in enumerate(diff):
        # The first three lines are the diff's two file names and its first hunk header.
        if number < 3:
            continue
        if line[:2] == "@@":
            yield "@", ""
        elif line[0] in "+- ":
            yield line[0], line[1:]  # type: ignore[misc]


def _find_patch(tool: str, arguments: Mapping[str, Any]) -> str:
    """Return the patch text from an argument or a shell command; empty if none."""
    commands = (arguments.get(name) for name in COMMAND_ARGUMENTS)
    command = next(filter(None, commands), None)
    words = command if isinstance(command, list) else [command]
    texts = [arguments.get(name) for name in PATCH_ARGUMENTS]
    if "apply_patch" in tool or any(_is_patch_command(word) for word in words):
        texts += words
    matches = (_PATCH.search(text) for text in texts if isinstance(text, str))
    return next((match[1] for match in matches if match), "")


def _is_patch_command(word: Any) -> bool:
    return isinstance(word, str) and word.lstrip().startswith("apply_patch")


def _parse_patch(text: str) -> Iterator[FileEdit]:
    """Yield the edits of a patch.

    The path of a deleted file ends with ` (deleted)`, that of a moved file with ` → `
    and the new path.
    """
    path = ""
    changes: list[Any] = []
    for line in text.split("\n"):
        header = _FILE_HEADER.fullmatch(line)
        if header:
            if path:
                yield FileEdit(path, tuple(changes))
            changes = []
            path = f"{header[2]} (deleted)" if header[1] == "Delete" else header[2]
        elif line.startswith(_MOVE_PREFIX):
            path += f" → {line.removeprefix(_MOVE_PREFIX)}"
        elif line.startswith("@@"):
            changes += [("@", "")] if changes else []
        elif line[:1] in ("+", "-", " "):
            changes.append((line[0], line[1:]))
    if path:
        yield FileEdit(path, tuple(changes))


def _split_lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []
