"""Token prices: every model costs the same as in the genai-prices package."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import product

import genai_prices
import pytest
from genai_prices.data_snapshot import get_snapshot

from leslied.model.record import Usage
from leslied.model.stats import PICO
from leslied.prices import find_price_breaks, load_prices
from tests.support.prices import TABLE, make_table

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
USAGES = [
    Usage(1000, 200, 30, 4, 1),
    Usage(10, 5, 99_990, 0),
    Usage(1, 1, 1, 400_000, 400_000),
    Usage(3_000_000, 0, 0, 0),
]
TIMES = [
    datetime(2025, 6, 1, 12, tzinfo=UTC),
    datetime(2026, 10, 14, 0, 29, tzinfo=UTC),
    datetime(2027, 2, 1, 2, 0, tzinfo=UTC),
]


def test_the_table_is_generated_from_the_locked_genai_prices():
    table = load_prices()

    assert make_table(table.date) == TABLE.read_text(), "run: make prices"
    assert table.version == genai_prices.__version__


def to_genai_usage(usage: Usage) -> genai_prices.Usage:
    read, written = usage.cache_read_tokens, usage.cache_write_tokens
    return genai_prices.Usage(
        input_tokens=usage.input_tokens + read + written,
        output_tokens=usage.output_tokens,
        cache_read_tokens=read,
        cache_write_tokens=written,
        cache_write_1h_tokens=usage.cache_write_1h_tokens,
    )


@pytest.mark.parametrize("name", ["anthropic", "openai", "google", "deepseek", "aws"])
def test_every_model_costs_the_same_as_in_genai_prices(name: str):
    (provider,) = (p for p in get_snapshot().providers if p.id == name)
    (table_provider,) = (p for p in load_prices().providers if p.id == name)
    models = {model.id: model for model in provider.models}
    for tariff, usage, at in product(table_provider.models, USAGES, TIMES):
        genai_usage = to_genai_usage(usage)
        at_us = (at - EPOCH) // timedelta(microseconds=1)
        expected = models[tariff.id].calc_price(
            genai_usage, provider, genai_request_timestamp=at
        )

        cost = tariff.compute_cost(usage, genai_usage.input_tokens, at_us)

        assert cost == expected.total_price * PICO, (tariff.id, usage, at)


@pytest.mark.parametrize(
    ("name", "tariff_id"),
    [
        ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("claude-opus-4-6[1m]", "claude-opus-4-6"),
        ("anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"),
        (
            "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
            "regional.anthropic.claude-sonnet-4-5-20250929-v1:0",
        ),
        ("GPT-5.1-codex", "gpt-5.1"),
        ("openai/gpt-4o-20240806", "gpt-4o"),
    ],
)
def test_a_model_is_found_by_the_names_that_agents_log(name: str, tariff_id: str):
    tariff = load_prices().find_tariff(name)

    assert tariff is not None
    assert tariff.id == tariff_id


@pytest.mark.parametrize("name", ["", "<synthetic>", "mock-model", "claude", "/", "\0"])
def test_an_unknown_model_has_no_price(name: str):
    assert load_prices().find_tariff(name) is None


def test_cache_writes_with_a_lifetime_of_an_hour_cost_more():
    tariff = load_prices().find_tariff("claude-opus-4-5")
    assert tariff is not None

    minutes_cost = tariff.compute_cost(Usage(cache_write_tokens=1_000_000), 0, None)
    hour_cost = tariff.compute_cost(Usage(0, 0, 0, 1_000_000, 1_000_000), 0, None)

    assert (minutes_cost / PICO, hour_cost / PICO) == (6.25, 10.0)


def test_all_tokens_of_a_large_request_cost_more():
    tariff = load_prices().find_tariff("claude-sonnet-4-5")
    assert tariff is not None
    usage = Usage(200_000)

    assert tariff.compute_cost(usage, 200_000, None) == 200_000 * 3 * PICO // 10**6
    assert tariff.compute_cost(usage, 200_001, None) == 200_000 * 6 * PICO // 10**6


def test_boundaries_are_the_sizes_and_times_of_price_changes():
    tariffs = [
        load_prices().find_tariff(name)
        for name in ("claude-sonnet-4-5", "claude-opus-4-6")
    ]

    boundaries = find_price_breaks(filter(None, tariffs))

    assert boundaries.sizes == (200_000,)
    assert len(boundaries.times) == 1
    assert boundaries.hours == ()


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("claude-opus-4-5-20251101", 200_000),
        ("anthropic/claude-opus-4-6", 1_000_000),
        ("claude-v1", None),
    ],
)
def test_the_table_knows_context_windows(model: str, window: int | None):
    tariff = load_prices().find_tariff(model)
    assert tariff is not None

    assert tariff.window == window
