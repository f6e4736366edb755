"""Rows about the hook of prompts: a shell, the program, its answer.

It does the most work of all hooks: it reads the end of a large log and one of a hundred
threads, and delivers a message.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path

from leslied.hooks import inbox
from leslied.hooks.settings import make_command
from tests.bench.environment import Bench
from tests.bench.process import run_program
from tests.bench.rows import Goal, Program, Row, Sample, Task
from tests.support.claude import SESSION, ClaudeLogBuilder, encode_json_lines

CALLS = 60
"""Calls in one run."""
BARE_PYTHON = "bare Python"


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


def _time_calls(command: str, stdin: bytes, data: Path | None = None) -> Sample:
    """Call a shell command as Claude Code does, with a message for it each time."""
    durations_ms = []
    for _ in range(CALLS):
        if data:
            inbox.enqueue(str(data), "thread-11111111", "hi", time.time_ns())
        cost = run_program(["/bin/sh", "-c", command], {}, stdin=stdin)
        assert not data or b"leslie_message" in cost.output, "no message was delivered"
        durations_ms.append(1000 * cost.seconds)
    p95 = statistics.quantiles(durations_ms, n=20)[-1]
    return {"p50": statistics.median(durations_ms), "p95": p95}


def measure_hook(bench: Bench) -> Sample:
    with bench.scratch() as folder:
        event = json.dumps(make_event(folder)).encode()
        data = folder / "data"
        return _time_calls(make_command(sys.executable, str(data), "h"), event, data)


def measure_bare_python(bench: Bench) -> Sample:
    return _time_calls(f"{sys.executable} -I -S -c pass", b"")


_TASK = Task(
    "hook",
    (
        Program("leslied", measure_hook),
        Program(BARE_PYTHON, measure_bare_python),
    ),
)
ROWS = [
    Row("Hook", "hook UserPromptSubmit, p50", _TASK, "p50", "ms", BARE_PYTHON),
    Row(
        "Hook",
        "hook UserPromptSubmit, p95",
        _TASK,
        "p95",
        "ms",
        BARE_PYTHON,
        goal=Goal(factor=1, limit=15),
    ),
]
