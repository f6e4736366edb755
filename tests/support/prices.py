"""Generate `leslied/prices/table.json` from the genai-prices package: `make prices`."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from genai_prices import types
from genai_prices.data import providers

TABLE = Path(__file__).resolve().parents[2] / "leslied" / "prices" / "table.json"
_KINDS = ("input", "output", "cache_read", "cache_write", "cache_write_1h")
_UNMATCHED_PROVIDERS = ("zai", "aws")
"""Providers that agents use but that no model name identifies."""


def make_table(date: str) -> str:
    """Return the price table as text, one model per line, dated `date`."""
    priced_providers = [
        p for p in map(_convert_provider, _list_providers()) if p["models"]
    ]
    header = {"source": "genai-prices", "version": version("genai-prices")}
    header["date"] = date
    lines = [json.dumps(header)[:-1] + ', "providers": [']
    for number, provider in enumerate(priced_providers):
        match = json.dumps(provider["match"])
        lines.append(f'{{"id": "{provider["id"]}", "match": {match}, "models": [')
        lines.append(",\n".join(json.dumps(model) for model in provider["models"]))
        lines.append("]}" + ("," if number + 1 < len(priced_providers) else ""))
    return "\n".join([*lines, "]}", ""])


def _list_providers() -> list[types.Provider]:
    """Return the providers that model names identify, then the unmatched ones."""
    matched_providers = [p for p in providers if p.model_match is not None]
    return matched_providers + [p for p in providers if p.id in _UNMATCHED_PROVIDERS]


def _convert_provider(provider: types.Provider) -> dict[str, Any]:
    models = [_convert_model(model) for model in provider.models]
    return {
        "id": provider.id,
        "match": _convert_clause(provider.model_match)
        if provider.model_match
        else None,
        "models": [model for model in models if model["prices"]],
    }


def _convert_model(model: types.ModelInfo) -> dict[str, Any]:
    conditional_prices = model.prices
    if isinstance(conditional_prices, types.ModelPrice):
        conditional_prices = [types.ConditionalPrice(prices=conditional_prices)]
    prices = [
        _convert_constraint(price) | {"bands": _make_bands(price.prices)}
        for price in conditional_prices
    ]
    prices = [price for price in prices if price["bands"]]
    window = {"window": model.context_window} if model.context_window else {}
    return {
        "id": model.id,
        "match": _convert_clause(model.match),
        **window,
        "prices": prices,
    }


def _convert_constraint(price: types.ConditionalPrice) -> dict[str, str]:
    match price.constraint:
        case None:
            return {}
        case types.StartDateConstraint(start_date=date):
            return {"since": date.isoformat()}
        case types.TimeOfDateConstraint(start_time=start, end_time=end):
            return {"from": _format_utc(start), "until": _format_utc(end)}
    raise TypeError(price.constraint)


def _format_utc(time: Any) -> str:
    return types._utc_timetz(time).strftime("%H:%M")


def _make_bands(price: types.ModelPrice) -> list[list[float]]:
    """Return rows of a minimum input size and the USD per million tokens of each kind.

    A kind without its own price costs as much as the kind that contains it.
    """
    price_by_kind = {kind: getattr(price, f"{kind}_mtok") for kind in _KINDS}
    if price_by_kind["input"] is None and price_by_kind["output"] is None:
        return []
    starts = {0}
    for kind_price in price_by_kind.values():
        if isinstance(kind_price, types.TieredPrices):
            starts |= {tier.start for tier in kind_price.tiers}
    return [[start, *_make_row(price_by_kind, start)] for start in sorted(starts)]


def _make_row(price_by_kind: dict[str, Any], start: int) -> list[float]:
    """Return the prices of all kinds, in the order of `_KINDS`, for an input size."""
    prices = {
        kind: _find_price_at(kind_price, start)
        for kind, kind_price in price_by_kind.items()
    }
    input_price = prices["input"] or 0.0
    cache_write = (
        input_price if prices["cache_write"] is None else prices["cache_write"]
    )
    return [
        input_price,
        prices["output"] or 0.0,
        input_price if prices["cache_read"] is None else prices["cache_read"],
        cache_write,
        cache_write if prices["cache_write_1h"] is None else prices["cache_write_1h"],
    ]


def _find_price_at(price: Any, start: int) -> float | None:
    """Return the price that applies at this input size, or None."""
    if isinstance(price, types.TieredPrices):
        tiers = [tier.price for tier in price.tiers if tier.start <= start]
        return float(tiers[-1] if tiers else price.base)
    return None if price is None else float(price)


def _convert_clause(clause: Any) -> dict[str, Any]:
    match clause:
        case types.ClauseOr(or_=inner):
            return {"any": [_convert_clause(part) for part in inner]}
        case types.ClauseAnd(and_=inner):
            return {"all": [_convert_clause(part) for part in inner]}
        case types.ClauseStartsWith(starts_with=text):
            return {"starts": text.lower()}
        case types.ClauseEndsWith(ends_with=text):
            return {"ends": text.lower()}
        case types.ClauseContains(contains=text):
            return {"holds": text.lower()}
        case types.ClauseEquals(equals=text):
            return {"equals": text.lower()}
        case types.ClauseRegex(regex=text):
            return {"regex": text}
    raise TypeError(clause)


if __name__ == "__main__":
    TABLE.write_text(make_table(datetime.now(UTC).date().isoformat()))
    print(f"{TABLE}: {TABLE.stat().st_size} bytes")
