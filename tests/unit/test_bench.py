"""The bench is deterministic, counts correctly, and agrees with its page."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tests.bench.__main__ import run_task
from tests.bench.chart import draw_chart
from tests.bench.claude_corpus import RARE_WORD
from tests.bench.compare_agents import format_figure, read_leslied
from tests.bench.corpora import (
    CORPORA,
    CorpusWriter,
    get_corpus,
    load_manifest,
    write_sessions,
)
from tests.bench.environment import Bench
from tests.bench.live import find_highest_rate
from tests.bench.page import PAGE, UNMEASURED_PAGE, format_row, format_spread
from tests.bench.process import ProgramError, run_program
from tests.bench.results import Machine, Result, ResultFile, Spread
from tests.bench.rows import Goal, Program, Row, Sample, Task, load_rows
from tests.support.claude import ClaudeHome
from tests.support.golden import FIXTURES

ROWS = load_rows()
MAX_NAME_CHARACTERS = 60
"""Longer names do not fit beside the chart."""


def measure_one(bench: Bench) -> Sample:
    return {"time": 1.0}


def measure_failure(bench: Bench) -> Sample:
    raise ProgramError("it ended with 1")


TASK = Task("task", (Program("leslied", measure_one), Program("peer", measure_one)))
ROW = Row("section", "row", TASK, "time", "s", "peer", goal=Goal(factor=0.5))


def make_results(folder: Path, **values: list[float]) -> ResultFile:
    """Return results of the task, by program."""
    results = ResultFile(folder / "results.jsonl")
    for program, times in values.items():
        for time in times:
            results.add(Result("task", program, "abc", "2026-11-17", {"time": time}))
    return results


def list_files(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


@pytest.mark.parametrize("name", ["small", "mixed"])
def test_a_corpus_is_the_same_each_time(name: str, tmp_path: Path):
    for folder in ("a", "b"):
        CORPORA[name].write(CorpusWriter(tmp_path / folder), 3)

    assert list_files(tmp_path / "a") == list_files(tmp_path / "b")


def test_a_corpus_is_written_once(tmp_path: Path):
    folder = get_corpus("wide", tmp_path, is_quick=True)
    mark = folder / "mark"
    mark.touch()

    assert get_corpus("wide", tmp_path, is_quick=True) == folder
    assert mark.exists()


def test_a_corpus_without_a_manifest_is_written_again(tmp_path: Path):
    folder = get_corpus("wide", tmp_path, is_quick=True)
    (folder / "manifest.json").unlink()
    (folder / "left over").touch()

    assert get_corpus("wide", tmp_path, is_quick=True) == folder
    assert not (folder / "left over").exists()
    assert load_manifest(folder)["sessions"] == 10


def test_leslied_reads_every_line_of_a_corpus(claude: ClaudeHome):
    writer = CorpusWriter(claude.projects.parent)
    write_sessions(writer, megabytes=1)

    report = claude.sync()

    assert report.entries == writer.counts["lines"]
    assert report.rejected == 0


def test_the_rare_word_is_in_three_prompts(tmp_path: Path):
    write_sessions(CorpusWriter(tmp_path), sessions=20)

    text = b"".join(list_files(tmp_path).values())
    assert text.count(RARE_WORD.encode()) == 3


def test_the_first_store_of_a_program_is_kept(tmp_path: Path):
    bench = Bench(tmp_path, {})
    with bench.new_store("leslied", "small") as first:
        (first / "store.db").touch()
    with bench.new_store("leslied", "small") as second:
        (second / "store.db").write_bytes(bytes(2_000_000))
        (second / "small").touch()

    assert bench.get_store("leslied", "small") == first
    assert (first / "store.db").exists()
    # To delete many small files would slow the programs that run next.
    assert [path.name for path in second.iterdir()] == ["small"]
    bench.clear()
    assert not second.exists()


def test_a_store_that_was_not_finished_is_not_kept(tmp_path: Path):
    bench = Bench(tmp_path, {})
    with pytest.raises(ProgramError), bench.new_store("leslied", "small") as folder:
        raise ProgramError("it ended with 1")

    assert not folder.exists()


def test_the_cost_of_a_program_includes_its_child_processes():
    child = "x = bytearray(50_000_000); sum(range(2_000_000))"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"

    cost = run_program([sys.executable, "-c", code], {})

    assert cost.largest_mb > 50
    assert cost.all_mb >= cost.largest_mb
    assert cost.seconds > 0
    assert cost.cpu_seconds > 0


def test_the_memory_of_a_program_excludes_that_of_the_bench():
    ballast = b"x" * 100_000_000

    cost = run_program([sys.executable, "-c", "pass"], {})

    assert cost.largest_mb < 50
    # The bench itself held more than that until here.
    assert len(ballast) > 50_000_000


def test_a_failed_program_is_no_result():
    with pytest.raises(ProgramError, match="ended with 3"):
        run_program([sys.executable, "-c", "raise SystemExit(3)"], {})


def test_programs_take_turns(tmp_path: Path):
    results = ResultFile(tmp_path / "results.jsonl")
    missing = dict(zip(TASK.programs, (3, 2), strict=True))

    run_task(TASK, missing, Bench(tmp_path, {}), results, "abc")

    order = [result.program for result in results.results]
    assert order == ["leslied", "peer", "leslied", "peer", "leslied"]


def test_a_failure_is_recorded_and_the_bench_goes_on(tmp_path: Path):
    results = ResultFile(tmp_path / "results.jsonl")
    programs = (Program("peer", measure_failure), Program("leslied", measure_one))
    task = Task("task", programs)

    run_task(task, dict.fromkeys(programs, 1), Bench(tmp_path, {}), results, "abc")

    assert [result.error for result in results.results] == [
        "ProgramError: it ended with 1",
        "",
    ]


def test_an_interrupted_bench_continues(tmp_path: Path):
    make_results(tmp_path, leslied=[1.0, 2.0])

    results = ResultFile(tmp_path / "results.jsonl")

    assert results.count_runs("task", "leslied", "abc") == 2
    assert results.count_runs("task", "leslied", "another commit") == 0


def test_a_task_that_is_measured_again_replaces_its_results(tmp_path: Path):
    results = make_results(tmp_path, leslied=[1.0])
    results.forget("task")
    results.add(Result("task", "leslied", "abc", "", {"time": 5.0}))

    loaded = ResultFile(tmp_path / "results.jsonl")

    assert loaded.get_spread("task", "leslied", "time") == Spread(5.0, 5.0, 5.0, 1)


def test_results_of_an_older_commit_do_not_count_beside_new_ones(tmp_path: Path):
    results = make_results(tmp_path, leslied=[1.0, 1.0])
    results.add(Result("task", "leslied", "def", "", {"time": 5.0}))

    assert results.get_spread("task", "leslied", "time") == Spread(5.0, 5.0, 5.0, 1)


def test_figures_are_medians_and_their_ratio(tmp_path: Path):
    results = make_results(tmp_path, leslied=[1.0, 9.0, 2.0], peer=[4.0, 8.0])

    figures = results.get_figures(ROW)

    assert figures.ours == Spread(2.0, 1.0, 9.0, 3)
    assert figures.ratio == pytest.approx(1 / 3)
    assert figures.is_met


@pytest.mark.parametrize(
    ("goal", "limit", "text"),
    [
        (Goal(factor=0.35), 3.5, "≤ 0.35 ×"),
        (Goal(limit=50), 50, "≤ 50 ms"),
        (Goal(factor=1, limit=15), 25, "≤ 1 × + 15 ms"),
    ],
)
def test_a_goal_is_a_multiple_of_the_peer_or_a_limit(
    goal: Goal, limit: float, text: str
):
    assert goal.get_limit(10) == limit
    assert goal.format("ms") == text


def test_a_missing_peer_leaves_the_goal_open(tmp_path: Path):
    results = make_results(tmp_path, leslied=[1.0])

    assert format_row(ROW, results) == (
        *("row", "1 s (n=1)", "", "peer: not measured", "", "", "≤ 0.5 ×", ""),
    )


def test_a_failed_row_says_so(tmp_path: Path):
    results = ResultFile(tmp_path / "results.jsonl")
    results.add(Result("task", "leslied", "abc", "", error="it ended with 1"))

    assert format_row(ROW, results)[1] == "failed"


def test_a_spread_shows_the_extremes_and_the_number_of_runs():
    assert format_spread(Spread(1234.0, 0.5, 4321.0, 5), "ms") == (
        "1,234 ms (0.5–4,321, n=5)"
    )


def test_the_page_names_the_machine_and_missing_peers():
    machine = Machine(
        *("2026-11-17", "abc", "EPYC", 2, "6.18", "3.11", "3.40"),
        is_isolated=False,
        load_before=0.5,
        load_after=2.0,
        problems=["ccusage 20.0.24 could not be installed"],
    )

    assert "\n".join(machine.describe()) == (
        "Measured on 2026-11-17 at commit abc on 2 cores (EPYC), Linux 6.18, "
        "Python 3.11, SQLite 3.40.\n"
        "The load was 0.5 before and 2.0 after the bench.\n"
        "The network could not be taken away on this machine.\n"
        "ccusage 20.0.24 could not be installed: its rows have no figures."
    )


def test_the_chart_shows_each_row_with_a_figure(tmp_path: Path):
    results = make_results(tmp_path, leslied=[1.0], peer=[4.0])

    chart = draw_chart([ROW], results)

    assert ">row</text>" in chart
    assert ">0.25 ×</text>" in chart


def test_tasks_and_rows_have_names_of_their_own():
    names = [row.name for row in ROWS]
    tasks = {row.task for row in ROWS}

    assert len(names) == len(set(names))
    assert len(tasks) == len({task.name for task in tasks})
    assert max(map(len, names)) <= MAX_NAME_CHARACTERS


# Agents are added more often than everything is measured.
UNMEASURED_ROWS = ("decoding of ", "200 sessions: highest rate held")


@pytest.mark.parametrize(
    "row",
    [row for row in ROWS if not row.name.startswith(UNMEASURED_ROWS)],
    ids=lambda row: row.name,
)
def test_the_page_has_each_row_with_its_goal_and_a_figure(row: Row):
    text = PAGE.read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith("| ")]

    (cells,) = [
        line[2:-2].split(" | ") for line in lines if line.startswith(f"| {row.name} |")
    ]
    assert cells[-2].strip() == (row.goal.format(row.unit) if row.goal else "")
    assert UNMEASURED_PAGE in text or any(map(str.isdigit, cells[1]))


def test_captures_of_several_agents_are_counted_together(tmp_path: Path):
    goose, aider = tmp_path / "goose-1/all", tmp_path / "aider-1/all"
    shutil.copytree(FIXTURES / "goose/subagent/home", goose / "home")
    (aider / "work").mkdir(parents=True)
    history = "# aider chat started at 2026-11-17 00:57:00\n\n#### Hello\n"
    (aider / "work/.aider.chat.history.md").write_text(history)

    reading = read_leslied(sorted(tmp_path.glob("*/all")))

    assert (reading.sessions, reading.subagents) == (2, 1)
    assert reading.tool_calls > 1
    assert reading.output_tokens > 0
    assert (reading.failures, reading.exit_code) == (0, 0)


def test_figures_have_the_form_of_their_kind():
    assert (format_figure(3076), format_figure(0.994)) == ("3,076", "0.99")


@pytest.mark.parametrize(
    ("capacity", "rate"), [(100, 0), (600, 562.5), (9_000, 9_000), (1e9, 64_000)]
)
def test_the_highest_rate_is_found_by_doubling_and_bisection(
    capacity: float, rate: float
):
    rates: list[float] = []

    def is_held(rate: float) -> bool:
        rates.append(rate)
        return rate <= capacity

    assert find_highest_rate(is_held) == rate
    assert len(rates) <= 9
