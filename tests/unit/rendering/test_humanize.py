"""Values as short texts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from leslied.model.stats import PICO, Cost
from leslied.rendering.humanize import (
    format_ago,
    format_bytes,
    format_cost,
    format_count,
    format_number,
    format_path,
    shorten_model,
)


@pytest.mark.parametrize(
    ("seconds", "expected"), [(0, "0 s ago"), (90, "1 min ago"), (7200, "2 h ago")]
)
def test_ages_are_formatted_in_one_unit(seconds: int, expected: str):
    now = datetime(2026, 11, 16, tzinfo=UTC)

    assert format_ago(now - timedelta(seconds=seconds), now) == expected


def test_numbers_and_sizes_are_abbreviated():
    assert [format_number(n) for n in (950, 12_345, 3_400_000)] == [
        "950",
        "12k",
        "3.4M",
    ]
    assert [format_bytes(n) for n in (5, 2_000, 3.5e6, 2e9)] == [
        "5 B",
        "2.0 KB",
        "3.5 MB",
        "2.0 GB",
    ]


def test_the_home_folder_is_abbreviated():
    assert format_path("/home/dev/app", "/home/dev") == "~/app"
    assert format_path("/home/developer", "/home/dev") == "/home/developer"


def test_an_incomplete_cost_is_marked():
    costs = [Cost(), Cost(2 * PICO, priced=1), Cost(0, priced=1, unpriced=1)]

    assert [format_cost(cost) for cost in costs] == ["-", "$2.00", "<$0.01+"]


def test_a_noun_agrees_with_its_number():
    assert format_count(1, "unit") == "1 unit"
    assert format_count(0, "unit") == "0 units"


def test_a_time_that_is_missing_is_never():
    assert format_ago(None, datetime(2026, 11, 16, tzinfo=UTC)) == "never"


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("claude-opus-4-6-20260101", "opus-4-6"),
        ("anthropic/claude-sonnet-4-5", "sonnet-4-5"),
        ("gpt-5.1-codex", "gpt-5.1-codex"),
    ],
)
def test_a_model_is_shortened_to_what_tells_it_apart(model: str, expected: str):
    assert shorten_model(model) == expected
