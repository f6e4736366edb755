"""The cost of a session, as its own log reports it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leslied.model.session import Unit


def find_reported_cost(units: Sequence[Unit]) -> float | None:
    """Return the last running total in the log, in dollars; None if it has none."""
    values = [
        placed.record.metadata.get("cost_usd")
        for unit in units
        for placed in unit.entries
        if placed.record.metadata.get("note") == "cost"
    ]
    costs = [cost for cost in values if isinstance(cost, (int, float)) and cost >= 0]
    return float(costs[-1]) if costs else None
