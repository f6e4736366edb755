"""The real daemon: start, ingest, stop, kill, restart."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import old_stores
from tests.support.claude import SESSION, ClaudeHome, ClaudeLogBuilder
from tests.support.cli import LesliedRunner
from tests.support.daemon import Daemon, get_store_path, list_prompts
from tests.support.golden import copy_home
from tests.support.waiting import MAX_WAIT_SECONDS, wait_until

pytestmark = pytest.mark.e2e


@pytest.fixture
def daemon(home: Path, claude: ClaudeHome) -> Iterator[Daemon]:
    claude.projects.mkdir(parents=True)
    daemon = Daemon(home)
    wait_until(daemon.store.exists)
    yield daemon
    if daemon.process.poll() is None:
        daemon.end(signal.SIGKILL)


def test_appended_entries_are_ingested(daemon: Daemon, claude: ClaudeHome):
    builder = ClaudeLogBuilder()
    claude.write(builder.prompt("one"))
    wait_until(lambda: daemon.prompts() == ["one"])

    claude.write(builder.prompt("two"))

    wait_until(lambda: daemon.prompts() == ["one", "two"])


def test_status_says_that_a_running_daemon_has_read_everything(
    daemon: Daemon, claude: ClaudeHome, home: Path
):
    def load_status() -> Any:
        return LesliedRunner(home)("status", "--json").json["data"]

    claude.write(ClaudeLogBuilder().prompt("one"))
    wait_until(lambda: daemon.prompts() == ["one"])
    wait_until(lambda: load_status()["daemon"]["scanned_at"] is not None)

    data = load_status()

    (agent,) = (each for each in data["agents"] if each["name"] == "claude-code")
    assert agent["state"] == "up-to-date"
    assert data["daemon"]["watch_problem"] is None


@pytest.mark.fault("C4")
def test_subagent_logs_in_new_folders_are_ingested(daemon: Daemon, claude: ClaudeHome):
    for number in range(20):
        child = ClaudeLogBuilder()
        claude.write(
            child.prompt(f"task {number}", isSidechain=True),
            name=f"p{number}/{SESSION}/subagents/agent-a{number}.jsonl",
        )

    wait_until(lambda: len(daemon.prompts()) == 20)


@pytest.mark.fault("F8")
@pytest.mark.parametrize("signal_number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_the_daemon_cleanly(
    home: Path, claude: ClaudeHome, signal_number: int
):
    builder = ClaudeLogBuilder()
    claude.write(builder.prompt("one"))
    # With a store, the daemon does not start with a process that reads all logs.
    assert LesliedRunner(home)("sync").code == 0
    daemon = Daemon(home)
    claude.write(builder.prompt("two"))
    wait_until(lambda: daemon.prompts() == ["one", "two"])

    assert daemon.end(signal_number) == 0
    assert not daemon.store.with_name("store.db-wal").exists()


def test_a_daemon_in_the_background_of_a_script_stops_on_sigterm(
    home: Path, claude: ClaudeHome
):
    """`nohup` ignores SIGHUP, and a shell without job control ignores SIGINT."""
    claude.write(ClaudeLogBuilder().prompt("one"))
    script = 'nohup "$0" -m leslied run 2>&1 & echo $!; wait $!; echo "exit code $?"'
    shell = subprocess.Popen(
        ["/bin/sh", "-c", script, sys.executable],
        env=LesliedRunner(home).environ,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert shell.stdout
    pid = int(shell.stdout.readline())
    try:
        wait_until(lambda: list_prompts(get_store_path(home)) == ["one"])
        os.kill(pid, signal.SIGTERM)
        output, _ = shell.communicate(timeout=MAX_WAIT_SECONDS)
    finally:
        if shell.poll() is None:
            os.kill(pid, signal.SIGKILL)
            shell.communicate()

    assert output.endswith("exit code 0\n")


def test_a_daemon_restarted_after_a_kill_continues_ingesting(
    daemon: Daemon, claude: ClaudeHome, home: Path
):
    builder = ClaudeLogBuilder()
    claude.write(builder.prompt("one"))
    wait_until(lambda: daemon.prompts() == ["one"])
    daemon.end(signal.SIGKILL)
    claude.write(builder.prompt("two"))

    restarted = Daemon(home)

    wait_until(lambda: restarted.prompts() == ["one", "two"])
    assert restarted.end(signal.SIGTERM) == 0


@pytest.mark.fault("E6")
def test_the_daemon_rebuilds_a_store_that_cannot_be_migrated(home: Path):
    copy_home(old_stores.SESSION_CASE, home)
    old_stores.unpack("04", get_store_path(home))

    daemon = Daemon(home)

    wait_until(lambda: len(daemon.prompts()) == 1)
    assert daemon.end(signal.SIGTERM) == 0
    assert get_store_path(home).with_name("store.db.form4").exists()


@pytest.mark.fault("E11")
@pytest.mark.usefixtures("daemon")
def test_a_second_daemon_is_refused(home: Path):
    result = LesliedRunner(home)("run")

    assert result.code == 4
    assert "Another leslied" in result.err


@pytest.mark.fault("E15")
def test_a_log_that_kills_the_daemon_twice_is_left_out_until_a_command_reads_it(
    home: Path, claude: ClaudeHome
):
    builder = ClaudeLogBuilder()
    claude.write(builder.prompt("deadly"), builder.answer("x" * 1_100_000))
    run = LesliedRunner(home)
    for _ in range(2):
        killed = run("run", LESLIED_CRASH_AT="commit.before")
        assert killed.code == -signal.SIGKILL
    other = ClaudeLogBuilder("22222222-2222-4333-8444-555555555555")
    claude.write(other.prompt("harmless"), name=f"-app/{other.session_id}.jsonl")
    daemon = Daemon(home)
    wait_until(lambda: daemon.prompts() == ["harmless"])
    wait_until(lambda: "claude-code is behind" in run("status").err)
    status = run("status")
    daemon.end(signal.SIGTERM)
    prompts = daemon.prompts()

    assert prompts == ["harmless"]
    assert "leslied was killed while it read this (failed 2 times" in status.err
    run("sync")
    assert sorted(daemon.prompts()) == ["deadly", "harmless"]
    assert "killed" not in run("status").err
