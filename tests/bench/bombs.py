"""Measure what hostile input costs: time, memory, and the wait of another session.

    python tests/bench/bombs.py [--command sync|run] [--memory MB] [BOMB …]

Each bomb is put into a new home beside a healthy session, and read by `leslied sync`
and by the daemon. `wait` is how long a prompt of the healthy session takes to get into
the store. `--memory` limits the data that a process may allocate, as the service's
MemoryMax does. Without names, all bombs are tried.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import zstandard

from tests.bench.process import iter_tree, read_memory_mb
from tests.support.claude import (
    AFTER_STORE_CREATION,
    ClaudeLogBuilder,
    encode_json_lines,
)
from tests.support.opencode import SCHEMA

MEGABYTE = 1024 * 1024
SPARSE_BYTES = 100 * 1024 * MEGABYTE
MAX_SECONDS = 300
IDLE_SECONDS = 3
POLL_SECONDS = 0.05
PROMPT = "healthy prompt"
CJK_TEXT = "汉字测试文本日本語の文章"


class Cost(NamedTuple):
    """What one bomb cost a command."""

    seconds: float
    peak_mb: float
    wait_seconds: float | None
    code: int | None


class Home:
    """A home with a project and a healthy session in it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder
        self.project = folder / "app"
        git = self.project / ".git"
        for name in ("objects", "refs"):
            (git / name).mkdir(parents=True)
        (git / "HEAD").write_text("ref: refs/heads/main\n")
        (self.project / ".leslie").mkdir()
        self._builder = ClaudeLogBuilder(
            cwd=str(self.project), started_at=AFTER_STORE_CREATION
        )
        self.log = self.log_path(self._builder.session_id)
        self.store = folder / ".local/share/leslied/store.db"
        self._bombs = itertools.count(1)

    def make_bomb_id(self) -> str:
        """Return a session id that no other bomb in this home has."""
        return f"{next(self._bombs):08x}-2222-4333-8444-555555555555"

    def log_path(self, session_id: str) -> Path:
        log = self.path / ".claude/projects/-app" / f"{session_id}.jsonl"
        log.parent.mkdir(parents=True, exist_ok=True)
        return log

    def write(self, text: str) -> None:
        lines = [self._builder.prompt(text), self._builder.answer("done")]
        with self.log.open("ab") as file:
            file.write(encode_json_lines(*lines))

    def has_prompt(self, text: str) -> bool:
        try:
            with closing(sqlite3.connect(f"file:{self.store}?mode=ro", uri=True)) as db:
                query = "SELECT 1 FROM record WHERE content = ? LIMIT 1"
                return db.execute(query, (text,)).fetchone() is not None
        except sqlite3.Error:
            return False


def write_repeated(path: Path, part: bytes, size: int) -> None:
    block = part * (MEGABYTE // len(part))
    with path.open("wb") as file:
        for _ in range(size // MEGABYTE):
            file.write(block)


def write_tiny_lines(home: Home) -> None:
    write_repeated(home.log_path(home.make_bomb_id()), b"x\n", 20 * MEGABYTE)


def write_empty_objects(home: Home) -> None:
    write_repeated(home.log_path(home.make_bomb_id()), b"{}\n", 30 * MEGABYTE)


def write_few_objects(home: Home) -> None:
    write_repeated(home.log_path(home.make_bomb_id()), b"{}\n", 2 * MEGABYTE)


def write_line(home: Home, value: bytes, copies: int = 1) -> None:
    """Write prompts with a value that is not decoded before."""
    lines = ClaudeLogBuilder(home.make_bomb_id(), cwd=str(home.project))
    with home.log_path(lines.session_id).open("wb") as file:
        for _ in range(copies):
            line = encode_json_lines(lines.prompt("a bomb", bomb="VALUE"))
            file.write(line.replace(b'"VALUE"', value))


def write_deep_json(home: Home) -> None:
    write_line(home, b"[" * 100_000 + b"]" * 100_000, 20)


def write_huge_number(home: Home) -> None:
    write_line(home, b"9" * 1_000_000, 20)


def write_long_line(home: Home) -> None:
    write_line(home, b'"' + b"x" * (200 * MEGABYTE) + b'"')


def write_long_prompt(home: Home) -> None:
    """Write one prompt of 100 MB, for `show`, `export` and `sql`."""
    write_prompt(home, b"word " * (20 * MEGABYTE))


def write_cjk_line(home: Home) -> None:
    text = CJK_TEXT.encode()
    write_prompt(home, text * (30 * MEGABYTE // len(text)))


def write_prompts(home: Home) -> None:
    """Write twelve prompts just below the longest line, for `show` and `export`."""
    write_prompt(home, b"word " * (31 * MEGABYTE // 5), 12)


def write_prompt(home: Home, text: bytes, copies: int = 1) -> None:
    lines = ClaudeLogBuilder(home.make_bomb_id(), cwd=str(home.project))
    with home.log_path(lines.session_id).open("wb") as file:
        for _ in range(copies):
            line = encode_json_lines(lines.prompt("VALUE"))
            file.write(line.replace(b"VALUE", text))


def write_long_log(home: Home) -> None:
    """Write 200,000 lines: 50,000 units of a prompt, a call and its answer."""
    lines = ClaudeLogBuilder(home.make_bomb_id(), cwd=str(home.project))
    with home.log_path(lines.session_id).open("wb") as file:
        for number in range(50_000):
            file.write(encode_json_lines(*make_unit(lines, number)))


def write_many_calls(home: Home) -> None:
    """Write one unit with 30,000 calls."""
    lines = ClaudeLogBuilder(
        home.make_bomb_id(), str(home.project), AFTER_STORE_CREATION
    )
    with home.log_path(lines.session_id).open("wb") as file:
        file.write(encode_json_lines(lines.prompt("call 30,000 times")))
        for number in range(30_000):
            file.write(encode_json_lines(*make_unit(lines, number)[1:3]))
        file.write(encode_json_lines(lines.answer("done"), lines.prompt("next")))


def make_unit(lines: ClaudeLogBuilder, number: int) -> list[dict[str, Any]]:
    """Return a prompt, a call, its result and an answer."""
    call_id = f"toolu_{lines.session_id[:8]}_{number:06}"
    return [
        lines.prompt(f"Step {number}: run the next test and explain what fails."),
        lines.call("Bash", {"command": f"pytest -k test_{number} -q"}, call_id),
        lines.result(call_id, f"{number} passed in 0.4 s\n" + "ok " * 150),
        lines.answer(f"Test {number} passes now; the handler was missing. " * 5),
    ]


def write_zstd(home: Home) -> None:
    compressor = zstandard.ZstdCompressor().compressobj()
    parts = [compressor.compress(b"{}\n" * 333_334) for _ in range(2000)]
    folder = home.path / ".codex/sessions/2026/11/16"
    folder.mkdir(parents=True)
    name = f"rollout-2026-11-16T10-00-00-{home.make_bomb_id()}.jsonl.zst"
    (folder / name).write_bytes(b"".join(parts) + compressor.flush())


def write_many_files(home: Home) -> None:
    folder = home.log_path(home.make_bomb_id()).parent
    for number in range(int(os.environ.get("BOMB_FILES", "100000"))):
        (folder / f"{number:08x}-2222-4333-8444-555555555555.jsonl").touch()


def write_database(home: Home) -> None:
    """Write an OpenCode database with huge rows, and triggers and views in it."""
    folder = home.path / ".local/share/opencode"
    folder.mkdir(parents=True)
    with closing(sqlite3.connect(folder / "opencode.db", isolation_level=None)) as db:
        db.executescript(SCHEMA)
        db.execute("INSERT INTO session VALUES ('s', 'p', NULL, '/a', 't', '1', 1, 1)")
        text = json.dumps({"type": "text", "text": "x" * (100 * MEGABYTE)})
        for number in range(3):
            name = f"m{number}"
            db.execute("INSERT INTO message VALUES (?, 's', 1, 1, '{}')", (name,))
            db.execute(
                "INSERT INTO part VALUES (?, ?, 's', 1, 1, ?)", (name, name, text)
            )
        endless = (
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
            "SELECT i, i AS session_id, i AS message_id FROM n"
        )
        db.execute(f"CREATE VIEW todo AS {endless}")
        db.execute(
            "CREATE TRIGGER t AFTER INSERT ON part BEGIN DELETE FROM session; END"
        )


def write_sparse(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    os.truncate(path, SPARSE_BYTES)


def write_sparse_files(home: Home) -> None:
    """Write files of 100 GB that occupy no space, wherever leslied reads one."""
    leslie, data = home.project / ".leslie", home.store.parent
    write_sparse(leslie / "thread_relations.json")
    write_sparse(leslie / "index.json")
    write_sparse(leslie / "INDEX.md")
    write_sparse(leslie / ".gitignore")
    write_sparse(leslie / "threads/thread-11111111/.meta/assets.json")
    write_sparse(leslie / "threads/thread-11111111/plan.md")
    write_sparse(home.project / "AGENTS.md")
    write_sparse(home.project / ".claude/settings.json")
    write_sparse(home.project / ".git/config")
    write_sparse(home.project / ".git/packed-refs")
    write_sparse(home.project / ".git/HEAD")
    write_sparse(data / "hooks/spool/00000000000000000001-1.json")
    write_sparse(home.path / ".claude/projects/-app/sparse.jsonl")
    write_sparse(home.path / ".gemini/tmp/x/logs.json")
    write_sparse(home.path / ".gemini/tmp/x/chats/session-1.json")
    write_sparse(home.path / ".claude/sessions/1.json")


def write_relations(home: Home) -> None:
    write_large_json(home.project / ".leslie/thread_relations.json", 80)


def write_index_files(home: Home) -> None:
    """Write files just below the limits up to which they are read."""
    leslie = home.project / ".leslie"
    write_large_json(leslie / "thread_relations.json", 7.9)
    write_large_json(leslie / "index.json", 15.9)
    write_large_json(leslie / "threads/thread-11111111/.meta/assets.json", 15.9)


def write_large_json(path: Path, megabytes: float) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    items = b"[]," * int(megabytes * MEGABYTE / 3)
    head = b'{"version":"1.0","metadata":{},"threads":{},"operations":[],"relations":{}'
    path.write_bytes(head + b',"x":[' + items + b"0]}")


def write_nothing(_: Home) -> None:
    """Leave only the healthy session, to compare with."""


BOMBS: dict[str, Callable[[Home], None]] = {
    "nothing": write_nothing,
    "20 MB of x": write_tiny_lines,
    "30 MB of {}": write_empty_objects,
    "2 MB of {}": write_few_objects,
    "deep JSON": write_deep_json,
    "huge numbers": write_huge_number,
    "30 MB of CJK": write_cjk_line,
    "200,000 lines": write_long_log,
    "30,000 calls": write_many_calls,
    "200 MB line": write_long_line,
    "100 MB prompt": write_long_prompt,
    "31 MB prompts": write_prompts,
    "zstd": write_zstd,
    "many files": write_many_files,
    "database": write_database,
    "sparse files": write_sparse_files,
    "80 MB relations": write_relations,
    "large indexes": write_index_files,
}


POISON_SET = (
    "30 MB of CJK",
    "200,000 lines",
    "20 MB of x",
    "30 MB of {}",
    "zstd",
    "30,000 calls",
    "deep JSON",
)
"""The bombs beside which a live session must be read in time."""


class Process:
    """A running leslied, whose memory and processor time can be read."""

    def __init__(
        self, home: Home, memory_mb: int, *args: str, tree: Path | None = None
    ) -> None:
        def limit() -> None:
            if memory_mb:
                size = memory_mb * MEGABYTE
                resource.setrlimit(resource.RLIMIT_DATA, (size, size))

        environ = {"HOME": str(home.path), "PATH": os.environ["PATH"]}
        environ["PYTHONPATH"] = str(tree or Path(__file__).resolve().parents[2])
        self.popen = subprocess.Popen(
            [sys.executable, "-m", "leslied", *args],
            env=environ,
            cwd=home.path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=limit,  # noqa: PLW1509 - this process has one thread
        )
        self.peak_mb = 0.0

    def is_running(self) -> bool:
        """Return whether it runs; remember the largest memory of its processes."""
        sizes = [_read_status(pid).get("VmHWM", 0) for pid in iter_tree(self.popen.pid)]
        self.peak_mb = max([self.peak_mb, *(size / 1024 for size in sizes)])
        return self.popen.poll() is None

    def get_cpu_ticks(self) -> int:
        return sum(map(_read_ticks, iter_tree(self.popen.pid)))

    def get_total_mb(self) -> float:
        """Return the memory of all processes, with shared pages counted once."""
        return read_memory_mb(self.popen.pid)


def _read_status(pid: int) -> dict[str, int]:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().split("\n")
    except OSError:
        return {}
    return {
        line.split(":")[0]: int(line.split()[1]) for line in lines if line[:2] == "Vm"
    }


def _read_ticks(pid: int) -> int:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])


def measure_sync(home: Home, write_bomb: Callable[[Home], None], memory: int) -> Cost:
    """Read the bomb with `leslied sync`."""
    home.write(PROMPT)
    write_bomb(home)
    start = time.monotonic()
    process = Process(home, memory, "sync")
    wait = None
    while process.is_running() and time.monotonic() - start < MAX_SECONDS:
        if wait is None and home.has_prompt(PROMPT):
            wait = time.monotonic() - start
        time.sleep(POLL_SECONDS)
    process.popen.kill()
    seconds = time.monotonic() - start
    if wait is None and home.has_prompt(PROMPT):
        wait = seconds
    return Cost(seconds, process.peak_mb, wait, process.popen.wait())


def measure_run(home: Home, write_bomb: Callable[[Home], None], memory: int) -> Cost:
    """Let the daemon find the bomb; then write a prompt, and wait until it is idle."""
    home.write("first")
    process = Process(home, memory, "run")
    while process.is_running() and not home.has_prompt("first"):
        time.sleep(POLL_SECONDS)
    write_bomb(home)
    start = time.monotonic()
    # The daemon has read some of the bomb when the prompt comes.
    time.sleep(0.5)
    prompt_time = time.monotonic()
    home.write(PROMPT)
    wait, ticks, busy_time = None, 0, prompt_time
    while process.is_running() and (now := time.monotonic()) - start < MAX_SECONDS:
        if wait is None and home.has_prompt(PROMPT):
            wait = now - prompt_time
        if (new_ticks := process.get_cpu_ticks()) > ticks + 1:
            ticks, busy_time = new_ticks, now
        elif wait is not None and now - busy_time > IDLE_SECONDS:
            break
        time.sleep(POLL_SECONDS)
    process.popen.send_signal(signal.SIGTERM)
    code = process.popen.wait(30)
    return Cost(busy_time - start, process.peak_mb, wait, code)


COMMANDS = {"sync": measure_sync, "run": measure_run}


def main() -> None:
    """Print one line for each bomb and command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bombs", nargs="*", metavar="BOMB", help=", ".join(BOMBS))
    parser.add_argument("--command", choices=COMMANDS)
    parser.add_argument("--memory", type=int, default=0)
    options = parser.parse_args()
    print(
        f"{'bomb':<16} {'command':<8} {'seconds':>8} {'peak MB':>8} {'wait':>6}  exit"
    )
    for name in options.bombs or BOMBS:
        for command in [options.command] if options.command else COMMANDS:
            with tempfile.TemporaryDirectory(prefix="bombs-") as folder:
                cost = COMMANDS[command](
                    Home(Path(folder)), BOMBS[name], options.memory
                )
            wait = "never" if cost.wait_seconds is None else f"{cost.wait_seconds:.1f}"
            print(
                f"{name:<16} {command:<8} {cost.seconds:8.1f} {cost.peak_mb:8.0f} "
                f"{wait:>6}  {cost.code}",
                flush=True,
            )


if __name__ == "__main__":
    main()
