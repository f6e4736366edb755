"""Rows about one line that is appended to a short log and to a very long one."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

from tests.bench.environment import Bench
from tests.bench.rows import Goal, Program, Row, Sample, Task
from tests.support.claude import ClaudeLogBuilder, encode_json_lines

LONG, SHORT = "leslied, 500 MB", "leslied, 5 KB"


def _find_log(folder: Path) -> Path:
    (log,) = (folder / "projects").glob("*/*.jsonl")
    return log


def _write_short_log(folder: Path) -> None:
    builder = ClaudeLogBuilder()
    log = folder / "projects/-home-dev-app" / f"{builder.session_id}.jsonl"
    log.parent.mkdir(parents=True)
    log.write_bytes(encode_json_lines(builder.prompt("x" * 4_600)))


def measure_append(name: str) -> Callable[[Bench], Sample]:
    """Append a line to a log that was read before, and sync."""

    def measure(bench: Bench) -> Sample:
        def build(folder: Path) -> None:
            if name == LONG:
                projects = bench.get_corpus("long") / "projects"
                shutil.copytree(projects, folder / "projects")
            else:
                _write_short_log(folder)
            bench.run_leslied(folder, "sync", config=folder)

        folder = bench.get_task_folder(name, build)
        log = _find_log(folder)
        # Ids follow from the size, so that the line is new in every run.
        builder = ClaudeLogBuilder(log.stem)
        line = builder.prompt("one more", uuid=f"appended-{log.stat().st_size:012}")
        with log.open("ab") as file:
            file.write(encode_json_lines(line))
        cost = bench.run_leslied(folder, "sync", "--json", config=folder)
        report = json.loads(cost.output)["data"]
        assert report["entries_decoded"] == 1, report
        return cost.to_sample("append") | {"bytes": report["bytes_read"]}

    return measure


TASK = Task(
    "append",
    tuple(Program(name, measure_append(name)) for name in (LONG, SHORT)),
    ("long",),
)
ROWS = [
    Row(
        "One appended line",
        f"one line appended to 500 MB, beside 5 KB: {what}",
        TASK,
        figure,
        unit,
        SHORT,
        goal=Goal(factor=factor),
        program=LONG,
    )
    for what, figure, unit, factor in (
        ("CPU of a sync", "append cpu", "s", 1.1),
        ("bytes read", "bytes", "bytes", 1.0),
    )
]
