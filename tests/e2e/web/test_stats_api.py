"""The endpoints of the stats page, over HTTP, beside `leslied stats --json`."""

from __future__ import annotations

import csv
import json

import pytest

from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.cli import LesliedRunner
from tests.support.web import WebServer

pytestmark = pytest.mark.e2e

GROUPINGS = ("day", "week", "month", "model", "project", "agent", "session", "tool")


@pytest.mark.parametrize("by", GROUPINGS)
def test_the_page_has_the_numbers_of_the_terminal(
    server: WebServer, leslied: LesliedRunner, by: str
):
    envelope = json.loads(leslied("stats", "--by", by, "--json").out)

    assert server.get(f"/stats?by={by}") == envelope["data"]


def test_filters_mean_the_same_as_in_the_terminal(
    server: WebServer, leslied: LesliedRunner
):
    options = ["--since", "2026-01-01", "--until", "2026-12-31"]
    options += ["--project", "/home/dev/app", "--agent", "claude-code"]
    options += ["--model", "opus"]
    envelope = json.loads(leslied("stats", "--json", *options).out)
    query = "since=2026-01-01&until=2026-12-31&project=/home/dev/app&agent=claude-code"
    query += "&model=opus"

    assert server.get(f"/stats?{query}") == envelope["data"]
    assert envelope["data"]["totals"]["messages"] > 0


def test_every_picture_counts_the_same_messages(server: WebServer):
    messages = server.get("/stats?by=day")["totals"]["messages"]
    timeline = server.get("/stats/timeline")
    hours = server.get("/stats/hours")

    assert sum(sum(series["messages"]) for series in timeline["series"]) == messages
    assert sum(map(sum, hours["messages"])) == messages
    for by in ("model", "project", "agent", "session"):
        rows = server.get(f"/stats?by={by}")["rows"]
        assert sum(row["messages"] for row in rows) == messages


def test_csv_is_a_file_of_the_same_rows(server: WebServer):
    response = server.request("GET", "/api/stats/usage.csv?by=tool")
    rows = list(csv.DictReader(response.body.decode().splitlines()))

    assert response.headers["content-type"] == "text/csv; charset=utf-8"
    assert [(row["tool"], int(row["calls"])) for row in rows] == [
        (row["tool"], row["calls"]) for row in server.get("/stats?by=tool")["rows"]
    ]


@pytest.mark.parametrize(
    "query", ["since=soon", "by=colour", "agent=nobody", "limit=-1", "colour=red"]
)
def test_a_wrong_value_is_explained(server: WebServer, query: str):
    response = server.request("GET", f"/api/stats?{query}")

    assert response.status == 400
    assert json.loads(response.body)["error"]["message"]


def test_the_numbers_change_with_the_store(
    server: WebServer, leslied: LesliedRunner, claude: ClaudeHome
):
    before = server.get("/stats?by=day")["totals"]["sessions"]
    builder = ClaudeLogBuilder("00000000-0000-4000-8000-00000000aaaa")
    claude.write(
        builder.prompt("Hello"),
        builder.answer("Hi."),
        name="-home-dev-app/another.jsonl",
    )
    assert leslied("sync").code == 0

    assert server.get("/stats?by=day")["totals"]["sessions"] == before + 1
