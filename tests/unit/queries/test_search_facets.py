"""Facets: counts of hits, and the queries that narrow them down."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from leslied.queries.search_facets import Facet, list_active_filters, list_facets
from leslied.store.read.match_summary import MatchSummary
from tests.support.records import START_TIME, make_key


def make_match(**fields: Any) -> MatchSummary:
    defaults = {
        "key": make_key(),
        "entry_id": "e",
        "type": "assistant_message",
        "role": "assistant",
        "tool_name": "",
        "at": START_TIME,
        "is_error": False,
        "project": "/home/dev/app",
    }
    return MatchSummary(**{**defaults, **fields})


def load_facets(
    text: str, *matches: MatchSummary, now: datetime = START_TIME
) -> dict[str, Facet]:
    return {facet.name: facet for facet in list_facets(text, matches, now, str)}


def list_counts(facet: Facet) -> list[tuple[str, int]]:
    return [(value.label, value.count) for value in facet.values]


def test_hits_are_counted_by_facet():
    facets = load_facets(
        "word",
        make_match(type="tool_use", tool_name="Bash"),
        make_match(type="tool_result", role="tool", tool_name="Bash", is_error=True),
        make_match(key=make_key(source="subagent:a")),
    )

    assert list_counts(facets["Agent"]) == [("claude-code", 3)]
    assert list_counts(facets["Project"]) == [("app", 3)]
    assert list_counts(facets["Tool"]) == [("Bash", 2)]
    assert list_counts(facets["Role"]) == [("assistant", 2), ("tool", 1)]
    assert list_counts(facets["Only"]) == [("Errors", 1), ("Subagents", 1)]


def test_a_value_leads_to_the_query_with_its_filter():
    (value,) = load_facets("word", make_match())["Agent"].values

    assert (value.query, value.is_active) == ("word agent:claude-code", False)


def test_a_value_that_is_in_the_query_leads_to_the_query_without_it():
    (value,) = load_facets("agent:claude-code word", make_match())["Agent"].values

    assert (value.query, value.is_active) == ("word", True)


def test_periods_are_counted_only_where_the_count_changes():
    days = [timedelta(days=days) for days in (0, 3, 3, 100)]
    matches = [make_match(at=START_TIME - age) for age in days]

    time = load_facets("word", *matches, make_match(at=None))["Time"]

    assert list_counts(time) == [
        ("Last 24 hours", 1),
        ("Last 7 days", 3),
        ("Last year", 4),
    ]


def test_projects_of_the_same_name_are_distinguished_by_their_path():
    folders = ["/a/app", "/b/app", "/b/lib"]

    project = load_facets("w", *[make_match(project=each) for each in folders])[
        "Project"
    ]

    assert [(value.label, value.filter) for value in project.values] == [
        ("a/app", "project:/a/app"),
        ("b/app", "project:/b/app"),
        ("lib", "project:lib"),
    ]


def test_a_value_with_a_secret_is_left_out():
    facets = list_facets("w", [make_match()], START_TIME, lambda _: "[REDACTED]")

    assert facets == ()


def test_the_filters_of_a_query_can_be_removed():
    filters = list_active_filters("word -tool:Bash session:ab")

    assert [(each.filter, each.query) for each in filters] == [
        ("-tool:Bash", "word session:ab"),
        ("session:ab", "word -tool:Bash"),
    ]
