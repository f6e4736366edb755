"""`leslied sql` on the command line."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from leslied.store import VIEWS
from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.cli import LesliedRunner

pytestmark = pytest.mark.e2e

KEY = "ghp_" + "A1b2" * 9


@pytest.fixture
def leslied(home: Path, claude: ClaudeHome) -> LesliedRunner:
    """Sync a session that contains a secret and hostile text."""
    builder = ClaudeLogBuilder()
    claude.write(
        builder.prompt(f"use {KEY} please"),
        builder.call("Bash", {"command": f"echo {KEY}"}, "toolu_1"),
        builder.result("toolu_1", "\x1b[31mred\u202e\n=1+1"),
        builder.answer("=cmd|' /C calc'!A0"),
    )
    command = LesliedRunner(home)
    command("sync")
    return command


def test_rows_are_printed_as_a_table(leslied: LesliedRunner):
    result = leslied(
        "sql", "SELECT type, count(*) AS n FROM transcript_entries GROUP BY 1"
    )

    assert (result.code, result.err) == (0, "")
    assert result.out.split("\n")[0].split() == ["type", "n"]
    assert "tool_result        1\n" in result.out


def test_json_rows_are_objects(leslied: LesliedRunner):
    result = leslied("sql", "--json", "SELECT 1 AS a, 'x' AS a, x'ff' AS b, 9e999 AS c")

    assert result.json["data"] == {
        "columns": ["a", "a_2", "b", "c"],
        "rows": [{"a": 1, "a_2": "x", "b": "ff", "c": "inf"}],
    }
    assert (result.json["success"], result.json["warnings"]) == (True, [])


@pytest.mark.threat("R4")
def test_csv_cells_cannot_be_formulas(leslied: LesliedRunner):
    query = "SELECT content, -1 FROM transcript_entries WHERE role = 'assistant'"

    result = leslied("sql", "--csv", query)

    rows = list(csv.reader(io.StringIO(result.out)))
    assert rows == [["content", "'-1"], ["", "-1"], ["'=cmd|' /C calc'!A0", "-1"]]


@pytest.mark.threat("S1")
@pytest.mark.parametrize("options", [[], ["--json"], ["--csv"]])
def test_secrets_are_redacted_unless_revealed(
    leslied: LesliedRunner, options: list[str]
):
    query = "SELECT content, tool_input FROM transcript_entries"

    assert KEY not in leslied("sql", query, *options).out
    assert "[REDACTED:github:" in leslied("sql", query, *options).out
    assert KEY in leslied("sql", query, *options, "--reveal").out


@pytest.mark.threat("R1")
def test_no_control_character_reaches_a_terminal(leslied: LesliedRunner):
    query = "SELECT content AS 'a\x1b[0m' FROM transcript_entries WHERE role = 'tool'"

    for options in ([], ["--csv"]):
        out = leslied("sql", query, *options).out
        assert "red" in out
        assert "\x1b" not in out
        assert "\u202e" not in out


def test_a_row_too_wide_for_a_table_is_printed_vertically(leslied: LesliedRunner):
    query = "SELECT * FROM transcript_entries WHERE role = 'tool'"

    out = leslied("sql", query).out

    assert out.startswith("row 1\n")
    assert "  tool_name     Bash\n" in out
    assert "\x1b" not in out


def test_omitted_rows_are_reported(leslied: LesliedRunner):
    query = "SELECT sequence FROM transcript_entries"

    result = leslied("sql", query, "-n", "2")

    assert result.out == "sequence\n       1\n       2\n"
    assert "There are more than 2 rows" in result.err
    assert not leslied("sql", query).err
    answer = leslied("sql", query, "-n", "2", "--json").json
    assert (len(answer["data"]["rows"]), len(answer["warnings"])) == (2, 1)
    assert leslied("sql", query, "-n", "2", "--csv").out == "sequence\n1\n2\n"


def test_a_query_can_be_read_from_standard_input(leslied: LesliedRunner):
    result = subprocess.run(
        [sys.executable, "-m", "leslied", "sql", "--json", "-"],
        env=leslied.environ,
        input=b"-- what\nSELECT count(*) AS n FROM sessions;\n",
        capture_output=True,
        check=True,
    )

    assert json.loads(result.stdout)["data"]["rows"] == [{"n": 1}]


@pytest.mark.parametrize("args", [["--views"], []])
def test_the_views_are_listed(leslied: LesliedRunner, args: list[str]):
    out = leslied("sql", *args).out

    views = leslied("sql", *args, "--json").json["data"]["views"]
    assert [view["name"] for view in views] == [view.name for view in VIEWS]
    for view in views:
        assert f"\n{view['name']}\n" in f"\n{out}"
        assert all(f"    {column['name']}" in out for column in view["columns"])


@pytest.mark.parametrize(
    "args",
    [
        ["DROP TABLE record"],
        ["SELECT * FROM nowhere"],
        ["SELECT"],
        [""],
        ["SELECT 1", "--json", "--csv"],
        ["SELECT 1", "SELECT 2"],
        ["SELECT 1", "--timeout", "0"],
        ["SELECT 1", "-n", "0"],
    ],
)
def test_wrong_usage_is_reported_with_a_hint(leslied: LesliedRunner, args: list[str]):
    result = leslied("sql", *args)

    assert result.code == 2
    assert "Traceback" not in result.err
    sentence, hint = filter(None, (result.err or result.out).split("\n", 1))
    assert sentence
    assert hint.strip()


@pytest.mark.threat("W7")
def test_a_query_that_takes_too_long_is_stopped(leslied: LesliedRunner):
    endless_query = (
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
        "SELECT count(*) FROM n"
    )

    result = leslied("sql", endless_query, "--timeout", "0.2")

    assert result.code == 2
    assert "took too long" in result.err


def test_a_timeout_of_nan_is_refused(leslied: LesliedRunner):
    result = leslied("sql", "--timeout", "nan", "SELECT 1")

    assert result.code == 2
    assert "nan is not a number" in result.err


@pytest.mark.parametrize("args", [("list",), ("search", "use"), ("sql", "SELECT 1")])
def test_a_huge_limit_is_not_an_error(leslied: LesliedRunner, args: tuple):
    result = leslied(*args, "-n", "9" * 30)

    assert (result.code, result.err) == (0, "")
