"""`leslied init`: the guide in the project's AGENTS.md."""

from __future__ import annotations

import difflib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leslied.cli.app import get_app
from leslied.cli.help import LesliedCommand
from leslied.cli.output import emit, format_path, json_option, sanitize
from leslied.errors import UserError
from leslied.guide import (
    FileSnapshot,
    GuidePlan,
    load_guide,
    plan_init,
    plan_remove,
    read_snapshot,
    replace_file,
)
from leslied.redact import Redactor
from leslied.sinks import find_project

if TYPE_CHECKING:
    from collections.abc import Iterator

_FILES = ("AGENTS.md", "CLAUDE.md")
_RESULT_MESSAGES = {
    "created": "{file} is new, with the guide for agents in it, version {next}.",
    "appended": "The guide for agents stands at the end of {file}, version {next}.",
    "updated": "The guide in {file} went from version {previous} to {next}; "
    "the rest of the file is as it was.",
    "unchanged": "{file} has the guide already, version {next}. Nothing was changed.",
    "skipped": "Nothing was changed: {file} keeps version {previous}.",
    "removed": "The guide is out of {file}; the rest is as it was.",
    "deleted": "{file} held nothing but the guide, and is gone.",
    "absent": "There is no guide in {file}. Nothing was changed.",
}


@click.command(
    cls=LesliedCommand,
    examples=[
        ("leslied init --diff", "see what it would do"),
        ("leslied init", "do it"),
        ("leslied init --file CLAUDE.md", "in the file that Claude Code reads"),
        ("leslied init --remove", "take it out again"),
    ],
    see_also=["context", "assets", "hooks"],
)
@click.option(
    "--file",
    "name",
    type=click.Choice(_FILES),
    default=_FILES[0],
    show_default=True,
    help="The file that your agents read.",
)
@click.option("--yes", is_flag=True, help="Replace the guide of another major version.")
@click.option("--remove", is_flag=True, help="Take the guide out again.")
@click.option("--diff", is_flag=True, help="Show what would change, change nothing.")
@json_option
@click.pass_context
def command(
    ctx: click.Context, *, name: str, yes: bool, remove: bool, diff: bool, as_json: bool
) -> None:
    """Tell agents that work in this project about threads.

    Puts a block of text at the end of AGENTS.md, in the top folder of the Git
    repository, or in this folder where there is none; a newer leslied replaces it.
    What stands outside the block is never touched.
    """
    app = get_app(ctx)
    snapshot = read_snapshot(_find_folder(app.home), name)
    change = _plan(snapshot, is_removed=remove)
    file = format_path(str(snapshot.folder / name), str(app.home))
    data: dict[str, Any] = {
        "file": str(snapshot.folder / name),
        **_change_to_dict(change),
    }
    if diff:
        # A key of the moment: even our own, in the data folder, is not made for a look.
        redact = Redactor(os.urandom(32)).redact
        data["diff"] = redact("".join(_diff(snapshot, change)))
        emit(data, lambda: _color_diff(data["diff"]), as_json=as_json)
        return
    if change.needs_consent and not yes and not _confirm(change, file, as_json=as_json):
        data["status"] = "skipped"
    elif change.data != snapshot.data:
        replace_file(snapshot, change.data)
    message = sanitize(_format_result(data, change, file))
    warnings = (
        [*_iter_warnings(snapshot, change)] if data["status"] != "skipped" else []
    )
    emit(data, lambda: [message], as_json=as_json, warnings=warnings)


def _find_folder(home: Path) -> Path:
    """The project's top folder, else this one; a stranger's folder above is not it."""
    here = Path.cwd()
    nowhere = (home.resolve(), Path("/"))
    if here in nowhere:
        raise UserError(f"{here} is no project.", "Go to a project's folder first.")
    top = find_project(str(here)) or here
    if top in nowhere:
        return here
    if top != here and os.getuid() not in (0, top.stat().st_uid):
        raise UserError(
            f"The project's top folder {top} is not yours.",
            "If it is the right one, go there and try again.",
        )
    return top


def _plan(snapshot: FileSnapshot, *, is_removed: bool) -> GuidePlan:
    try:
        if is_removed:
            return plan_remove(snapshot.data)
        return plan_init(snapshot.data, load_guide())
    except UserError as error:
        hint = error.hint.replace("leslied init", _format_command(snapshot.name))
        raise UserError(f"{snapshot.name}: {error.message}", hint) from error


def _change_to_dict(change: GuidePlan) -> dict[str, Any]:
    return {
        "status": change.status,
        "previous_version": change.previous_version,
        "next_version": change.next_version,
    }


def _confirm(change: GuidePlan, file: str, *, as_json: bool) -> bool:
    """The person's word; where nobody can be asked, a sentence about what to do."""
    had = change.previous_version or "unknown"
    about = f"The guide in {file} is version {had}"
    if as_json or not sys.stdin.isatty():
        call = _format_command(Path(file).name)
        raise UserError(
            f"{about}; replacing it with {change.next_version} needs your word.",
            f"To see the change: {call} --diff. To agree: {call} --yes",
        )
    question = f"{about}. Replace it with {change.next_version}?"
    return click.confirm(sanitize(question), err=True)


def _format_command(name: str) -> str:
    """The words that call this command for a file."""
    return "leslied init" + ("" if name == _FILES[0] else f" --file {name}")


def _format_result(data: dict[str, Any], change: GuidePlan, file: str) -> str:
    is_gone = change.status == "removed" and change.data is None
    said = _RESULT_MESSAGES["deleted" if is_gone else data["status"]]
    previous = change.previous_version or "unknown"
    return said.format(file=file, previous=previous, next=change.next_version)


def _iter_warnings(snapshot: FileSnapshot, change: GuidePlan) -> Iterator[str]:
    if change.was_edited:
        yield (
            "The text between the tags had been changed by hand and was put back. "
            "Your own words belong above or below the block."
        )
    if change.status not in ("removed", "absent"):
        yield from _iter_claude_warnings(snapshot, change)


def _iter_claude_warnings(snapshot: FileSnapshot, change: GuidePlan) -> Iterator[str]:
    """Claude Code reads AGENTS.md only in a folder without CLAUDE.md."""
    other = snapshot.folder / next(name for name in _FILES if name != snapshot.name)
    if other.is_symlink() or not other.is_file():
        return
    if snapshot.name == "CLAUDE.md":
        if change.status == "created":
            yield (
                "Claude Code now reads CLAUDE.md and no longer AGENTS.md. "
                "If it should read both, add this line to CLAUDE.md: @AGENTS.md"
            )
        return
    try:
        text = read_snapshot(other.parent, other.name).data or b""
    except (UserError, OSError):
        return
    if b"AGENTS.md" not in text and b"<leslie_system_guide" not in text:
        yield (
            "Claude Code reads CLAUDE.md here, not AGENTS.md. Add this line to "
            "CLAUDE.md: @AGENTS.md, or: leslied init --file CLAUDE.md"
        )


def _diff(snapshot: FileSnapshot, change: GuidePlan) -> Iterator[str]:
    """The change as a unified diff, line by line."""
    before, after = _split_lines(snapshot.data), _split_lines(change.data)
    old = f"a/{snapshot.name}" if snapshot.data is not None else "/dev/null"
    new = f"b/{snapshot.name}" if change.data is not None else "/dev/null"
    for line in difflib.unified_diff(before, after, old, new, lineterm=""):
        yield sanitize(line) + "\n"


def _split_lines(data: bytes | None) -> list[str]:
    if not data:
        return []
    text = data.decode(errors="replace").replace("\r\n", "\n")
    *lines, last = text.split("\n")
    return [*lines, f"{last}\n\\ No newline at end of file"] if last else lines


def _color_diff(diff: str) -> Iterator[str]:
    """The diff in colours."""
    colors = {"+": "green", "-": "red", "@": "cyan"}
    for line in diff.removesuffix("\n").split("\n") if diff else ():
        yield click.style(line, fg=colors.get(line[:1]))
    if not diff:
        yield "Nothing would change."
