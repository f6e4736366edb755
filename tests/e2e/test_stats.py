"""`leslied stats` and `leslied statusline` on the command line."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from leslied.prices import load_prices
from tests.e2e.test_six_agents import CASES
from tests.support.claude import SESSION, ClaudeHome, ClaudeLogBuilder
from tests.support.cli import CommandResult, LesliedRunner
from tests.support.golden import FIXTURES
from tests.support.waiting import MAX_WAIT_SECONDS

pytestmark = pytest.mark.e2e

TOKEN_FIELDS = (
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
)
GROUPS = ("day", "week", "month", "model", "project", "agent", "session", "block")


def make_answer(
    builder: ClaudeLogBuilder, model: str, day: int, **usage: int
) -> dict[str, Any]:
    """Return an answer line with this model, day and token usage."""
    line = builder.answer("done")
    line["timestamp"] = f"2026-01-{day:02d}T10:00:00.000Z"
    line["message"] |= {"model": model, "usage": usage}
    return line


@pytest.fixture
def leslied(home: Path) -> LesliedRunner:
    return LesliedRunner(home)


@pytest.fixture
def leslied_with_six_agents(home: Path, leslied: LesliedRunner) -> LesliedRunner:
    """Sync a home with one session of each agent."""
    for case in CASES.values():
        shutil.copytree(FIXTURES / case / "home", home, dirs_exist_ok=True)
    leslied("sync")
    return leslied


@pytest.fixture
def leslied_with_two_days(claude: ClaudeHome, leslied: LesliedRunner) -> LesliedRunner:
    """Sync a session with an answer on 1 January and one on 3 January."""
    builder = ClaudeLogBuilder()
    claude.write(
        builder.prompt("work"),
        make_answer(
            builder, "claude-sonnet-4-5", 1, input_tokens=10, output_tokens=500
        ),
        make_answer(
            builder,
            "claude-opus-4-5",
            3,
            input_tokens=10,
            output_tokens=500,
            cache_read_input_tokens=1_000_000,
        ),
    )
    leslied("sync")
    return leslied


def list_rows(leslied: LesliedRunner, *args: str) -> list[dict[str, Any]]:
    """Return the rows that `leslied stats --json` prints."""
    data = leslied("stats", "--json", *args).json["data"]
    rows: list[dict[str, Any]] = data["rows"]
    return rows


def sum_tokens(rows: list[dict[str, Any]]) -> list[int]:
    """Return the sum of each field of `TOKEN_FIELDS`."""
    return [sum(row[name] for row in rows) for name in TOKEN_FIELDS]


def test_every_grouping_has_the_same_totals_as_list(
    leslied_with_six_agents: LesliedRunner,
):
    sessions = leslied_with_six_agents("list", "--json").json["data"]["sessions"]
    tokens = sum_tokens([session["usage"] for session in sessions])
    cost = sum(session["cost_usd"] or 0 for session in sessions)

    for group in GROUPS:
        rows = list_rows(leslied_with_six_agents, "--by", group)
        assert sum_tokens(rows) == tokens, group
        assert sum(row["cost_usd"] or 0 for row in rows) == pytest.approx(cost), group
        assert all(row["key"] == row[group] for row in rows), group


def test_each_agent_has_a_row(leslied_with_six_agents: LesliedRunner):
    row_by_agent = {
        row["agent"]: row for row in list_rows(leslied_with_six_agents, "--by", "agent")
    }

    assert row_by_agent.keys() == CASES.keys()
    assert all(row["output_tokens"] > 0 for row in row_by_agent.values())


def test_tokens_match_an_independent_count(home: Path, leslied: LesliedRunner):
    """Count the largest usage of each message in all captured runs."""
    for case in (FIXTURES / "claude_code").glob("*/case.toml"):
        if "captured" in case.read_text():
            shutil.copytree(case.parent / "home", home, dirs_exist_ok=True)
    leslied("sync")

    assert sum_tokens(list_rows(leslied)) == count_tokens(home / ".claude/projects")


def count_tokens(projects: Path) -> list[int]:
    """Sum the largest usage of each message in all logs."""
    names = (
        "input_tokens",
        "output_tokens",
        "cache_read_input_tokens",
        "cache_creation_input_tokens",
    )
    usage_by_message: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for log in projects.rglob("*.jsonl"):
        for line in log.read_bytes().splitlines():
            message = _parse_message(line)
            if usage := message.get("usage"):
                tokens = [usage.get(name) or 0 for name in names]
                largest = usage_by_message[message["id"]]
                largest[:] = map(max, largest, tokens)
    return [sum(column) for column in zip(*usage_by_message.values(), strict=True)]


def _parse_message(line: bytes) -> dict[str, Any]:
    """Return the message of a log line; an empty dict if there is none."""
    try:
        entry = json.loads(line)
    except ValueError:
        return {}
    message = entry.get("message") if isinstance(entry, dict) else None
    return message if isinstance(message, dict) else {}


def test_the_table_shows_days_totals_and_charts(leslied_with_two_days: LesliedRunner):
    table = leslied_with_two_days("stats").out

    assert table == (
        "DAY         MODELS      SESSIONS  MSGS  IN   OUT  READ  WRITE   COST\n"
        "2026-01-01  sonnet-4-5         1     1  10   500     0      0  $0.01\n"
        "2026-01-03  opus-4-5           1     1  10   500  1.0M      0  $0.51"
        "  ▇▇▇▇▇▇▇▇▇▇\n"
        "total                          1     2  20  1000  1.0M      0  $0.52\n"
        "\n"
        "cost   ▁ █  2026-01-01 to 2026-01-03\n"
        "tokens ▁ █  2026-01-01 to 2026-01-03\n"
        "\n"
        f"List prices: {load_prices()}.\n"
    )


def test_json_output_has_the_source_of_prices(leslied_with_two_days: LesliedRunner):
    data = leslied_with_two_days("stats", "--json").json["data"]

    assert data["prices"]["source"] == "genai-prices"
    assert data["prices"]["version"] == load_prices().version
    assert data["prices"]["date"] == load_prices().date
    assert data["totals"]["cost_usd"] == pytest.approx(0.00753 + 0.51255)


def test_a_model_without_a_price_is_reported_by_name(
    claude: ClaudeHome, leslied: LesliedRunner
):
    builder = ClaudeLogBuilder()
    claude.write(builder.prompt("x"), make_answer(builder, "mock-1", 1, input_tokens=5))
    leslied("sync")

    data = leslied("stats", "--json").json["data"]
    (session,) = leslied("list", "--json").json["data"]["sessions"]

    assert data["unpriced_models"] == ["mock-1"]
    assert data["totals"]["cost_usd"] is None
    assert session["cost_usd"] is None
    assert session["unpriced_messages"] == 1
    assert "No price is known for mock-1: the cost excludes 1 message." in (
        leslied("stats").out
    )


def test_show_and_list_have_the_same_cost(leslied_with_two_days: LesliedRunner):
    (from_list,) = leslied_with_two_days("list", "--json").json["data"]["sessions"]
    from_show = leslied_with_two_days("show", "last", "--json").json["data"]["session"]

    assert from_show["cost_usd"] == from_list["cost_usd"] == pytest.approx(0.52008)
    assert "$0.52" in leslied_with_two_days("show", "last").out


def test_since_until_and_limit_select_days(leslied_with_two_days: LesliedRunner):
    assert [
        r["day"] for r in list_rows(leslied_with_two_days, "--since", "2026-01-02")
    ] == ["2026-01-03"]
    assert [
        r["day"] for r in list_rows(leslied_with_two_days, "--until", "2026-01-01")
    ] == ["2026-01-01"]
    assert [r["day"] for r in list_rows(leslied_with_two_days, "-n", "1")] == [
        "2026-01-03"
    ]


@pytest.mark.threat("R4")
def test_csv_cells_cannot_be_formulas(claude: ClaudeHome, leslied: LesliedRunner):
    builder = ClaudeLogBuilder()
    claude.write(
        builder.prompt("x"), make_answer(builder, "=cmd()|x", 1, input_tokens=5)
    )
    leslied("sync")

    (row,) = csv.DictReader(io.StringIO(leslied("stats", "--by", "model", "--csv").out))

    assert row["model"] == "'=cmd()|x"
    assert row["input_tokens"] == "5"


def test_failed_tool_calls_are_counted(claude: ClaudeHome, leslied: LesliedRunner):
    builder = ClaudeLogBuilder()
    prompt = builder.prompt("x")
    call = builder.call("Bash", {"command": "false"}, "t1")
    failed_result = builder.result("t1", "exit 1")
    failed_result["message"]["content"][0]["is_error"] = True
    claude.write(
        prompt,
        call,
        failed_result,
        builder.call("Read", {"file_path": "/x"}, "t2"),
    )
    leslied("sync")

    bash, read = list_rows(leslied, "--by", "tool")

    assert (bash["tool"], bash["calls"], bash["failed"]) == ("Bash", 1, 1)
    assert bash["slowest"]["session_id"] == SESSION
    assert (read["tool"], read["unanswered"]) == ("Read", 1)
    assert "1 (100%)" in leslied("stats", "--by", "tool").out


def test_the_total_includes_tools_beyond_the_limit(
    claude: ClaudeHome, leslied: LesliedRunner
):
    builder = ClaudeLogBuilder()
    calls = [builder.call(name, {}, name) for name in ("Bash", "Read", "Edit")]
    claude.write(builder.prompt("x"), *calls)
    leslied("sync")

    data = leslied("stats", "--by", "tool", "-n", "1", "--json").json["data"]
    lines = leslied("stats", "--by", "tool", "-n", "1").out.splitlines()

    assert len(data["rows"]) == 1
    assert data["totals"]["calls"] == data["totals"]["unanswered"] == 3
    assert lines[2].split()[:2] == ["total", "3"]
    assert lines[3] == "2 more lines, included in the total."


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--agent", "nobody"), "There is no agent 'nobody'."),
        (("--since", "soon"), "'soon' is not a date or time."),
        (("--json", "--csv"), "--json cannot be combined with --csv."),
    ],
)
def test_invalid_options_are_reported(
    leslied_with_two_days: LesliedRunner, args, message
):
    result = leslied_with_two_days("stats", *args)

    assert result.code != 0
    assert message in result.out + result.err


def test_an_empty_store_is_reported(leslied: LesliedRunner):
    leslied("sync")

    assert leslied("stats").out.startswith("There is no usage yet.")
    assert leslied("stats", "--by", "tool").out == "No tool was called.\n"


def test_a_secret_in_a_project_name_is_redacted(
    claude: ClaudeHome, leslied: LesliedRunner
):
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    builder = ClaudeLogBuilder()
    answer = make_answer(builder, "claude-opus-4-5", 1, input_tokens=5)
    lines = (builder.prompt("x"), answer)
    claude.write(*({**line, "cwd": f"/src/{secret}"} for line in lines))
    leslied("sync")

    for args in ((), ("--json",), ("--csv",)):
        assert secret not in leslied("stats", "--by", "project", *args).out


# The status line


def run_statusline(leslied: LesliedRunner, stdin: str) -> CommandResult:
    process = subprocess.run(
        [sys.executable, "-m", "leslied", "statusline"],
        env=leslied.environ,
        input=stdin.encode(),
        capture_output=True,
        check=False,
        timeout=MAX_WAIT_SECONDS,
    )
    return CommandResult(
        process.returncode, process.stdout.decode(), process.stderr.decode()
    )


STATUSLINE_INPUT = {
    "session_id": SESSION,
    "model": {"id": "claude-opus-4-5", "display_name": "Opus 4.5"},
    "cost": {"total_cost_usd": 3.4},
    "context_window": {"context_window_size": 200_000, "used_percentage": 41.7},
}


def test_the_status_line_is_one_short_line(leslied_with_two_days: LesliedRunner):
    result = run_statusline(leslied_with_two_days, json.dumps(STATUSLINE_INPUT))

    assert result.out == "Opus 4.5 · session 1.0M tokens, $3.40 · context 42%\n"


def test_the_status_line_falls_back_to_the_stores_cost(
    leslied_with_two_days: LesliedRunner,
):
    result = run_statusline(leslied_with_two_days, json.dumps({"session_id": SESSION}))

    assert result.out == "session 1.0M tokens, $0.52\n"


@pytest.mark.parametrize(
    "stdin",
    ["", "no json", "[]", "null", '{"model": 1, "cost": [], "context_window": "x"}'],
)
def test_the_status_line_never_fails(leslied: LesliedRunner, stdin: str):
    result = run_statusline(leslied, stdin)

    assert (result.code, result.out, result.err) == (0, "leslied\n", "")


def test_the_status_line_survives_a_broken_store(
    leslied_with_two_days: LesliedRunner, home: Path
):
    (store,) = home.rglob("store.db")
    os.truncate(store, 100)

    result = run_statusline(leslied_with_two_days, json.dumps(STATUSLINE_INPUT))

    assert (result.code, result.err) == (0, "")
    assert result.out == "Opus 4.5 · session $3.40 · context 42%\n"
