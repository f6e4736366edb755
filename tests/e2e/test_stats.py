"""`leslied stats` and `leslied statusline`, as a person or a script calls them."""

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
from tests.support.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.e2e

TOKENS = (
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
)
GROUPS = ("day", "week", "month", "model", "project", "agent", "session", "block")


def make_answer(
    talk: ClaudeLogBuilder, model: str, day: int, **usage: int
) -> dict[str, Any]:
    """A line with an answer of this model, as large as it is told."""
    line = talk.answer("done")
    line["timestamp"] = f"2026-01-{day:02d}T10:00:00.000Z"
    line["message"] |= {"model": model, "usage": usage}
    return line


@pytest.fixture
def leslied(home: Path) -> LesliedRunner:
    return LesliedRunner(home)


@pytest.fixture
def six(home: Path, leslied: LesliedRunner) -> LesliedRunner:
    """A home in which each agent has worked once."""
    for case in CASES.values():
        shutil.copytree(FIXTURES / case / "home", home, dirs_exist_ok=True)
    leslied("sync")
    return leslied


@pytest.fixture
def two_days(claude: ClaudeHome, leslied: LesliedRunner) -> LesliedRunner:
    talk = ClaudeLogBuilder()
    claude.write(
        talk.prompt("work"),
        make_answer(talk, "claude-sonnet-4-5", 1, input_tokens=10, output_tokens=500),
        make_answer(
            talk,
            "claude-opus-4-5",
            3,
            input_tokens=10,
            output_tokens=500,
            cache_read_input_tokens=1_000_000,
        ),
    )
    leslied("sync")
    return leslied


def rows(leslied: LesliedRunner, *words: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = leslied("stats", "--json", *words).json["data"][
        "rows"
    ]
    return found


def sum_tokens(found: list[dict[str, Any]]) -> list[int]:
    return [sum(row[name] for row in found) for name in TOKENS]


def test_every_grouping_comes_to_what_the_list_does(six: LesliedRunner):
    listed = six("list", "--json").json["data"]["sessions"]
    wanted = sum_tokens([session["usage"] for session in listed])
    cost = sum(session["cost_usd"] or 0 for session in listed)

    for by in GROUPS:
        found = rows(six, "--by", by)
        assert sum_tokens(found) == wanted, by
        assert sum(row["cost_usd"] or 0 for row in found) == pytest.approx(cost), by
        assert all(row["key"] == row[by] for row in found), by


def test_each_agent_has_a_row(six: LesliedRunner):
    found = {row["agent"]: row for row in rows(six, "--by", "agent")}

    assert found.keys() == CASES.keys()
    assert all(row["output_tokens"] > 0 for row in found.values())


def test_tokens_are_what_somebody_else_counts_in_the_logs(
    home: Path, leslied: LesliedRunner
):
    """Plain JSON, the largest of each message, over every captured run."""
    for case in (FIXTURES / "claude_code").glob("*/case.toml"):
        if "captured" in case.read_text():
            shutil.copytree(case.parent / "home", home, dirs_exist_ok=True)
    leslied("sync")

    assert sum_tokens(rows(leslied)) == count_by_hand(home / ".claude/projects")


def count_by_hand(projects: Path) -> list[int]:
    names = (
        "input_tokens",
        "output_tokens",
        "cache_read_input_tokens",
        "cache_creation_input_tokens",
    )
    counted: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for log in projects.rglob("*.jsonl"):
        for line in log.read_bytes().splitlines():
            message = _parse(line)
            if usage := message.get("usage"):
                given = [usage.get(name) or 0 for name in names]
                largest = counted[message["id"]]
                largest[:] = map(max, largest, given)
    return [sum(each) for each in zip(*counted.values(), strict=True)]


def _parse(line: bytes) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except ValueError:
        return {}
    message = entry.get("message") if isinstance(entry, dict) else None
    return message if isinstance(message, dict) else {}


def test_a_table_for_people(two_days: LesliedRunner):
    shown = two_days("stats").out

    assert shown == (
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


def test_the_answer_tells_whose_prices_it_has(two_days: LesliedRunner):
    data = two_days("stats", "--json").json["data"]

    assert data["prices"]["source"] == "genai-prices"
    assert data["prices"]["version"] == load_prices().version
    assert data["prices"]["date"] == load_prices().date
    assert data["totals"]["cost_usd"] == pytest.approx(0.00753 + 0.51255)


def test_a_model_without_a_price_is_named(claude: ClaudeHome, leslied: LesliedRunner):
    talk = ClaudeLogBuilder()
    claude.write(talk.prompt("x"), make_answer(talk, "mock-1", 1, input_tokens=5))
    leslied("sync")

    data = leslied("stats", "--json").json["data"]
    (session,) = leslied("list", "--json").json["data"]["sessions"]

    assert data["unpriced_models"] == ["mock-1"]
    assert data["totals"]["cost_usd"] is None
    assert session["cost_usd"] is None
    assert session["unpriced_messages"] == 1
    assert "No price is known for mock-1: 1 message not in the cost." in (
        leslied("stats").out
    )


def test_show_tells_the_cost_that_list_tells(two_days: LesliedRunner):
    (listed,) = two_days("list", "--json").json["data"]["sessions"]
    shown = two_days("show", "last", "--json").json["data"]["session"]

    assert shown["cost_usd"] == listed["cost_usd"] == pytest.approx(0.52008)
    assert "$0.52" in two_days("show", "last").out


def test_days_can_be_left_out(two_days: LesliedRunner):
    assert [r["day"] for r in rows(two_days, "--since", "2026-01-02")] == ["2026-01-03"]
    assert [r["day"] for r in rows(two_days, "--until", "2026-01-01")] == ["2026-01-01"]
    assert [r["day"] for r in rows(two_days, "-n", "1")] == ["2026-01-03"]


def test_a_spreadsheet_takes_nothing_for_a_formula(
    claude: ClaudeHome, leslied: LesliedRunner
):
    talk = ClaudeLogBuilder()
    claude.write(talk.prompt("x"), make_answer(talk, "=cmd()|x", 1, input_tokens=5))
    leslied("sync")

    (row,) = csv.DictReader(io.StringIO(leslied("stats", "--by", "model", "--csv").out))

    assert row["model"] == "'=cmd()|x"
    assert row["input_tokens"] == "5"


def test_tools_that_fail_are_told(claude: ClaudeHome, leslied: LesliedRunner):
    talk = ClaudeLogBuilder()
    prompt, call = talk.prompt("x"), talk.call("Bash", {"command": "false"}, "t1")
    failed = talk.result("t1", "exit 1")
    failed["message"]["content"][0]["is_error"] = True
    claude.write(
        prompt,
        call,
        failed,
        talk.call("Read", {"file_path": "/x"}, "t2"),
    )
    leslied("sync")

    bash, read = rows(leslied, "--by", "tool")

    assert (bash["tool"], bash["calls"], bash["failed"]) == ("Bash", 1, 1)
    assert bash["slowest"]["session_id"] == SESSION
    assert (read["tool"], read["unanswered"]) == ("Read", 1)
    assert "1 (100%)" in leslied("stats", "--by", "tool").out


def test_the_total_is_of_all_tools_however_few_are_shown(
    claude: ClaudeHome, leslied: LesliedRunner
):
    talk = ClaudeLogBuilder()
    calls = [talk.call(name, {}, name) for name in ("Bash", "Read", "Edit")]
    claude.write(talk.prompt("x"), *calls)
    leslied("sync")

    data = leslied("stats", "--by", "tool", "-n", "1", "--json").json["data"]
    shown = leslied("stats", "--by", "tool", "-n", "1").out.splitlines()

    assert len(data["rows"]) == 1
    assert data["totals"]["calls"] == data["totals"]["unanswered"] == 3
    assert shown[2].split()[:2] == ["total", "3"]
    assert shown[3] == "2 more lines, counted in the total."


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--agent", "nobody"), "Nothing is known of an agent 'nobody'."),
        (("--since", "soon"), "'soon' is no day or time."),
        (("--json", "--csv"), "--json and --csv exclude each other."),
    ],
)
def test_what_cannot_be_is_told_in_a_sentence(two_days: LesliedRunner, words, said):
    told = two_days("stats", *words)

    assert told.code != 0
    assert said in told.out + told.err


def test_nothing_to_count_is_told(home: Path, leslied: LesliedRunner):
    leslied("sync")

    assert leslied("stats").out.startswith("Nothing to count.")
    assert leslied("stats", "--by", "tool").out == "No tool was called.\n"


def test_a_secret_in_a_project_name_does_not_get_out(
    claude: ClaudeHome, leslied: LesliedRunner
):
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    talk = ClaudeLogBuilder()
    line = make_answer(talk, "claude-opus-4-5", 1, input_tokens=5)
    claude.write(
        *({**each, "cwd": f"/src/{secret}"} for each in (talk.prompt("x"), line))
    )
    leslied("sync")

    for words in ((), ("--json",), ("--csv",)):
        assert secret not in leslied("stats", "--by", "project", *words).out


# The status line


def run_statusline(leslied: LesliedRunner, given: str) -> CommandResult:
    done = subprocess.run(
        [sys.executable, "-m", "leslied", "statusline"],
        env=leslied.environ,
        input=given.encode(),
        capture_output=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )
    return CommandResult(done.returncode, done.stdout.decode(), done.stderr.decode())


GIVEN = {
    "session_id": SESSION,
    "model": {"id": "claude-opus-4-5", "display_name": "Opus 4.5"},
    "cost": {"total_cost_usd": 3.4},
    "context_window": {"context_window_size": 200_000, "used_percentage": 41.7},
}


def test_the_status_line_is_one_short_line(two_days: LesliedRunner):
    told = run_statusline(two_days, json.dumps(GIVEN))

    assert told.out == "Opus 4.5 · session 1.0M tokens, $3.40 · context 42%\n"


def test_without_claude_codes_figure_the_stores_counts(two_days: LesliedRunner):
    told = run_statusline(two_days, json.dumps({"session_id": SESSION}))

    assert told.out == "session 1.0M tokens, $0.52\n"


@pytest.mark.parametrize(
    "given",
    ["", "no json", "[]", "null", '{"model": 1, "cost": [], "context_window": "x"}'],
)
def test_the_status_line_never_fails(leslied: LesliedRunner, given: str):
    told = run_statusline(leslied, given)

    assert (told.code, told.out, told.err) == (0, "leslied\n", "")


def test_the_status_line_survives_a_broken_store(two_days: LesliedRunner, home: Path):
    (store,) = home.rglob("store.db")
    os.truncate(store, 100)

    told = run_statusline(two_days, json.dumps(GIVEN))

    assert (told.code, told.err) == (0, "")
    assert told.out == "Opus 4.5 · session $3.40 · context 42%\n"
