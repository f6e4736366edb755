"""Time how long after the end of a turn its transcript appears.

    LESLIED_LIVE=FOLDER python tests/bench/turn_end.py [TURNS]

Drives a real Claude Code in a terminal next to a real daemon, with and without hooks;
without LESLIED_LIVE, a replay writes its lines and calls the hook with the timing that
was observed. Prints the median and the 95th percentile of the time from the end of a
turn to its transcript. A turn ends when its last line is on disk and, with hooks, the
Stop hook was called. Exits with 1 if the 95th percentile is above the limit.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from leslied.hooks import spool
from tests.support.claude import SESSION, ClaudeLogBuilder, encode_json_lines
from tests.support.cli import LesliedRunner
from tests.support.hooks import run_program
from tests.support.waiting import wait_until

TOOLS = Path(__file__).resolve().parents[3] / "shared" / "tools" / "agents"
PREFIX = os.environ.get("LESLIED_LIVE", "")
MAX_P95_MS = {True: 300.0, False: 2100.0}
"""Largest accepted 95th percentile, with and without hooks."""
FLUSH_SECONDS = 0.1
"""How long Claude Code gathers lines before it appends them to its log."""


class TurnWatcher(FileSystemEventHandler):
    """Notes when hooks spoke, when turns ended in logs, and when transcripts appeared.

    The name of a spool file has the time at which the hook was called.
    """

    def __init__(self, home: Path) -> None:
        self.hooks: list[float] = []
        self.answers: list[float] = []
        self.transcripts: list[float] = []
        self._offsets: dict[Path, int] = {}
        self._observer = Observer()
        self._observer.schedule(self, str(home), recursive=True)
        self._observer.start()

    def on_any_event(self, event: FileSystemEvent) -> None:
        now = time.time()
        path = Path(os.fsdecode(event.dest_path or event.src_path))
        if event.event_type == "moved" and path.parent.name == "spool":
            self.hooks.append(int(path.name.partition("-")[0]) / 1e9)
        elif event.event_type == "moved" and path.suffix == ".txt":
            self.transcripts.append(now)
        elif event.event_type == "modified" and path.suffix == ".jsonl":
            self._read_log(path, now)

    def _read_log(self, path: Path, now: float) -> None:
        with path.open("rb") as file:
            file.seek(self._offsets.get(path, 0))
            data = file.read()
        self._offsets[path] = self._offsets.get(path, 0) + len(data)
        if b'"end_turn"' in data:
            self.answers.append(now)

    def stop(self) -> None:
        self._observer.stop()
        self._observer.join()


class Replay:
    """Writes the lines of turns and calls the hook as Claude Code 2.1.325 does."""

    def __init__(self, home: Path, work: Path, *, has_hooks: bool) -> None:
        self._builder = ClaudeLogBuilder(cwd=str(work))
        self._data = home / ".local/share/leslied"
        self._has_hooks = has_hooks
        self._log = home / f".claude/projects/-work/{SESSION}.jsonl"
        self._log.parent.mkdir(parents=True, exist_ok=True)

    def take_turn(self, number: int) -> None:
        now = datetime.now(UTC).isoformat()
        lines = [
            self._builder.prompt(f"turn {number}", timestamp=now),
            self._builder.answer("Done.") | {"timestamp": now},
        ]
        if self._has_hooks:
            self._call_stop_hook()
            lines.append(self._end("stop_hook_summary"))
        time.sleep(FLUSH_SECONDS)
        self._append(*lines, self._end("turn_duration"))
        self._append({"type": "last-prompt", "sessionId": SESSION})

    def _call_stop_hook(self) -> None:
        event = {
            "hook_event_name": "Stop",
            "session_id": SESSION,
            "transcript_path": str(self._log),
        }
        run_program(json.dumps(event).encode(), str(self._data))

    def _end(self, subtype: str) -> dict[str, Any]:
        now = datetime.now(UTC).isoformat()
        return self._builder.line("system", subtype=subtype, timestamp=now)

    def _append(self, *lines: dict[str, Any]) -> None:
        with self._log.open("ab") as file:
            file.write(encode_json_lines(*lines))


@contextmanager
def open_terminal(home: Path, work: Path) -> Iterator[Callable[[int], None]]:
    """Start Claude Code in a terminal; yield a function that takes one turn."""
    sys.path.insert(0, str(TOOLS))
    from agents import Model, Player, Setup, Terminal, prepare, with_cwd  # noqa: PLC0415

    scenarios = {f"turn{n}": [{"text": f"Answer {n}."}] for n in range(1000)}
    with Model(scenarios=scenarios) as model:
        setup = Setup(
            "claude", Path(PREFIX), home, work, interactive=True, url=model.url
        )
        argv, env = prepare(setup)
        with Terminal(argv, env, work) as terminal:
            Player(terminal, setup).play([])

            def take_turn(number: int) -> None:
                terminal.type(with_cwd(f"go [[turn{number}]]", work))
                wait_until(lambda: terminal.shows(f"Answer {number}."))

            yield take_turn


@contextmanager
def run_daemon(home: Path, *, has_hooks: bool) -> Iterator[None]:
    leslied = LesliedRunner(home)
    if has_hooks:
        assert leslied("hooks", "install").code == 0
    daemon = leslied.start("run", stderr=subprocess.DEVNULL)
    try:
        wait_until((home / ".local/share/leslied/store.db").exists)
        yield
    finally:
        daemon.send_signal(signal.SIGTERM)
        daemon.wait(20)


def measure(turns: int, *, has_hooks: bool) -> list[float]:
    """Return the milliseconds from the end of each turn to its transcript."""
    with tempfile.TemporaryDirectory() as name:
        home = Path(name) / "home"
        work = home / "work"
        (work / ".git").mkdir(parents=True)
        (home / ".local/share/leslied" / spool.FOLDER).mkdir(parents=True)
        with run_daemon(home, has_hooks=has_hooks):
            if PREFIX:
                with open_terminal(home, work) as take_turn:
                    return time_turns(home, take_turn, turns, has_hooks=has_hooks)
            replay = Replay(home, work, has_hooks=has_hooks)
            return time_turns(home, replay.take_turn, turns, has_hooks=has_hooks)


def time_turns(
    home: Path, take_turn: Callable[[int], None], turns: int, *, has_hooks: bool
) -> list[float]:
    """Take turns and time them, except the first, which creates the folders."""
    transcripts = (home / "work").glob
    take_turn(0)
    wait_until(lambda: any(transcripts(".leslie/threads/*/.meta/transcripts/*.txt")))
    time.sleep(3)
    watcher = TurnWatcher(home)
    durations_ms = []
    for number in range(1, turns + 1):
        earlier_count = len(watcher.transcripts)
        take_turn(number)
        wait_until(lambda n=earlier_count: len(watcher.transcripts) > n)
        end = max(watcher.answers[-1], *watcher.hooks[-1:] or [0.0])
        durations_ms.append((watcher.transcripts[earlier_count] - end) * 1000)
        # A later line of the turn may cause a second write.
        time.sleep(2.5)
    watcher.stop()
    writes = len(watcher.transcripts)
    print(f"{writes} writes of {turns} transcripts, {len(watcher.hooks)} hook events")
    return durations_ms


def main() -> int:
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    is_too_slow = False
    for has_hooks in (True, False):
        durations_ms = sorted(measure(turns, has_hooks=has_hooks))
        p50, p95 = durations_ms[turns // 2], durations_ms[turns * 95 // 100]
        label = "with hooks" if has_hooks else "without hooks"
        worst = durations_ms[-1]
        print(f"{label}: p50 {p50:.0f} ms, p95 {p95:.0f} ms, max {worst:.0f} ms")
        is_too_slow |= p95 > MAX_P95_MS[has_hooks]
    return int(is_too_slow)


if __name__ == "__main__":
    sys.exit(main())
