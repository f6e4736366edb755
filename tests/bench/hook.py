"""Time the hook program as Claude Code starts it: a shell, the program, its answer.

    python tests/bench/hook.py [RUNS]

Prints the median and the 95th percentile of the prompt hook, which does the most work:
it reads the end of a large log and one of a hundred threads, and delivers a message.
Bare Python is timed in turns with it, because that is most of its time.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from leslied.hooks import inbox
from leslied.hooks.settings import make_command
from tests.support.claude import SESSION, ClaudeLogBuilder, encode_json_lines

MAX_EXTRA_MS = 15.0
"""How much longer than bare Python the 95th percentile may be, for exit code 0."""


def make_event(folder: Path) -> dict[str, str]:
    """Create a project with 100 threads and a large log; return a prompt event."""
    project = folder / "project"
    (project / ".git").mkdir(parents=True)
    threads = {f"thread-{n:08}": {"session_id": f"{n}"} for n in range(100)}
    for name in threads:
        (project / ".leslie/threads" / name).mkdir(parents=True)
    relations = project / ".leslie/thread_relations.json"
    relations.write_text(json.dumps({"threads": threads}))
    builder = ClaudeLogBuilder()
    log = folder / "log.jsonl"
    log.write_bytes(
        encode_json_lines(*(builder.answer("x" * 1000) for _ in range(4000)))
    )
    return {
        "hook_event_name": "UserPromptSubmit",
        "session_id": SESSION,
        "transcript_path": str(log),
        "cwd": str(project),
        "prompt_id": "1",
        "prompt": "go on",
    }


def time_hook(runs: int) -> dict[str, list[float]]:
    """Return the milliseconds of bare Python and of the hook, in turns, sorted."""
    times: dict[str, list[float]] = {"bare Python": [], "hook": []}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        event = json.dumps(make_event(folder)).encode()
        commands = {
            "bare Python": f"{sys.executable} -c pass",
            "hook": make_command(sys.executable, str(folder / "data"), "hooks"),
        }
        for _ in range(runs):
            inbox.enqueue(str(folder / "data"), "thread-11111111", "hi", time.time_ns())
            for program, command in commands.items():
                start = time.perf_counter()
                process = subprocess.run(
                    ["/bin/sh", "-c", command],
                    input=event,
                    capture_output=True,
                    check=True,
                )
                times[program].append((time.perf_counter() - start) * 1000)
            assert b"leslie_message" in process.stdout
    return {program: sorted(values) for program, values in times.items()}


def main() -> int:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    p95s = []
    for program, values in time_hook(runs).items():
        p50, p95 = values[runs // 2], values[runs * 95 // 100]
        p95s.append(p95)
        print(f"{program:11}: p50 {p50:.1f} ms, p95 {p95:.1f} ms, max {values[-1]:.1f}")
    bare, hook = p95s
    return int(hook > bare + MAX_EXTRA_MS)


if __name__ == "__main__":
    sys.exit(main())
