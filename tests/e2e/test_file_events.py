"""The real daemon while file events are lost or cannot be had."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.cli import LesliedRunner
from tests.support.daemon import Daemon
from tests.support.inotify import limit_inotify
from tests.support.waiting import wait_until

pytestmark = pytest.mark.e2e

MAX_WATCHES = 20
FOLDERS = 40
"""Number of folders, which is beyond the limit."""


@pytest.fixture
def start_daemon(home: Path) -> Iterator[Callable[..., Daemon]]:
    """Return a function that starts a daemon; it is killed after the test."""
    daemons: list[Daemon] = []

    def start(prefix: Sequence[str] = ()) -> Daemon:
        daemons.append(Daemon(home, prefix))
        return daemons[-1]

    yield start
    for daemon in daemons:
        if daemon.process.poll() is None:
            daemon.end(signal.SIGKILL)


def make_folders(claude: ClaudeHome) -> None:
    for number in range(FOLDERS):
        (claude.projects / f"p{number}").mkdir(parents=True)


def append_prompts(claude: ClaudeHome, text: str) -> None:
    """Append a prompt to the log in each folder."""
    for number in range(FOLDERS):
        builder = ClaudeLogBuilder(f"{number:08}-2222-4333-8444-555555555555")
        name = f"p{number}/{builder.session_id}.jsonl"
        claude.write(
            builder.prompt(f"{text} {number}", uuid=f"{text}{number}"), name=name
        )


def find_watch_problem(home: Path) -> str | None:
    """Return what `leslied status` says about file events."""
    data = LesliedRunner(home)("status", "--json").json["data"]
    problem: str | None = data["daemon"]["watch_problem"]
    return problem


@pytest.mark.fault("C2")
def test_beyond_the_watch_limit_changes_are_read_and_status_and_doctor_say_why(
    home: Path, claude: ClaudeHome, start_daemon: Callable[..., Daemon]
):
    make_folders(claude)
    daemon = start_daemon(limit_inotify(watches=MAX_WATCHES))
    wait_until(daemon.store.exists)
    append_prompts(claude, "one")
    wait_until(lambda: len(daemon.prompts()) == FOLDERS)
    append_prompts(claude, "two")
    wait_until(lambda: len(daemon.prompts()) == 2 * FOLDERS)
    wait_until(lambda: find_watch_problem(home) is not None)
    run = LesliedRunner(home)

    status = run("status")
    assert status.code == 0
    assert "more: inotify watch limit reached; changes are seen every 10" in status.err
    assert "sudo sysctl fs.inotify.max_user_watches=" in status.err
    doctor = run("doctor")
    assert "inotify watch limit reached; changes are seen every 10" in doctor.out


@pytest.mark.fault("C2")
def test_a_limit_that_is_reached_later_is_a_problem_until_folders_are_gone(
    home: Path, claude: ClaudeHome, start_daemon: Callable[..., Daemon]
):
    claude.projects.mkdir(parents=True)
    claude.write(ClaudeLogBuilder().prompt("first"))
    daemon = start_daemon(limit_inotify(watches=MAX_WATCHES))
    daemon.wait_for_scan()
    problem_at_start = find_watch_problem(home)
    make_folders(claude)
    wait_until(lambda: find_watch_problem(home) is not None)

    for number in range(FOLDERS):
        shutil.rmtree(claude.projects / f"p{number}")

    assert problem_at_start is None
    wait_until(lambda: find_watch_problem(home) is None)


@pytest.mark.fault("C3")
def test_without_an_inotify_instance_changes_are_read_and_status_says_why(
    home: Path, claude: ClaudeHome, start_daemon: Callable[..., Daemon]
):
    builder = ClaudeLogBuilder()
    claude.write(builder.prompt("one"))
    daemon = start_daemon(limit_inotify(instances=0))
    daemon.wait_for_scan()

    claude.write(builder.prompt("two"))

    wait_until(lambda: daemon.prompts() == ["one", "two"])
    status = LesliedRunner(home)("status")
    assert "no file events: inotify instance limit reached" in status.err
    assert "sudo sysctl fs.inotify.max_user_instances=" in status.err


@pytest.mark.fault("C1", "F3")
def test_what_was_written_while_the_daemon_was_frozen_is_read(
    claude: ClaudeHome, start_daemon: Callable[..., Daemon]
):
    claude.write(ClaudeLogBuilder().prompt("first"))
    daemon = start_daemon()
    wait_until(lambda: daemon.prompts() == ["first"])
    daemon.process.send_signal(signal.SIGSTOP)
    # More events than the kernel keeps; those of the logs are lost.
    for number in range(10_000):
        (claude.projects / f"{number}.txt").touch()
    make_folders(claude)
    append_prompts(claude, "later")

    daemon.process.send_signal(signal.SIGCONT)

    wait_until(lambda: len(daemon.prompts()) == FOLDERS + 1)


@pytest.mark.fault("C4")
def test_400_logs_in_new_nested_folders_and_their_later_lines_are_read(
    claude: ClaudeHome, start_daemon: Callable[..., Daemon]
):
    claude.write(ClaudeLogBuilder().prompt("first"))
    daemon = start_daemon()
    wait_until(lambda: daemon.prompts() == ["first"])

    for text in ("one", "two"):
        for number in range(400):
            child = ClaudeLogBuilder()
            line = child.prompt(text, isSidechain=True, uuid=f"{text}{number}")
            claude.write(line, name=f"p{number}/a/subagents/agent-a{number}.jsonl")

    wait_until(lambda: len(daemon.prompts()) == 801)
