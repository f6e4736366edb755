"""What a soak was asked to do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class SoakOptions:
    """Amounts of work, and the folders of a soak."""

    state: Path
    """Folder with the progress and with homes in which something went wrong."""
    scratch: Path
    """Folder for homes, which is deleted at the end."""
    kills: int = 10_000
    minutes: float = 10
    """How long lines are written in the parts `load` and `poison`."""
    workers: int = 2
    fault_points: int | None = None
    """How many system calls are hit at most; None for all."""
    stops: int = 20
    """How often leslied is stopped in each kind of work."""
    inputs: int = 10_000_000
    """How many inputs are fuzzed in total, over all soaks."""
