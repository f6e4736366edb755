"""What a session cost, in the words of its own log."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leslied.model.session import Unit


def find_reported_cost(units: Sequence[Unit]) -> float | None:
    """The last running total that the log told, in dollars; None where it told none."""
    told = [
        placed.record.metadata.get("cost_usd")
        for unit in units
        for placed in unit.entries
        if placed.record.metadata.get("note") == "cost"
    ]
    known = [cost for cost in told if isinstance(cost, (int, float)) and cost >= 0]
    return float(known[-1]) if known else None
