"""Makes `leslied/prices/table.json` of the installed genai-prices: `make prices`."""

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
"""Providers that no model's name leads to, and that agents are used with."""


def make_table(date: str) -> str:
    """The price table as text, one model a line; the date is when it was taken."""
    made = [p for p in map(_provider, _list_providers()) if p["models"]]
    head = {"source": "genai-prices", "version": version("genai-prices")}
    head["date"] = date
    lines = [json.dumps(head)[:-1] + ', "providers": [']
    for number, provider in enumerate(made):
        match = json.dumps(provider["match"])
        lines.append(f'{{"id": "{provider["id"]}", "match": {match}, "models": [')
        lines.append(",\n".join(json.dumps(model) for model in provider["models"]))
        lines.append("]}" + ("," if number + 1 < len(made) else ""))
    return "\n".join([*lines, "]}", ""])


def _list_providers() -> list[types.Provider]:
    """Those a model's name alone leads to, in their order, and the unnamed ones."""
    named = [p for p in providers if p.model_match is not None]
    return named + [p for p in providers if p.id in _UNMATCHED_PROVIDERS]


def _provider(provider: types.Provider) -> dict[str, Any]:
    models = [_model(model) for model in provider.models]
    return {
        "id": provider.id,
        "match": _clause(provider.model_match) if provider.model_match else None,
        "models": [model for model in models if model["prices"]],
    }


def _model(model: types.ModelInfo) -> dict[str, Any]:
    given = model.prices
    if isinstance(given, types.ModelPrice):
        given = [types.ConditionalPrice(prices=given)]
    prices = [_constraint(each) | {"bands": _bands(each.prices)} for each in given]
    prices = [each for each in prices if each["bands"]]
    return {"id": model.id, "match": _clause(model.match), "prices": prices}


def _constraint(price: types.ConditionalPrice) -> dict[str, str]:
    match price.constraint:
        case None:
            return {}
        case types.StartDateConstraint(start_date=date):
            return {"since": date.isoformat()}
        case types.TimeOfDateConstraint(start_time=start, end_time=end):
            return {"from": _utc(start), "until": _utc(end)}
    raise TypeError(price.constraint)


def _utc(time: Any) -> str:
    return types._utc_timetz(time).strftime("%H:%M")


def _bands(price: types.ModelPrice) -> list[list[float]]:
    """USD per million tokens by kind, for requests of more input than the first number.

    A kind without a price of its own costs what the kind it is a part of costs.
    """
    given = {kind: getattr(price, f"{kind}_mtok") for kind in _KINDS}
    if given["input"] is None and given["output"] is None:
        return []
    starts = {0}
    for each in given.values():
        if isinstance(each, types.TieredPrices):
            starts |= {tier.start for tier in each.tiers}
    return [[start, *_row(given, start)] for start in sorted(starts)]


def _row(given: dict[str, Any], start: int) -> list[float]:
    cost = {kind: _price_at(each, start) for kind, each in given.items()}
    given_in = cost["input"] or 0.0
    write = given_in if cost["cache_write"] is None else cost["cache_write"]
    return [
        given_in,
        cost["output"] or 0.0,
        given_in if cost["cache_read"] is None else cost["cache_read"],
        write,
        write if cost["cache_write_1h"] is None else cost["cache_write_1h"],
    ]


def _price_at(price: Any, start: int) -> float | None:
    if isinstance(price, types.TieredPrices):
        tiers = [tier.price for tier in price.tiers if tier.start <= start]
        return float(tiers[-1] if tiers else price.base)
    return None if price is None else float(price)


def _clause(clause: Any) -> dict[str, Any]:
    match clause:
        case types.ClauseOr(or_=inner):
            return {"any": [_clause(each) for each in inner]}
        case types.ClauseAnd(and_=inner):
            return {"all": [_clause(each) for each in inner]}
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
