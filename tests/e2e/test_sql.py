"""`leslied sql`, as a person or a script calls it."""

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
    """A store with a secret and hostile text in it."""
    talk = ClaudeLogBuilder()
    claude.write(
        talk.prompt(f"use {KEY} please"),
        talk.call("Bash", {"command": f"echo {KEY}"}, "toolu_1"),
        talk.result("toolu_1", "\x1b[31mred\u202e\n=1+1"),
        talk.answer("=cmd|' /C calc'!A0"),
    )
    command = LesliedRunner(home)
    command("sync")
    return command


def test_rows_are_a_table_for_people(leslied: LesliedRunner):
    ran = leslied(
        "sql", "SELECT type, count(*) AS n FROM transcript_entries GROUP BY 1"
    )

    assert (ran.code, ran.err) == (0, "")
    assert ran.out.split("\n")[0].split() == ["type", "n"]
    assert "tool_result        1\n" in ran.out


def test_rows_are_objects_for_scripts(leslied: LesliedRunner):
    ran = leslied("sql", "--json", "SELECT 1 AS a, 'x' AS a, x'ff' AS b, 9e999 AS c")

    assert ran.json["data"] == {
        "columns": ["a", "a_2", "b", "c"],
        "rows": [{"a": 1, "a_2": "x", "b": "ff", "c": "inf"}],
    }
    assert (ran.json["success"], ran.json["warnings"]) == (True, [])


def test_rows_are_cells_that_no_spreadsheet_takes_for_formulas(leslied: LesliedRunner):
    query = "SELECT content, -1 FROM transcript_entries WHERE role = 'assistant'"

    ran = leslied("sql", "--csv", query)

    rows = list(csv.reader(io.StringIO(ran.out)))
    assert rows == [["content", "'-1"], ["", "-1"], ["'=cmd|' /C calc'!A0", "-1"]]


@pytest.mark.parametrize("form", [[], ["--json"], ["--csv"]])
def test_secrets_leave_only_when_told_to(leslied: LesliedRunner, form: list[str]):
    query = "SELECT content, tool_input FROM transcript_entries"

    assert KEY not in leslied("sql", query, *form).out
    assert "[REDACTED:github:" in leslied("sql", query, *form).out
    assert KEY in leslied("sql", query, *form, "--reveal").out


def test_no_control_character_reaches_a_terminal(leslied: LesliedRunner):
    query = "SELECT content AS 'a\x1b[0m' FROM transcript_entries WHERE role = 'tool'"

    for form in ([], ["--csv"]):
        out = leslied("sql", query, *form).out
        assert "red" in out
        assert "\x1b" not in out
        assert "\u202e" not in out


def test_a_row_that_is_too_wide_for_a_table_stands_upright(leslied: LesliedRunner):
    query = "SELECT * FROM transcript_entries WHERE role = 'tool'"

    out = leslied("sql", query).out

    assert out.startswith("row 1\n")
    assert "  tool_name     Bash\n" in out
    assert "\x1b" not in out


def test_a_table_says_when_there_is_more(leslied: LesliedRunner):
    query = "SELECT sequence FROM transcript_entries"

    ran = leslied("sql", query, "-n", "2")

    assert ran.out == "sequence\n       1\n       2\n"
    assert "There are more than 2 rows" in ran.err
    assert not leslied("sql", query).err
    told = leslied("sql", query, "-n", "2", "--json").json
    assert (len(told["data"]["rows"]), len(told["warnings"])) == (2, 1)
    assert leslied("sql", query, "-n", "2", "--csv").out == "sequence\n1\n2\n"


def test_a_query_may_come_from_standard_input(leslied: LesliedRunner):
    done = subprocess.run(
        [sys.executable, "-m", "leslied", "sql", "--json", "-"],
        env=leslied.environ,
        input=b"-- what\nSELECT count(*) AS n FROM sessions;\n",
        capture_output=True,
        check=True,
    )

    assert json.loads(done.stdout)["data"]["rows"] == [{"n": 1}]


@pytest.mark.parametrize("words", [["--views"], []])
def test_the_views_are_listed(leslied: LesliedRunner, words: list[str]):
    out = leslied("sql", *words).out

    told = leslied("sql", *words, "--json").json["data"]["views"]
    assert [view["name"] for view in told] == [view.name for view in VIEWS]
    for view in told:
        assert f"\n{view['name']}\n" in f"\n{out}"
        assert all(f"    {column['name']}" in out for column in view["columns"])


@pytest.mark.parametrize(
    "words",
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
def test_wrong_use_is_a_sentence_and_a_hint(leslied: LesliedRunner, words: list[str]):
    ran = leslied("sql", *words)

    assert (ran.code, "Traceback" in ran.err) == (2, False)
    sentence, hint = filter(None, (ran.err or ran.out).split("\n", 1))
    assert sentence
    assert hint.strip()


def test_a_query_that_takes_too_long_is_stopped(leslied: LesliedRunner):
    endless = (
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
        "SELECT count(*) FROM n"
    )

    ran = leslied("sql", endless, "--timeout", "0.2")

    assert ran.code == 2
    assert "took too long" in ran.err


def test_a_time_limit_that_is_no_number_is_refused(leslied: LesliedRunner):
    ran = leslied("sql", "--timeout", "nan", "SELECT 1")

    assert (ran.code, "nan is no number" in ran.err) == (2, True)


@pytest.mark.parametrize("words", [("list",), ("search", "use"), ("sql", "SELECT 1")])
def test_more_than_can_be_counted_is_all_there_is(leslied: LesliedRunner, words: tuple):
    ran = leslied(*words, "-n", "9" * 30)

    assert (ran.code, ran.err) == (0, "")
