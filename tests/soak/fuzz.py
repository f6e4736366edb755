"""Part `fuzz`: try changed entries and transcripts until 10 million were tried.

The number of inputs, the inputs that showed something new, and those that failed are
kept from soak to soak. Inputs that failed once are tried again by each soak.
"""

from __future__ import annotations

import hashlib
import signal
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from tests.soak.fuzz_targets import Target, load_targets
from tests.soak.options import SoakOptions
from tests.soak.progress import Progress
from tests.soak.table import SoakRow, make_count_row, make_zero_row, read_stamp
from tests.soak.workers import run_in_workers

PART = "fuzz"
BATCH_SIZE = 20_000
MAX_INPUT_SECONDS = 1.0
"""An input that takes longer counts as a hang; it is interrupted after ten times that.
"""
MAX_KEPT = 2_000
"""Number of kept inputs of a target from which new inputs are made."""


class HangError(Exception):
    """An input took too long."""


def run(options: SoakOptions, progress: Progress) -> None:
    """Try new inputs up to the goal, a batch of each target in turn."""
    folder = options.state / PART
    missing = options.inputs - count_inputs(progress)
    size = min(BATCH_SIZE, -(-options.inputs // len(load_targets())))
    batches = range(len(progress.items), len(progress.items) + -(-missing // size))
    for result in run_in_workers(
        partial(run_batch, folder, size), batches, options.workers
    ):
        progress.add(**result)
        print(
            f"fuzz: {count_inputs(progress):,} of {options.inputs:,}; "
            f"{len(list_failures(folder))} inputs failed",
            flush=True,
        )


def count_inputs(progress: Progress) -> int:
    return sum(item["inputs"] for item in progress.items)


def run_batch(folder: Path, size: int, number: int) -> dict[str, Any]:
    """Try so many new inputs of one target; keep those that are worth it."""
    targets = load_targets()
    name = [*targets][number % len(targets)]
    kept_folder = folder / "corpus" / name.replace(" ", "-")
    kept = [path.read_bytes() for path in sorted(kept_folder.glob("*"))][:MAX_KEPT]
    batch = Batch(targets[name], kept)
    start = time.monotonic()
    for data, error in batch.iter_failures(Random(f"{name}/{number}"), size):
        path = save_input(folder / "failed" / name.replace(" ", "-"), data)
        path.with_suffix(".txt").write_text(error, errors="replace")
    for data in batch.new_inputs:
        save_input(kept_folder, data)
    seconds = round(time.monotonic() - start, 1)
    return {"batch": number, "target": name, "inputs": size, "seconds": seconds}


class Batch:
    """New inputs of one target, made of its fixtures and of kept inputs."""

    def __init__(self, target: Target, kept: list[bytes]) -> None:
        self._target = target
        self._kept = kept
        self.new_inputs: list[bytes] = []
        self._outcomes = {
            outcome for data in kept if (outcome := try_input(target, data)[0])
        }

    def iter_failures(self, rng: Random, size: int) -> Iterator[tuple[bytes, str]]:
        """Try so many inputs; yield those that failed, and how."""
        for _ in range(size):
            data = self._target.make_input(rng, self._kept)
            outcome, error = try_input(self._target, data)
            if error:
                yield data, error
            elif outcome not in self._outcomes and len(self._kept) < MAX_KEPT:
                self._outcomes.add(outcome)
                self._kept.append(data)
                self.new_inputs.append(data)


def try_input(target: Target, data: bytes) -> tuple[str, str]:
    """Return the outcome of an input, and how it failed, or "".

    CPU time counts, because a busy machine delays any input.
    """
    start = time.process_time()
    signal.signal(signal.SIGPROF, _raise_hang)
    signal.setitimer(signal.ITIMER_PROF, 10 * MAX_INPUT_SECONDS)
    try:
        outcome = target.try_input(data)
    except Exception as error:  # noqa: BLE001 - any error is a finding
        return "", f"{type(error).__name__}: {error}"[:2000]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    seconds = time.process_time() - start
    if seconds > MAX_INPUT_SECONDS:
        return "", f"HangError: {seconds:.1f} s"
    return outcome, ""


def _raise_hang(*_: object) -> None:
    raise HangError("interrupted")


def save_input(folder: Path, data: bytes) -> Path:
    """Write an input to a file that is named after it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{hashlib.sha256(data).hexdigest()[:16]}.bin"
    path.write_bytes(data)
    return path


def list_failures(folder: Path) -> list[Path]:
    """Return the files of all inputs that failed once."""
    return sorted((folder / "failed").glob("*/*.bin"))


def count_failures(folder: Path) -> tuple[int, int]:
    """Try the inputs again that failed once; return the crashes and hangs."""
    targets = {name.replace(" ", "-"): t for name, t in load_targets().items()}
    errors = [
        try_input(targets[path.parent.name], path.read_bytes())[1]
        for path in list_failures(folder)
    ]
    hangs = sum(error.startswith("HangError") for error in errors)
    return sum(map(bool, errors)) - hangs, hangs


def list_rows(progress: Progress, options: SoakOptions) -> list[SoakRow]:
    """Return the figures of all soaks; failures are those of the present code."""
    stamp = read_stamp(progress.items)
    crashes, hangs = count_failures(options.state / PART)
    rows = [
        make_count_row(
            PART, "inputs tried", count_inputs(progress), options.inputs, **stamp
        ),
        make_zero_row(PART, "crashes", crashes, **stamp),
        make_zero_row(PART, "inputs that took over 1 s", hangs, **stamp),
    ]
    for target in load_targets():
        items = [item for item in progress.items if item["target"] == target]
        inputs = sum(item["inputs"] for item in items)
        rows.append(SoakRow(PART, f"inputs of: {target}", f"{inputs:,}", **stamp))
    return rows
