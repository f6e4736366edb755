"""Which tools are called, which fail, and which are slow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leslied.model.stats import ToolUsageSummary

if TYPE_CHECKING:
    from collections.abc import Iterable

    from leslied.model.stats import ToolCall

_SECOND_US = 1_000_000


def sum_tools(calls: Iterable[ToolCall]) -> list[ToolUsageSummary]:
    """One sum for each tool, the most called first."""
    by_tool: dict[str, list[ToolCall]] = {}
    for call in calls:
        by_tool.setdefault(call.tool, []).append(call)
    sums = [_sum_calls(tool, group) for tool, group in by_tool.items()]
    return sorted(sums, key=lambda each: (-each.calls, each.tool))


def _sum_calls(tool: str, calls: list[ToolCall]) -> ToolUsageSummary:
    timed = [call for call in calls if call.took_us is not None]
    took = sorted(call.took_us or 0 for call in timed)
    slowest = max(timed, key=lambda call: call.took_us or 0, default=None)
    return ToolUsageSummary(
        tool=tool,
        calls=len(calls),
        failed=sum(call.is_failed for call in calls),
        unanswered=sum(not call.is_answered for call in calls),
        sessions=len({call.session for call in calls}),
        timed=len(timed),
        median_seconds=_percentile(took, 50),
        p95_seconds=_percentile(took, 95),
        max_seconds=_percentile(took, 100),
        total_seconds=sum(took) / _SECOND_US,
        slowest=slowest,
    )


def _percentile(took: list[int], percent: int) -> float | None:
    """The smallest that so many percent do not exceed."""
    if not took:
        return None
    at = -(-len(took) * percent // 100)
    return took[at - 1] / _SECOND_US
