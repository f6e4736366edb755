"""Part `poison`: hostile logs beside live sessions, which must be read in time."""

from __future__ import annotations

from tests.bench.load import Load
from tests.soak.load import list_load_rows, run_load
from tests.soak.options import SoakOptions
from tests.soak.progress import Progress
from tests.soak.table import SoakRow

PART = "poison"
LOAD = Load(sessions=5, rate=5, is_poisoned=True)
GOALS = {"p99": 1.0, "peak_mb": 150.0}


def run(options: SoakOptions, progress: Progress) -> None:
    """Measure live sessions while the poison set is read."""
    run_load(PART, LOAD, options, progress)


def list_rows(progress: Progress, _: SoakOptions) -> list[SoakRow]:
    """Return the figures of the newest run."""
    return list_load_rows(PART, progress, GOALS)
