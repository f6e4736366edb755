"""`leslied demo`: play a scripted session in a temporary home directory."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leslied.app import get_app
from leslied.cli.commands._demo_script import SESSION_ID, iter_log_lines
from leslied.cli.help import LesliedCommand
from leslied.cli.render.output import sanitize
from leslied.errors import LesliedError
from leslied.layout import thread_folder, transcripts_folder
from leslied.paths import read_environ
from leslied.queries.agent_names import list_agent_variables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.clock import Clock

_MAX_CHECKS = 200
_CHECK_SECONDS = 0.3
_MAX_LINE_CHARS = 110


@click.command(
    cls=LesliedCommand,
    examples=[
        ("leslied demo", "play at the pace of an agent"),
        ("leslied demo --fast", "play without pauses"),
        ("leslied demo --keep", "keep the temporary home to inspect it"),
    ],
    see_also=["service install", "sync", "list"],
)
@click.option("--fast", is_flag=True, help="Do not pause between lines.")
@click.option("--keep", is_flag=True, help="Do not delete the temporary home.")
@click.pass_context
def command(ctx: click.Context, *, fast: bool, keep: bool) -> None:
    """Play a scripted session with a subagent and print its transcript.

    A daemon runs in a temporary home directory while an agent's log is written there.
    Your own files are neither read nor changed.
    """
    home = Path(tempfile.mkdtemp(prefix="leslied-demo-"))
    try:
        _run_demo(home, get_app(ctx).clock, pause=0.0 if fast else 0.6)
    finally:
        if keep:
            click.echo(f"\nThe files of the demo are in {home}")
        else:
            shutil.rmtree(home, ignore_errors=True)


def _run_demo(home: Path, clock: Clock, pause: float) -> None:
    project = home / "mill"
    (project / ".git").mkdir(parents=True)
    with _running_daemon(home, clock):
        _print_heading("The daemon is running. An agent starts to write its log:")
        for line, path in iter_log_lines(project):
            log = home / ".claude" / "projects" / "-mill" / path
            log.parent.mkdir(parents=True, exist_ok=True)
            with log.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
            click.echo(click.style(_shorten(line), dim=True))
            clock.sleep(pause)
        _print_heading("The turn has ended. The project now contains:")
        thread_id = f"thread-{SESSION_ID[:8]}"
        folder = project / thread_folder(thread_id)
        for file_path in _wait_for_files(folder, clock):
            click.echo(f"  {file_path.relative_to(project)}")
        (transcript,) = (project / transcripts_folder(thread_id)).glob("*.txt")
        _print_heading(f"{transcript.name}:")
        click.echo(sanitize(transcript.read_text(encoding="utf-8")))
    _print_heading("See your own sessions with: leslied sync && leslied list")


@contextmanager
def _running_daemon(home: Path, clock: Clock) -> Iterator[None]:
    """Run a daemon for this home directory; stop it at the end."""
    environ = {k: v for k, v in read_environ().items() if not _is_user_variable(k)}
    environ["HOME"] = str(home)
    process = subprocess.Popen(
        [sys.executable, "-m", "leslied", "run"], env=environ, stderr=subprocess.DEVNULL
    )
    try:
        _wait_for_files(home / ".local", clock, "**/store.db")
        yield
    finally:
        process.terminate()
        process.wait(10)


def _is_user_variable(name: str) -> bool:
    """Return whether the variable points to the user's files or service manager."""
    prefixes = ("XDG_", "LESLIED_", "NOTIFY_", "WATCHDOG_")
    return name.startswith(prefixes) or name in list_agent_variables()


def _wait_for_files(
    folder: Path, clock: Clock, pattern: str = "**/*.txt"
) -> list[Path]:
    """Return the matching files once two checks in a row find the same ones.

    Raises LesliedError if that does not happen within a minute.
    """
    previous_files: list[Path] = []
    for _ in range(_MAX_CHECKS):
        current_files = sorted(folder.glob(pattern)) if folder.is_dir() else []
        if current_files and current_files == previous_files:
            return current_files
        previous_files = current_files
        clock.sleep(_CHECK_SECONDS)
    raise LesliedError(
        f"The demo's files did not appear in {folder}.", "Run: leslied doctor"
    )


def _print_heading(text: str) -> None:
    click.echo()
    click.echo(click.style(text, bold=True))


def _shorten(line: dict[str, Any]) -> str:
    text = json.dumps(line)
    if len(text) <= _MAX_LINE_CHARS:
        return text
    return text[: _MAX_LINE_CHARS - 1] + "…"
