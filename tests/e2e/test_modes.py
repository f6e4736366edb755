"""Everything that leslied writes is private, whatever the umask."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from leslied.sinks import load_sinks
from tests.support.claude import (
    AFTER_STORE_CREATION,
    SESSION,
    ClaudeHome,
    ClaudeLogBuilder,
)
from tests.support.cli import LesliedRunner
from tests.support.daemon import Daemon
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.threat("S7")]

COMMANDS = (
    ("hooks", "install"),
    ("hooks", "install", "--scope", "project"),
    ("hooks", "install", "--scope", "local"),
    ("hooks", "uninstall"),
    ("hooks", "install"),
    ("inject", "last", "Mind the gap."),
    ("pause",),
    ("unpause",),
    ("pause",),
    ("projects", "link", "app", "../other"),
    ("completion", "install", "bash"),
    ("completion", "install", "zsh"),
    ("completion", "install", "fish"),
    ("bundle", "-o", "bundle.zip"),
    ("bundle",),
    ("rebuild",),
    ("sync", "--stop-all"),
    *(("export", "last", "-f", name, "-o", f"out-{name}") for name in load_sinks()),
    ("export", "--all", "-f", "jsonl", "-o", "new/folder"),
    ("export", "last", "-f", "markdown", "-o", "session.md"),
)


@pytest.fixture
def open_umask() -> Iterator[None]:
    previous_umask = os.umask(0)
    yield
    os.umask(previous_umask)


def call_hook(home: Path, project: Path, name: str) -> None:
    """Run a hook as the agent does."""
    settings = json.loads((home / ".claude/settings.json").read_text())
    event = {
        "hook_event_name": name,
        "session_id": SESSION,
        "transcript_path": str(home / f".claude/projects/-app/{SESSION}.jsonl"),
        "cwd": str(project),
        "prompt": "go on",
    }
    subprocess.run(
        ["/bin/sh", "-c", settings["hooks"][name][0]["hooks"][0]["command"]],
        input=json.dumps(event).encode(),
        env={"HOME": str(home), "PATH": os.environ["PATH"]},
        check=True,
        capture_output=True,
    )


def list_exposed(folder: Path, existing: set[Path]) -> set[str]:
    """Return new files and folders that other users can access."""
    return {
        f"{path.relative_to(folder)} {stat.S_IMODE(path.lstat().st_mode):o}"
        for path in folder.rglob("*")
        if path not in existing
        and not path.is_symlink()
        and path.lstat().st_mode & 0o077
    }


@pytest.mark.heavy
@pytest.mark.usefixtures("open_umask")
def test_every_file_is_private_with_an_open_umask(claude: ClaudeHome, home: Path):
    project = home / "app"
    for folder in (project, home / "other"):
        (folder / ".git").mkdir(parents=True)
    # Other users must not be able to write to a project.
    project.chmod(0o755)
    config = home / ".config/leslied/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[output]\nformats = ["html", "jsonl"]\n')
    builder = ClaudeLogBuilder(cwd=str(project), started_at=AFTER_STORE_CREATION)
    log = claude.write(
        builder.prompt("fix it"),
        builder.call("TodoWrite", {"todos": [{"content": "a"}]}, "toolu_1"),
        builder.result("toolu_1", "done"),
        builder.answer("Done."),
        name=f"-app/{SESSION}.jsonl",
    )
    existing = {home / ".local", *log.parents, log, *home.rglob("*")}
    leslied = LesliedRunner(home, cwd=project)
    daemon = Daemon(home)
    try:
        wait_until(lambda: any(project.rglob("INDEX.md")))
        exposed_while_running = list_exposed(home, existing)
    finally:
        daemon.end(signal.SIGTERM)
    failures = {}
    for command in COMMANDS:
        result = leslied(*command)
        if result.code:
            failures[command] = result.err
        if command == ("inject", "last", "Mind the gap."):
            for event in ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"):
                call_hook(home, project, event)

    assert not failures
    assert not exposed_while_running
    assert not list_exposed(home, existing)
    assert len(list(home.rglob("*"))) > len(existing) + 50
