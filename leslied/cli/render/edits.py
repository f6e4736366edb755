"""File edits as coloured diff lines for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leslied.cli.render.options import format_more_lines
from leslied.cli.render.output import sanitize

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leslied.cli.render.options import RenderOptions
    from leslied.rendering.edits import DiffLine, FileEdit

_COLORS: dict[str, dict[str, Any]] = {
    "+": {"fg": "green"},
    "-": {"fg": "red"},
    " ": {"dim": True},
}


def render_edits(
    edits: Sequence[FileEdit], indent: str, options: RenderOptions
) -> Iterator[str]:
    """Yield the changed lines, below file names if there are several edits."""
    for edit in edits:
        if len(edits) > 1:
            # Leave some columns for the counts of changed lines.
            path = options.truncate(
                sanitize(options.shorten_path(edit.path)),
                options.width_after(indent) - 14,
            )
            yield f"{indent}  {path} {options.paint(edit.diffstat, dim=True)}".rstrip()
        yield from _change_lines(edit.changes, indent + "    ", options)


def _change_lines(
    changes: Sequence[DiffLine], indent: str, options: RenderOptions
) -> Iterator[str]:
    is_whole = options.tool_output == "whole"
    visible_changes = changes if is_whole else changes[: options.max_edit_lines]
    width = options.width_after(indent) - 2
    for sign, text in visible_changes:
        if sign == "@":
            yield indent + options.paint("⋮", dim=True)
            continue
        line = sanitize(text)
        pieces = (
            options.wrap(line, width) if is_whole else [options.truncate(line, width)]
        )
        for piece in pieces:
            yield indent + options.paint(f"{sign} {piece}".rstrip(), **_COLORS[sign])
    if len(visible_changes) < len(changes):
        yield indent + options.paint(
            format_more_lines(len(changes) - len(visible_changes)), dim=True
        )
