"""Kill the real daemon 300 times: no record or file may be lost, duplicated or torn."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.crash_loop import (
    FAILPOINTS,
    MAX_RUN_SECONDS,
    Damage,
    compare_ids,
    compare_transcripts,
    run_crash_loop,
)

pytestmark = pytest.mark.e2e

KILLS = int(os.environ.get("LESLIED_KILLS", "300"))
TRANSCRIPT = """Thread ID: thread-1
Chat ID: {}
Time Range: 2026-11-17T15:17:42+00:00 ~ 2026-11-17T15:17:44+00:00
Agent Mode: agent
Stop Reason: end_turn
Tool Calls: 0
---

user:
<user_query>
do it
</user_query>

assistant:
done
"""


@pytest.mark.heavy
@pytest.mark.fault("E1")
# In the worst case no failpoint is reached and each run takes its full time.
@pytest.mark.timeout(KILLS * MAX_RUN_SECONDS)
def test_no_record_or_file_is_lost_duplicated_or_torn_by_a_kill(home: Path):
    report = run_crash_loop(home, KILLS)

    print(report)
    # One of eight runs should end at each failpoint; some may miss it.
    assert all(
        report.kills_by_location.get(failpoint, 0) >= KILLS // 10
        for failpoint in FAILPOINTS
    ), report.kills_by_location
    assert report.damage == Damage()


@pytest.mark.parametrize(
    ("records", "damage"),
    [
        (["a", "b", "c"], Damage()),
        (["a", "c"], Damage(lost=1)),
        (["a", "b", "b", "c"], Damage(doubled=1)),
        (["a", "b", "c", "x"], Damage(invented=1)),
        (["b", "a", "c"], Damage(misplaced=2)),
    ],
)
def test_a_crash_loop_counts_wrong_records(records: list[str], damage: Damage):
    found = Damage()

    compare_ids(["a", "b", "c"], records, found)

    assert found == damage


def test_a_crash_loop_counts_wrong_transcripts():
    expected = [TRANSCRIPT.format(name).encode() for name in "abcd"]
    torn, half, _, doubled = expected
    actual = [torn[:-1] + b"!\n", half[:80], doubled, doubled]
    found = Damage()

    compare_transcripts(expected, actual, found)

    assert found == Damage(torn_files=2, missing_files=2, doubled_files=1)
