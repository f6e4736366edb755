"""`leslied init`: add the guide for agents to a project's AGENTS.md."""

from __future__ import annotations

import difflib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import structs

from leslied.app import get_app
from leslied.cli.help import LesliedCommand
from leslied.cli.render.output import emit, json_option, sanitize
from leslied.errors import SinkError, UserError
from leslied.guarded_file import (
    FileSnapshot,
    LinkError,
    read_snapshot,
    replace_file,
)
from leslied.guide import GuidePlan, load_guide, plan_init, plan_remove
from leslied.model.command_results import GuideDiff, GuideResult
from leslied.queries.preview import make_preview_redact
from leslied.queries.threads.lookup import find_project
from leslied.rendering.humanize import format_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.app import App

_FILE_NAMES = ("AGENTS.md", "CLAUDE.md")
_RESULT_MESSAGES = {
    "created": "Created {file} with version {next} of the guide for agents.",
    "appended": "Appended version {next} of the guide for agents to {file}.",
    "updated": "Updated the guide in {file} from version {previous} to {next}; "
    "the rest of the file was not changed.",
    "unchanged": "{file} already has version {next} of the guide. Nothing was changed.",
    "skipped": "Nothing was changed: {file} keeps version {previous}.",
    "removed": "Removed the guide from {file}; the rest of the file was not changed.",
    "deleted": "Deleted {file}, which contained only the guide.",
    "absent": "There is no guide in {file}. Nothing was changed.",
}


@click.command(
    cls=LesliedCommand,
    examples=[
        ("leslied init --diff", "show the change without making it"),
        ("leslied init", "add or update the guide"),
        ("leslied init --file CLAUDE.md", "use the file that Claude Code reads"),
        ("leslied init --remove", "remove the guide"),
    ],
    see_also=["context", "assets", "hooks"],
)
@click.option(
    "--file",
    "file_name",
    type=click.Choice(_FILE_NAMES),
    default=_FILE_NAMES[0],
    show_default=True,
    help="Change this file; choose the one that your agents read.",
)
@click.option(
    "--yes", is_flag=True, help="Replace the guide even if its major version differs."
)
@click.option("--remove", is_flag=True, help="Remove the guide.")
@click.option("--diff", is_flag=True, help="Show the change without making it.")
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    *,
    file_name: str,
    yes: bool,
    remove: bool,
    diff: bool,
    as_json: bool,
) -> None:
    """Add the guide for agents to a project's AGENTS.md.

    The guide explains to agents how to use threads. It is a marked, versioned block at
    the end of AGENTS.md; the file is in the top folder of the Git repository or,
    outside a repository, in the current folder. After upgrading leslied, run the
    command again to update the guide. Text outside the block is never changed.
    """
    app = get_app(ctx)
    snapshot = _read_file(_get_project_folder(app.home), file_name)
    plan = _make_plan(snapshot, is_removal=remove)
    path = str(snapshot.folder / file_name)
    short_path = format_path(path, str(app.home))
    result = GuideResult(
        file=path,
        status=plan.status,
        previous_version=plan.previous_version,
        next_version=plan.next_version,
    )
    if diff:
        text = _format_diff(app, snapshot, plan)
        guide_diff = GuideDiff(**result.to_dict(), diff=text)
        emit(guide_diff.to_dict, lambda: _colored_lines(text), as_json=as_json)
        return
    needs_answer = plan.needs_consent and not yes
    if needs_answer and not _confirm(plan, short_path, as_json=as_json):
        result = structs.replace(result, status="skipped")
    elif plan.data != snapshot.data:
        _write(snapshot, plan, short_path)
    message = sanitize(_format_result(result, plan, short_path))
    warnings = [*_iter_warnings(snapshot, plan)] if result.status != "skipped" else []
    emit(result.to_dict, lambda: [message], as_json=as_json, warnings=warnings)


def _read_file(folder: Path, name: str) -> FileSnapshot:
    """Read the file; raise UserError for a link or an unsuitable file."""
    try:
        return read_snapshot(folder, name)
    except LinkError as error:
        hint = "Replace it by a regular file, or choose another file with --file."
        if "/" not in error.target:
            hint = f"To write to its target: leslied init --file {error.target}"
        raise UserError(error.message, hint) from error


def _write(snapshot: FileSnapshot, plan: GuidePlan, path: str) -> None:
    try:
        replace_file(snapshot, plan.data)
    except OSError as error:
        raise UserError(
            f"{path} cannot be written: {error.strerror}.",
            "Nothing was changed. See its permissions with: ls -ld .",
        ) from error


def _get_project_folder(home: Path) -> Path:
    """Return the project's top folder, or the current folder outside a project.

    Raises UserError in the home directory and in the root directory, and if the top
    folder belongs to another user.
    """
    current = Path.cwd()
    # Neither is a project, even if it is the top folder of a Git repository.
    excluded_folders = (home.resolve(), Path("/"))
    if current in excluded_folders:
        raise UserError(
            f"{current} is not a project.", "Change to a project's folder first."
        )
    top = find_project(str(current)) or current
    if top in excluded_folders:
        return current
    if top != current and os.getuid() not in (0, top.stat().st_uid):
        raise UserError(
            f"The project's top folder {top} belongs to another user.",
            "If it is the right one, change to it and try again.",
        )
    return top


def _make_plan(snapshot: FileSnapshot, *, is_removal: bool) -> GuidePlan:
    try:
        if is_removal:
            return plan_remove(snapshot.data)
        return plan_init(snapshot.data, load_guide())
    except UserError as error:
        hint = error.hint.replace("leslied init", _format_command_line(snapshot.name))
        raise UserError(f"{snapshot.name}: {error.message}", hint) from error


def _confirm(plan: GuidePlan, path: str, *, as_json: bool) -> bool:
    """Ask whether to replace the guide; raise UserError if nobody can answer."""
    previous = plan.previous_version or "unknown"
    fact = f"The guide in {path} is version {previous}"
    if as_json or not sys.stdin.isatty():
        command_line = _format_command_line(Path(path).name)
        raise UserError(
            f"{fact}; replacing it with {plan.next_version} needs confirmation.",
            f"Show the change with: {command_line} --diff. "
            f"Confirm with: {command_line} --yes",
        )
    question = f"{fact}. Replace it with {plan.next_version}?"
    return click.confirm(sanitize(question), err=True)


def _format_command_line(file_name: str) -> str:
    """Format the command line of `leslied init` for a file."""
    return "leslied init" + (
        "" if file_name == _FILE_NAMES[0] else f" --file {file_name}"
    )


def _format_result(result: GuideResult, plan: GuidePlan, path: str) -> str:
    is_deleted = plan.status == "removed" and plan.data is None
    message = _RESULT_MESSAGES["deleted" if is_deleted else result.status]
    previous = plan.previous_version or "unknown"
    return message.format(file=path, previous=previous, next=plan.next_version)


def _iter_warnings(snapshot: FileSnapshot, plan: GuidePlan) -> Iterator[str]:
    if plan.was_edited:
        yield (
            "The text between the tags had been edited and was restored. "
            "Put your own text above or below the block."
        )
    if plan.status not in ("removed", "absent"):
        yield from _iter_claude_warnings(snapshot, plan)


def _iter_claude_warnings(snapshot: FileSnapshot, plan: GuidePlan) -> Iterator[str]:
    """Yield a warning if Claude Code does not read the project's AGENTS.md."""
    # Claude Code reads AGENTS.md only in a folder without CLAUDE.md.
    other_file = snapshot.folder / next(
        name for name in _FILE_NAMES if name != snapshot.name
    )
    if other_file.is_symlink() or not other_file.is_file():
        return
    if snapshot.name == "CLAUDE.md":
        if plan.status == "created":
            yield (
                "Claude Code now reads CLAUDE.md and no longer AGENTS.md. "
                "To make it read both, add this line to CLAUDE.md: @AGENTS.md"
            )
        return
    try:
        text = read_snapshot(other_file.parent, other_file.name).data or b""
    except (UserError, SinkError, OSError):
        return
    if b"AGENTS.md" not in text and b"<leslie_system_guide" not in text:
        yield (
            "Claude Code reads CLAUDE.md in this folder, not AGENTS.md. Add this line "
            "to CLAUDE.md: @AGENTS.md, or run: leslied init --file CLAUDE.md"
        )


def _format_diff(app: App, snapshot: FileSnapshot, plan: GuidePlan) -> str:
    """Return the change as a diff, without secrets."""
    redact = make_preview_redact(app.paths.config_file)
    return redact("".join(_diff_lines(snapshot, plan)))


def _diff_lines(snapshot: FileSnapshot, plan: GuidePlan) -> Iterator[str]:
    """Yield the lines of the change as a unified diff."""
    before, after = _split_lines(snapshot.data), _split_lines(plan.data)
    old_name = f"a/{snapshot.name}" if snapshot.data is not None else "/dev/null"
    new_name = f"b/{snapshot.name}" if plan.data is not None else "/dev/null"
    for line in difflib.unified_diff(before, after, old_name, new_name, lineterm=""):
        yield sanitize(line) + "\n"


def _split_lines(data: bytes | None) -> list[str]:
    if not data:
        return []
    text = data.decode(errors="replace").replace("\r\n", "\n")
    *lines, last = text.split("\n")
    return [*lines, f"{last}\n\\ No newline at end of file"] if last else lines


def _colored_lines(diff: str) -> Iterator[str]:
    """Yield the lines of a unified diff in colour; a sentence if it is empty."""
    colors = {"+": "green", "-": "red", "@": "cyan"}
    for line in diff.removesuffix("\n").split("\n") if diff else ():
        yield click.style(line, fg=colors.get(line[:1]))
    if not diff:
        yield "Nothing would change."
