"""Statistics of tool calls: counts, failures and durations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leslied.model.stats import ToolUsageSummary

if TYPE_CHECKING:
    from collections.abc import Iterable

    from leslied.model.stats import ToolCall

_SECOND_US = 1_000_000


def summarize_tools(calls: Iterable[ToolCall]) -> list[ToolUsageSummary]:
    """Return a summary for each tool, most calls first."""
    calls_by_tool: dict[str, list[ToolCall]] = {}
    for call in calls:
        calls_by_tool.setdefault(call.tool, []).append(call)
    summaries = [
        _summarize_calls(tool, tool_calls) for tool, tool_calls in calls_by_tool.items()
    ]
    return sorted(summaries, key=lambda summary: (-summary.calls, summary.tool))


def _summarize_calls(tool: str, calls: list[ToolCall]) -> ToolUsageSummary:
    """Return the summary of one tool's calls."""
    timed_calls = [call for call in calls if call.duration_us is not None]
    durations_us = sorted(call.duration_us or 0 for call in timed_calls)
    slowest = max(timed_calls, key=lambda call: call.duration_us or 0, default=None)
    return ToolUsageSummary(
        tool=tool,
        calls=len(calls),
        failed=sum(call.is_failed for call in calls),
        unanswered=sum(not call.is_answered for call in calls),
        sessions=len({call.session for call in calls}),
        timed=len(timed_calls),
        median_seconds=_percentile(durations_us, 50),
        p95_seconds=_percentile(durations_us, 95),
        max_seconds=_percentile(durations_us, 100),
        total_seconds=sum(durations_us) / _SECOND_US,
        slowest=slowest,
    )


def _percentile(durations_us: list[int], percent: int) -> float | None:
    """Return the nearest-rank percentile in seconds, None without durations.

    `durations_us` must be sorted.
    """
    if not durations_us:
        return None
    # Adding 99 makes the integer division round up.
    rank = (len(durations_us) * percent + 99) // 100
    return durations_us[rank - 1] / _SECOND_US
