"""Test which processes of agents' registries count as running."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from leslied.model.session import LiveProcess, ProcessRegistry
from leslied.tail.liveness import (
    are_registries_readable,
    check_session_processes,
    is_running,
)

needs_proc = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="needs /proc"
)


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    """Yield a process that runs until its input ends."""
    command = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


def read_start_ticks(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])


def parse(path: Path, data: bytes) -> LiveProcess | None:
    """Parse a registry file with a session id and a pid."""
    session_id, _, pid = data.decode().partition(" ")
    return LiveProcess(session_id, int(pid)) if pid else None


def test_a_process_runs_until_it_is_gone(child: subprocess.Popen[bytes]):
    process = LiveProcess("s", child.pid)
    was_running = is_running(process)
    child.kill()
    child.wait()

    assert (was_running, is_running(process)) == (True, False)


@needs_proc
def test_a_process_that_ended_but_is_not_reaped_does_not_run(
    child: subprocess.Popen[bytes],
):
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)

    assert not is_running(LiveProcess("s", child.pid))


@needs_proc
@pytest.mark.parametrize(
    ("difference", "runs"), [(0, True), (200, True), (-200, True), (201, False)]
)
def test_another_process_with_the_same_pid_is_not_the_one_that_was_registered(
    difference: int, *, runs: bool
):
    start_ticks = read_start_ticks(os.getpid()) + difference

    assert is_running(LiveProcess("s", os.getpid(), start_ticks)) is runs


def test_a_session_is_live_if_any_of_its_processes_runs(tmp_path: Path):
    for number, pid in enumerate([os.getpid(), 2**22 + 1]):
        (tmp_path / f"{number}.json").write_text(f"s {pid}")
    (tmp_path / "2.json").write_text(f"other {2**22 + 1}")
    (tmp_path / "3.json").write_text("unfinished")

    registries = [ProcessRegistry(tmp_path, "*.json")]

    assert check_session_processes(registries, parse) == {"s": True, "other": False}


def test_files_that_do_not_match_the_registry_are_not_read(tmp_path: Path):
    (tmp_path / "secret.key").write_text(f"s {os.getpid()}")

    assert check_session_processes([ProcessRegistry(tmp_path, "*.json")], parse) == {}


def test_without_a_registry_it_is_unknown_which_processes_are_gone(tmp_path: Path):
    registry = ProcessRegistry(tmp_path / "agent" / "sessions", "*.json")
    is_known_before = are_registries_readable([registry])
    registry.path.mkdir(parents=True)

    assert (is_known_before, are_registries_readable([registry])) == (False, True)
