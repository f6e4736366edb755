"""Run leslied under kills, faults, load and hostile input for hours.

    python -m tests.soak [--parts kills,load] [--kills 10000] [--minutes 10] [--fresh]

Prints one table and writes the figures for docs/reliability.md. An interrupted soak
goes on where it was, as long as the code of leslied is the same; its progress is in
`.soak`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

from tests.soak import faults, fuzz, kills, load, poison, stop
from tests.soak.options import SoakOptions
from tests.soak.progress import (
    ROOT,
    Code,
    Progress,
    make_scratch,
    read_code,
    take_lock,
)
from tests.soak.table import (
    PARTS,
    RESULTS,
    SoakRow,
    format_table,
    load_rows,
    replace_rows,
    save_rows,
)

MODULES = {
    "kills": kills,
    "faults": faults,
    "load": load,
    "poison": poison,
    "stop": stop,
    "fuzz": fuzz,
}


def main() -> int:
    """Run the parts, print the table, and return 1 if a goal is missed."""
    arguments = parse_arguments()
    state: Path = arguments.state.resolve()
    lock = take_lock(state / "lock")
    options = SoakOptions(
        state=state,
        scratch=make_scratch(state),
        kills=arguments.kills,
        minutes=arguments.minutes,
        workers=arguments.workers,
        fault_points=arguments.fault_points,
        stops=arguments.stops,
        inputs=arguments.inputs,
    )
    try:
        rows = run_parts(arguments, options)
    finally:
        shutil.rmtree(options.scratch, ignore_errors=True)
        lock.close()
    print(format_table(rows))
    return int(any(row.met is False for row in rows))


def run_parts(arguments: argparse.Namespace, options: SoakOptions) -> list[SoakRow]:
    """Run each part, save its rows at its end, and return them."""
    code = read_code()
    all_rows: list[SoakRow] = []
    for part in arguments.parts:
        path = options.state / f"{part}.jsonl"
        if arguments.fresh:
            path.unlink(missing_ok=True)
        progress = Progress(path, code, keeps_all=part == fuzz.PART)
        try:
            MODULES[part].run(options, progress)
        finally:
            check_code(code)
            if progress.items:
                rows = MODULES[part].list_rows(progress, options)
                all_rows += rows
                save_all(rows, code, arguments.results)
    return all_rows


def check_code(code: Code) -> None:
    """Exit if leslied has changed since the start; the figures would be of neither."""
    if read_code().tree != code.tree:
        sys.exit(
            "leslied was changed during the soak, so the figures of this part are not "
            "saved. Run the soak in a checkout that nobody edits, with --fresh."
        )


def save_all(rows: list[SoakRow], code: Code, path: Path) -> None:
    """Replace the rows of one part in the file of results."""
    save_rows(replace_rows(load_rows(path), rows), code, path)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument(
        "--parts",
        type=parse_parts,
        default=[*MODULES],
        help=f"run only some of: {', '.join(PARTS)}",
    )
    parser.add_argument("--kills", type=int, default=10_000, help="number of kills")
    parser.add_argument(
        "--minutes", type=float, default=10, help="duration of each load"
    )
    parser.add_argument(
        "--fault-points", type=int, help="hit so many system calls at most"
    )
    parser.add_argument(
        "--stops", type=int, default=20, help="number of SIGTERMs in each kind of work"
    )
    parser.add_argument(
        "--inputs", type=int, default=10_000_000, help="number of fuzzed inputs"
    )
    parser.add_argument(
        "--workers",
        type=int,
        default=os.cpu_count() or 1,
        help="number of processes that kill or fuzz",
    )
    parser.add_argument(
        "--fresh", action="store_true", help="forget the progress of these parts"
    )
    parser.add_argument("--state", type=Path, default=ROOT / ".soak")
    parser.add_argument("--results", type=Path, default=RESULTS)
    return parser.parse_args()


def parse_parts(text: str) -> list[str]:
    """Return the names of parts in a list that is separated by commas."""
    parts = text.split(",")
    if unknown := set(parts) - set(MODULES):
        raise argparse.ArgumentTypeError(f"unknown: {', '.join(sorted(unknown))}")
    return [part for part in PARTS if part in parts]


if __name__ == "__main__":
    sys.exit(main())
