"""A home in which one system call of a run of leslied can be made to fail.

The run reads two sessions, treats them as stopped, and writes their transcripts and
archive. It starts either without a store, or with one that has a part of one session.
"""

from __future__ import annotations

import collections
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from leslied.layout import RELATIONS_LOCK_NAME
from tests.soak.home_state import State, list_differences, read_state
from tests.support.claude import (
    AFTER_STORE_CREATION,
    ClaudeLogBuilder,
    encode_json_lines,
)
from tests.support.cli import LesliedRunner

SCENARIOS = ("first run", "later run")
SYSCALLS = (
    *("write", "writev", "pwrite64", "pwritev"),
    *("fsync", "fdatasync", "ftruncate"),
    *("rename", "renameat", "renameat2", "unlink", "unlinkat"),
)
FAULTS = {"SIGKILL": "signal=KILL", "ENOSPC": "error=ENOSPC", "EIO": "error=EIO"}
COMMAND = ("sync", "--stop-all")
MAX_RUN_SECONDS = 120
"""A run takes about a second; one that takes so long hangs."""


@dataclass(frozen=True)
class FaultPoint:
    """One system call of a run, and the fault that it gets."""

    scenario: str
    syscall: str
    number: int
    """The call of this name that fails, counted from 1."""
    fault: str


class FaultBench:
    """A home for one scenario; each run starts with the same files."""

    def __init__(self, folder: Path, scenario: str) -> None:
        self._home = folder / "home"
        self._template = folder / "template"
        self._trace = folder / "trace"
        (self._home / "app" / ".git").mkdir(parents=True)
        self._logs = self._home / ".claude" / "projects" / "-app"
        self._logs.mkdir(parents=True)
        self._leslied = LesliedRunner(self._home)
        self._write_logs(has_earlier_run=scenario == "later run")
        self._expected = self._read_expected()

    def _write_logs(self, *, has_earlier_run: bool) -> None:
        """Write the logs, and keep what leslied has written before the run."""
        first, second = (
            ClaudeLogBuilder(
                f"{number:08x}-0000-4000-8000-000000000000",
                str(self._home / "app"),
                AFTER_STORE_CREATION,
            )
            for number in (1, 2)
        )
        self._append_turn(first)
        if has_earlier_run:
            assert self._leslied("sync").code == 0
        shutil.copytree(self._home, self._template, ignore=_ignore_logs)
        self._append_turn(first)
        self._append_turn(second)

    def _append_turn(self, builder: ClaudeLogBuilder) -> None:
        lines = [
            builder.prompt("do it"),
            builder.call("Bash", {"command": "make"}, "toolu_1"),
            builder.result("toolu_1", "y" * 9000),
            builder.answer("z" * 3000),
        ]
        with (self._logs / f"{builder.session_id}.jsonl").open("ab") as log:
            log.write(encode_json_lines(*lines))

    def _restore(self) -> None:
        """Replace everything that leslied has written; the logs stay as they are."""
        for folder in (self._home / "app", self._home / ".local"):
            shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self._template, self._home, dirs_exist_ok=True)

    def _read_expected(self) -> State:
        """Return the state after two undisturbed runs."""
        self._restore()
        for _ in range(2):
            assert self._leslied(*COMMAND).code == 0
        return read_state(self._home)

    def count_calls(self) -> dict[str, int]:
        """Return how often one thread of an undisturbed run makes each call."""
        self._restore()
        self._run_traced()
        calls = re.findall(
            r"^(\d+) +(\w+)\(", self._trace.read_text("latin-1"), re.MULTILINE
        )
        counts = collections.Counter(calls)
        return {
            syscall: max((n for (_, name), n in counts.items() if name == syscall))
            for syscall in SYSCALLS
            if any(name == syscall for _, name in counts)
        }

    def hit(self, point: FaultPoint) -> bool:
        """Let one call fail in a new run; return whether the run came to it."""
        self._restore()
        self._run_traced(
            f"--inject={point.syscall}:{FAULTS[point.fault]}:when={point.number}"
        )
        trace = self._trace.read_text("latin-1")
        return "(INJECTED)" in trace or "killed by SIGKILL" in trace

    def _run_traced(self, *options: str) -> None:
        command = ["strace", "-f", "-qq", "-o", str(self._trace), "-s", "0"]
        command += [f"--trace={','.join(SYSCALLS)}", *options]
        command += [sys.executable, "-m", "leslied", *COMMAND]
        subprocess.run(
            command,
            env=self._leslied.environ,
            capture_output=True,
            check=False,
            timeout=MAX_RUN_SECONDS,
        )

    def recover(self) -> list[str]:
        """Run undisturbed; return what differs from the state without a fault.

        A killed run may leave the lock of a relations file, so that the next run leaves
        the file to a later one.
        """
        if problems := self._run_undisturbed():
            for lock in (self._home / "app" / ".leslie").glob(RELATIONS_LOCK_NAME):
                os.utime(lock, (0, 0))
            problems = self._run_undisturbed()
        return problems

    def _run_undisturbed(self) -> list[str]:
        result = self._leslied(*COMMAND)
        if result.code != 0:
            return [f"exit code {result.code}: {result.err[-500:]}"]
        return list_differences(self._expected, read_state(self._home))

    def keep(self, folder: Path) -> None:
        """Copy the home, to find out what went wrong."""
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self._home, folder)


def _ignore_logs(_: str, names: list[str]) -> list[str]:
    return [name for name in names if name == ".claude"]
