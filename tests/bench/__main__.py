"""Measure leslied beside its peers: `make bench`, `make bench-quick`.

An interrupted bench continues where it ended, as long as the commit is the same;
`--rows` measures the matching rows again. Everything is kept in `.bench`.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import re
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from tests.bench import corpora, page, peers
from tests.bench.environment import CACHE, ROOT, Bench
from tests.bench.results import Result, ResultFile, read_commit, read_machine
from tests.bench.rows import Program, Row, Task, load_rows


def main() -> int:
    options = parse_options()
    rows = load_rows()
    if options.list:
        for row in rows:
            print(f"{row.task.name:18} {row.name}")
        return 0
    selected = [row for row in rows if re.search(options.rows, row.name)]
    if not selected:
        sys.exit("No row has such a name. See their names with: make bench ARGS=--list")
    programs, problems = peers.install_all(CACHE / "peers")
    is_isolated = peers.isolate()
    name = "quick.jsonl" if options.quick else "results.jsonl"
    results = ResultFile(CACHE / name)
    if options.quick and not options.rows:
        selected = [row for row in selected if row.task.is_quick]
    if not options.page:
        lock = take_lock(CACHE / "lock")
        bench = Bench(CACHE, programs, is_quick=options.quick)
        machine = read_machine(ROOT, is_isolated=is_isolated, problems=problems)
        results.add_machine(machine)
        run_tasks(selected, bench, results, options)
        bench.clear()
        results.add_machine(replace(machine, load_after=os.getloadavg()[0]))
        lock.close()
    if options.quick:
        print("\nThe corpora are small: the sizes below are those of the full bench.")
    page.print_tables(selected, results)
    if options.quick:
        return 0
    if missing := [row.name for row in rows if not results.has_run(row)]:
        text = f"{len(missing)} rows, such as: {missing[0]}"
        print(f"\ndocs/performance.md stays as it is, because it would lack {text}.")
        return 1
    page.write_page(rows, results)
    return 0


def take_lock(path: Path) -> IO[bytes]:
    """Exit if another bench runs: each would disturb the other."""
    file = path.open("wb")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        sys.exit("Another bench runs in this folder. Wait until it has ended.")
    return file


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument(
        "--rows",
        default="",
        metavar="PATTERN",
        help="measure rows again whose name matches a regular expression",
    )
    parser.add_argument("--runs", type=int, help="run each program so often at most")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="use small corpora and two runs; do not write the page",
    )
    parser.add_argument("--list", action="store_true", help="list the rows and end")
    parser.add_argument(
        "--page", action="store_true", help="write the page again; measure nothing"
    )
    return parser.parse_args()


def run_tasks(
    rows: list[Row], bench: Bench, results: ResultFile, options: argparse.Namespace
) -> None:
    """Run the tasks of the rows, each once."""
    commit = read_commit(ROOT)
    most_runs = options.runs or (2 if options.quick else sys.maxsize)
    is_fresh = bool(options.rows) or options.quick or commit.endswith("+")
    for task in dict.fromkeys(row.task for row in rows):
        if is_fresh:
            results.forget(task.name)
        missing = {
            program: min(program.runs, most_runs)
            - results.count_runs(task.name, program.name, commit)
            for program in task.programs
            if program.name not in peers.PEERS or program.name in bench.peers
        }
        if any(count > 0 for count in missing.values()):
            run_task(task, missing, bench, results, commit)


def run_task(
    task: Task,
    missing: dict[Program, int],
    bench: Bench,
    results: ResultFile,
    commit: str,
) -> None:
    """Run the programs of a task in turn, as often as each is missing."""
    for name in task.corpora:
        corpora.read_all(bench.get_corpus(name))
    for number in range(max(missing.values())):
        for program in (p for p, count in missing.items() if number < count):
            start = time.monotonic()
            date = datetime.now(UTC).isoformat(timespec="seconds")
            result = Result(task.name, program.name, commit, date)
            try:
                result = replace(result, sample=dict(program.measure(bench)))
            except Exception as error:  # noqa: BLE001 - the others are worth measuring
                result = replace(result, error=f"{type(error).__name__}: {error}"[:300])
            seconds = round(time.monotonic() - start, 1)
            results.add(replace(result, seconds=seconds))
            run = f"{task.name}, {program.name}, run {number + 1}"
            print(f"{run}: {seconds} s {result.error}", flush=True)
    bench.end_task()


if __name__ == "__main__":
    sys.exit(main())
