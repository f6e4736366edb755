"""Plant bugs in leslied and count how many the tests catch: `make mutants`.

A bug counts as caught if its tests pass without it and fail with it. The whole run
fails if less than 95 % are caught, and writes its result for docs/reliability.md.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from datetime import UTC, datetime
from pathlib import Path

from tests.bench.results import read_commit
from tests.mutants.catalogue import ROOT, Mutant, iter_tests, load_mutants
from tests.mutants.runner import Copies, Result, run_mutant, run_pytest

MIN_SHARE = 0.95
RESULTS = ROOT / "tests/support/reliability/mutants.json"


def main() -> int:
    options = parse_options()
    mutants = [m for m in load_mutants() if re.search(options.only, m.name)]
    if not mutants:
        sys.exit(f"No mutant has a name that matches {options.only!r}.")
    with tempfile.TemporaryDirectory(prefix="leslied-mutants-") as folder:
        copies = Copies(Path(folder), min(options.jobs, len(mutants)))
        if not options.skip_check:
            check_tests(mutants, copies, options.jobs)
        results = run_all(mutants, copies, options.jobs)
    print(format_summary(results))
    if not options.only and not options.skip_check:
        save_results(results)
    return 0 if compute_share(results) >= MIN_SHARE else 1


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument(
        "--only",
        default="",
        metavar="PATTERN",
        help="run mutants whose name matches a regular expression; save nothing",
    )
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="run so many at a time"
    )
    parser.add_argument(
        "--skip-check",
        action="store_true",
        help="do not run the tests without a mutant first; save nothing",
    )
    return parser.parse_args()


def check_tests(mutants: list[Mutant], copies: Copies, jobs: int) -> None:
    """Exit unless the tests of all mutants pass without any of them."""
    tests = list(iter_tests(mutants))
    with copies.borrow() as copy:
        code, output = run_pytest(copy, [f"-n{jobs}", *tests])
    if code != 0:
        print(output)
        sys.exit("These tests fail without a mutant, so they cannot catch one.")
    print(f"without a mutant: {output.strip().rsplit(chr(10), 1)[-1]}", flush=True)


def run_all(mutants: list[Mutant], copies: Copies, jobs: int) -> list[Result]:
    """Run all mutants and print each result; return them in the order of the names."""
    results = []
    with ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(run_mutant, mutant, copies) for mutant in mutants]
        for future in as_completed(futures):
            results.append(future.result())
            print(format_result(results[-1]), flush=True)
    order = [mutant.name for mutant in mutants]
    return sorted(results, key=lambda result: order.index(result.mutant.name))


def format_result(result: Result) -> str:
    """Return one line: the outcome, the time, the name, and the test that failed."""
    test = result.failed_test.rpartition("::")[2]
    line = f"{result.outcome:9} {result.seconds:6.1f} s  {result.mutant.name:36} {test}"
    return line.rstrip()


def format_summary(results: Sequence[Result]) -> str:
    """Return the share of caught mutants, and what the others do."""
    survivors = [result for result in results if not result.is_caught]
    lines = [
        f"{result.mutant.name} ({result.outcome}): {result.mutant.what}"
        for result in survivors
    ]
    caught = len(results) - len(survivors)
    share = compute_share(results)
    return "\n".join([*lines, f"{caught} of {len(results)} caught: {share:.1%}"])


def compute_share(results: Sequence[Result]) -> float:
    """Return the share of mutants that were caught."""
    return sum(result.is_caught for result in results) / len(results)


def save_results(results: Sequence[Result]) -> None:
    """Write what docs/reliability.md shows."""
    survivors = [result.mutant for result in results if not result.is_caught]
    document = {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "commit": read_commit(ROOT),
        "caught": len(results) - len(survivors),
        "total": len(results),
        "survivors": [{"name": m.name, "what": m.what} for m in survivors],
    }
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
