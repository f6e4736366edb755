"""Statistics of tool calls."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from leslied.model.record import Record
from leslied.model.stats import ToolUsageSummary
from leslied.prices import load_prices
from leslied.queries.usage.tools import summarize_tools
from leslied.queries.usage.totals import UsageSelection, UsageStats
from tests.support.clock import FakeClock
from tests.support.records import StoreHarness, make_key, make_record, time_at


@pytest.fixture
def harness(tmp_path: Path, clock: FakeClock) -> Iterator[StoreHarness]:
    with StoreHarness(tmp_path / "data" / "store.db", clock) as harness:
        yield harness


def make_tool_call(
    call_id: str, second: float = 0, tool: str = "Bash", **fields
) -> Record:
    fields |= {"type": "tool_use", "tool_name": tool, "tool_call_id": call_id}
    return make_record(call_id, f"c{call_id}", created_at=time_at(second), **fields)


def make_tool_result(
    call_id: str, second: float, *, is_error: bool = False, **fields
) -> Record:
    fields |= {"type": "tool_result", "role": "tool", "tool_call_id": call_id}
    fields |= {"metadata": {"is_error": True} if is_error else {}}
    native_id = f"r{call_id}"
    return make_record(native_id, native_id, created_at=time_at(second), **fields)


def load_summaries(harness: StoreHarness) -> list[ToolUsageSummary]:
    with harness.reader() as reader:
        return summarize_tools(
            UsageStats(reader.usage, load_prices()).list_calls(UsageSelection())
        )


def test_calls_failures_and_missing_results_are_counted(harness: StoreHarness):
    harness.commit(
        *(make_tool_call("1"), make_tool_result("1", 2)),
        *(make_tool_call("2"), make_tool_result("2", 6, is_error=True)),
        make_tool_call("3"),
        *(make_tool_call("4", 0, "Read"), make_tool_result("4", 1)),
    )

    bash, read = load_summaries(harness)

    assert (bash.tool, bash.calls, bash.failed, bash.unanswered) == ("Bash", 3, 1, 1)
    assert (read.tool, read.calls, read.failed) == ("Read", 1, 0)


def test_durations_are_summarized(harness: StoreHarness):
    for n in range(1, 101):
        harness.commit(
            make_tool_call(f"{n}"), make_tool_result(f"{n}", n), log=f"{n}.jsonl"
        )

    (bash,) = load_summaries(harness)

    assert (bash.median_seconds, bash.p95_seconds, bash.max_seconds) == (50, 95, 100)
    assert bash.total_seconds == 5050
    assert bash.slowest is not None
    assert bash.slowest.duration_us == 100_000_000


def test_a_call_that_forks_share_counts_once(harness: StoreHarness):
    harness.commit(make_tool_call("1"), make_tool_result("1", 2), log="a.jsonl")
    fork = make_key("fork")
    harness.commit(
        make_tool_call("1", session=fork),
        make_tool_result("1", 2, session=fork),
        log="b.jsonl",
    )

    (bash,) = load_summaries(harness)

    assert (bash.calls, bash.unanswered) == (1, 0)


def test_equal_call_ids_in_two_sessions_are_two_calls(harness: StoreHarness):
    for name in ("a", "b"):
        key = make_key(name)
        common = {"session": key, "scope": name}
        harness.commit(
            make_tool_call("1", **common),
            make_tool_result("1", 3, **common),
            log=f"{name}.jsonl",
        )

    (bash,) = load_summaries(harness)

    assert (bash.calls, bash.unanswered, bash.sessions) == (2, 0, 2)


def test_a_result_older_than_its_call_has_no_duration(harness: StoreHarness):
    harness.commit(make_tool_call("1", 5), make_tool_result("1", 2))

    (bash,) = load_summaries(harness)

    assert (bash.timed, bash.max_seconds) == (0, None)
