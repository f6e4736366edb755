"""Show file edits as coloured diff lines on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leslied.cli.look import say_more
from leslied.cli.output import clean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leslied.cli.look import Look
    from leslied.model.edits import Change, Edit

_COLOURS: dict[str, dict[str, Any]] = {
    "+": {"fg": "green"},
    "-": {"fg": "red"},
    " ": {"dim": True},
}


def edit_lines(edits: Sequence[Edit], indent: str, look: Look) -> Iterator[str]:
    """The changes, and above those of each file its name where there are several."""
    for edit in edits:
        if len(edits) > 1:
            name = look.cut(clean(look.shorten(edit.path)), look.room(indent) - 14)
            yield f"{indent}  {name} {look.paint(edit.count, dim=True)}".rstrip()
        yield from _change_lines(edit.changes, indent + "    ", look)


def _change_lines(changes: Sequence[Change], indent: str, look: Look) -> Iterator[str]:
    is_whole = look.output == "whole"
    shown = changes if is_whole else changes[: look.edit_lines]
    room = look.room(indent) - 2
    for sign, text in shown:
        if sign == "@":
            yield indent + look.paint("⋮", dim=True)
            continue
        line = clean(text)
        for piece in look.fit(line, room) if is_whole else [look.cut(line, room)]:
            yield indent + look.paint(f"{sign} {piece}".rstrip(), **_COLOURS[sign])
    if len(shown) < len(changes):
        yield indent + look.paint(say_more(len(changes) - len(shown)), dim=True)
