"""Endpoints about usage: the parameters they take, and what they send."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from leslied.errors import UserError
from leslied.queries.context import QueryContext
from leslied.web.endpoint import Content
from leslied.web.routes.stats import ENDPOINTS
from tests.support.claude import ClaudeHome
from tests.support.queries import PROJECT, SECRET, make_home_with_session

Ask = Callable[..., Any]
CSV_PATHS = [each.path for each in ENDPOINTS if each.path.endswith(".csv")]
JSON_PATHS = [each.path for each in ENDPOINTS if not each.path.endswith(".csv")]


@pytest.fixture
def queries(claude: ClaudeHome) -> Iterator[QueryContext]:
    with make_home_with_session(claude).open_queries() as context:
        yield context


@pytest.fixture
def ask(queries: QueryContext) -> Ask:
    """Return a function that asks an endpoint with the values of a query."""
    endpoints = {endpoint.path: endpoint for endpoint in ENDPOINTS}

    def ask(path: str, **values: str) -> Any:
        endpoint = endpoints[path]
        return endpoint.answer(queries, endpoint.parse({}, values))

    return ask


def read_csv(content: Content) -> list[list[str]]:
    assert content.media_type == "text/csv; charset=utf-8"
    return list(csv.reader(content.body.decode().splitlines()))


@pytest.mark.parametrize("path", JSON_PATHS)
def test_an_answer_has_no_secret(ask: Ask, path: str):
    assert SECRET not in str(ask(path))


@pytest.mark.parametrize("path", CSV_PATHS)
def test_csv_has_a_header_and_rows(ask: Ask, path: str):
    header, *rows = read_csv(ask(path))

    assert rows
    assert {len(row) for row in rows} == {len(header)}


def test_usage_is_grouped_and_limited(ask: Ask):
    answer = ask("/stats", by="tool", limit="1")

    assert [(row["tool"], row["calls"]) for row in answer["rows"]] == [("Bash", 1)]


@pytest.mark.parametrize(
    ("values", "sessions"),
    [
        ({"project": PROJECT}, 1),
        ({"project": "/elsewhere"}, 0),
        ({"model": "opus"}, 1),
        ({"model": "gpt"}, 0),
        ({"agent": "claude-code"}, 1),
        ({"until": "2020-01-01"}, 0),
        ({"since": "2020-01-01"}, 1),
    ],
)
def test_filters_select_what_is_counted(
    ask: Ask, values: dict[str, str], sessions: int
):
    assert ask("/stats", **values)["totals"]["sessions"] == sessions


@pytest.mark.parametrize(
    "values", [{"since": "soon"}, {"agent": "nobody"}, {"by": "colour"}, {"limit": "x"}]
)
def test_a_value_that_is_not_valid_is_explained(ask: Ask, values: dict[str, str]):
    with pytest.raises(UserError):
        ask("/stats", **values)


def test_csv_of_nothing_has_only_a_header(ask: Ask):
    assert read_csv(ask("/stats/usage.csv", until="2020-01-01")) == [["key"]]


def test_the_rows_of_csv_are_those_of_the_timeline(ask: Ask):
    timeline = ask("/stats/timeline", split="agent", period="month")
    (_, row) = read_csv(ask("/stats/timeline.csv", split="agent", period="month"))

    assert row[:2] == [timeline["periods"][0], "claude-code"]
    assert int(row[4]) == timeline["series"][0]["messages"][0]
