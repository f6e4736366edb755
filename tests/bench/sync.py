"""Rows about reading logs: the first sync, transcripts, and a sync without changes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

from tests.bench.environment import Bench
from tests.bench.process import Cost
from tests.bench.rows import Goal, Program, Row, Sample, Task

SYNCS_WITHOUT_CHANGES = 3
"""A sync without changes is short, so each run takes the median of some."""
TRANSCRIPTS = "leslied --stop-all"


def take_median(measure: Callable[[], Cost], count: int) -> Cost:
    """Run something a few times; return the cost of the run of median length."""
    return sorted((measure() for _ in range(count)), key=lambda cost: cost.seconds)[
        count // 2
    ]


def _measure_twice(
    bench: Bench, program: str, corpus: str, sync: Callable[[Path], Cost]
) -> Sample:
    """Read a corpus into a new store, and again without changes."""
    with bench.new_store(program, corpus) as data:
        first = sync(data)
        again = take_median(lambda: sync(data), SYNCS_WITHOUT_CHANGES)
    if program == "leslied":
        _check_report(bench, corpus, first)
    return first.to_sample("first") | again.to_sample("again")


def _check_report(bench: Bench, corpus: str, cost: Cost) -> None:
    """Fail if the first sync has missed something: a fast failure is no result."""
    report = json.loads(cost.output)["data"]
    manifest = bench.load_manifest(corpus)
    assert report["rejected"] == 0, report
    if lines := manifest.get("lines"):
        assert report["entries_decoded"] == lines, (report, lines)


def measure_leslied(corpus: str) -> Callable[[Bench], Sample]:
    def measure(bench: Bench) -> Sample:
        def sync(data: Path) -> Cost:
            return bench.run_leslied(data, "sync", "--json", corpus=corpus)

        return _measure_twice(bench, "leslied", corpus, sync)

    return measure


def measure_agentsview(corpus: str) -> Callable[[Bench], Sample]:
    def measure(bench: Bench) -> Sample:
        def sync(data: Path) -> Cost:
            return bench.run_agentsview(data, "sync", corpus=corpus)

        return _measure_twice(bench, "agentsview", corpus, sync)

    return measure


def measure_transcripts(corpus: str) -> Callable[[Bench], Sample]:
    """Read a corpus and write the transcript of every unit."""

    def measure(bench: Bench) -> Sample:
        with bench.new_store(TRANSCRIPTS, corpus) as data:
            cost = bench.run_leslied(data, "sync", "--stop-all", corpus=corpus)
            written = sum(1 for _ in data.rglob("transcripts/*.txt"))
        assert written, "no transcript was written"
        return cost.to_sample("transcripts") | {"written": written}

    return measure


def measure_documents(peer: str, *args: str) -> Callable[[Bench], Sample]:
    """Let a peer write the sessions of a corpus as documents."""

    def measure(bench: Bench) -> Sample:
        with bench.scratch() as home:
            # Hard links: a peer may write beside the logs, but not into the corpus.
            projects = home / "projects"
            shutil.copytree(
                bench.get_corpus("100mb") / "projects",
                projects,
                copy_function=lambda source, target: Path(target).hardlink_to(source),
            )
            names = {"PROJECTS": str(projects), "OUTPUT": str(home / "output")}
            cost = bench.run_peer(peer, home, *(names.get(arg, arg) for arg in args))
        return cost.to_sample("documents")

    return measure


def make_task(
    name: str, *, runs: int, peer_runs: int, is_quick: bool = True, **more: int
) -> Task:
    """Make a task that reads a corpus with leslied and with agentsview in turn."""
    programs = [
        Program("leslied", measure_leslied(name), runs),
        Program("agentsview", measure_agentsview(name), peer_runs),
    ]
    if transcript_runs := more.get("transcript_runs"):
        measure = measure_transcripts(name)
        programs.append(Program(TRANSCRIPTS, measure, transcript_runs))
    return Task(f"sync {name}", tuple(programs), (name,), is_quick)


MEDIUM = make_task("100mb", runs=5, peer_runs=5, transcript_runs=5)
LARGE = make_task("1gb", runs=3, peer_runs=2, transcript_runs=1, is_quick=False)
SMALL = make_task("small", runs=3, peer_runs=1, transcript_runs=1)
WIDE = make_task("wide", runs=5, peer_runs=2)
MIXED = make_task("mixed", runs=3, peer_runs=1)
DOCUMENTS = Task(
    "documents",
    (
        Program(TRANSCRIPTS, measure_transcripts("100mb"), 2),
        Program(
            "claude-code-transcripts",
            measure_documents(
                "claude-code-transcripts",
                *("all", "-s", "PROJECTS", "-o", "OUTPUT", "--include-agents", "-q"),
            ),
            2,
        ),
        Program(
            "claude-code-log",
            measure_documents(
                "claude-code-log",
                *("--all-projects", "--projects-dir", "PROJECTS"),
                *("-o", "OUTPUT", "-f", "md"),
            ),
            1,
        ),
    ),
    ("100mb",),
    is_quick=False,
)


def make_rows(task: Task, size: str, goals: dict[str, Goal]) -> list[Row]:
    """Make the rows that every corpus has."""
    section, peer = "Reading logs", "agentsview"
    rows = [
        Row(section, f"first sync, {size}", task, "first", "s", peer),
        Row(section, f"nothing changed, {size}", task, "again", "s", peer),
    ]
    if "first rss" in goals:
        name = f"RSS of a first sync, {size}"
        rows.append(Row(section, name, task, "first rss", "MB", peer))
    if TRANSCRIPTS in {program.name for program in task.programs}:
        rows.insert(
            1,
            Row(
                section,
                f"first sync with every transcript, {size}",
                task,
                "transcripts",
                "s",
                peer,
                "first",
                program=TRANSCRIPTS,
            ),
        )
    return [row.with_goal(goals.get(row.figure)) for row in rows]


_KEEP_RSS = Goal(factor=0.55)
ROWS = [
    *make_rows(
        MEDIUM,
        "100 MB",
        {
            "first": Goal(0.35),
            "transcripts": Goal(0.6),
            "again": Goal(0.8),
            "first rss": _KEEP_RSS,
        },
    ),
    *make_rows(
        LARGE,
        "1 GB",
        {
            "first": Goal(0.3),
            "transcripts": Goal(0.6),
            "again": Goal(0.8),
            "first rss": _KEEP_RSS,
        },
    ),
    *make_rows(
        SMALL, "20,000 small logs", {"first": Goal(0.05), "again": Goal(0, 0.2)}
    ),
    *make_rows(WIDE, "lines of 1 MB", {"first rss": Goal(0, 150)}),
    *make_rows(MIXED, "six agents", {}),
    *(
        Row(
            "Reading logs",
            f"100 MB as documents, beside {peer}",
            DOCUMENTS,
            "transcripts",
            "s",
            peer,
            "documents",
            program=TRANSCRIPTS,
        )
        for peer in ("claude-code-transcripts", "claude-code-log")
    ),
]
