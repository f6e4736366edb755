"""From a model's name to what its tokens cost.

Money is counted in whole picodollars, so that sums are exact however they are grouped.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import msgspec

from leslied.model.stats import PICO, PriceBreaks

if TYPE_CHECKING:
    from collections.abc import Iterable

    from leslied.model.record import Usage

_DAY_US = 86_400_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_NAME_LENGTH = 200
_DATE = re.compile(r"-(20\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?=-|:|$)")


class Clause(msgspec.Struct, frozen=True):
    """Which names are meant: the one condition that is given holds."""

    starts: str | None = None
    ends: str | None = None
    holds: str | None = None
    equals: str | None = None
    regex: str | None = None
    any: tuple[Clause, ...] = ()
    all: tuple[Clause, ...] = ()

    def matches(self, name: str) -> bool:
        """Whether the name, in small letters, is meant."""
        if self.starts is not None:
            return name.startswith(self.starts)
        if self.equals is not None:
            return name == self.equals
        if self.holds is not None:
            return self.holds in name
        if self.ends is not None:
            return name.endswith(self.ends)
        if self.regex is not None:
            return bool(re.search(self.regex, name))
        if self.any:
            return any(each.matches(name) for each in self.any)
        return bool(self.all) and all(each.matches(name) for each in self.all)


class Price(msgspec.Struct, frozen=True, rename={"start": "from"}):
    """USD per million tokens: from a day on, or at certain hours of the day (UTC)."""

    bands: tuple[tuple[int, float, float, float, float, float], ...]
    """More input tokens than the first number: input, output, cache reads, cache writes
    and those kept for an hour."""
    since: str = ""
    start: str = ""
    until: str = ""

    @property
    def since_us(self) -> int:
        """The first moment of its first day."""
        day = datetime.fromisoformat(self.since).replace(tzinfo=UTC)
        return (day - _EPOCH) // timedelta(microseconds=1)

    @property
    def hours_us(self) -> tuple[int, int]:
        """When on each day it begins and ends."""
        return _parse_time_us(self.start), _parse_time_us(self.until)

    def is_active(self, at_us: int | None) -> bool:
        """Whether it holds at this time; an unknown time is late, at no hour."""
        if self.since:
            return at_us is None or at_us >= self.since_us
        if not self.start:
            return True
        if at_us is None:
            return False
        start, end = self.hours_us
        now = at_us % _DAY_US
        return start <= now < end if start <= end else now >= start or now < end


class Tariff(msgspec.Struct, frozen=True):
    """What one model costs, at any time and size of request."""

    id: str
    match: Clause
    prices: tuple[Price, ...]

    def cost(self, usage: Usage, size: int, at_us: int | None) -> int:
        """Picodollars for the tokens of requests of this size at this time."""
        price = self._find_price(at_us)
        fitting = [band for band in price.bands if size > band[0]] or price.bands[:1]
        # Picodollars a token: a price has at most six digits behind the point.
        rates = [round(each * PICO / 1_000_000) for each in fitting[-1][1:]]
        kept = min(usage.cache_write_1h_tokens, usage.cache_write_tokens)
        return (
            usage.input_tokens * rates[0]
            + usage.output_tokens * rates[1]
            + usage.cache_read_tokens * rates[2]
            + (usage.cache_write_tokens - kept) * rates[3]
            + kept * rates[4]
        )

    def _find_price(self, at_us: int | None) -> Price:
        """The last one that holds; where none does, the first."""
        active = [price for price in self.prices if price.is_active(at_us)]
        return active[-1] if active else self.prices[0]


class Provider(msgspec.Struct, frozen=True):
    """Who sells, and which names lead there."""

    id: str
    match: Clause | None
    models: tuple[Tariff, ...]

    def find_tariff(self, name: str) -> Tariff | None:
        """The model of this name."""
        return next((each for each in self.models if each.match.matches(name)), None)


class PriceTable(msgspec.Struct, frozen=True):
    """All prices, and where and when they were taken from."""

    source: str
    version: str
    date: str
    providers: tuple[Provider, ...]

    def find_tariff(self, model: str) -> Tariff | None:
        """What the model costs; None where nobody knows."""
        name = model.lower()[:_MAX_NAME_LENGTH]
        if not name:
            return None
        # Routers put the provider in front, and some write the date in one.
        names = (name, name.rpartition("/")[2], _DATE.sub(r"-\1-\2-\3", name))
        return next(filter(None, map(self._find_by_name, dict.fromkeys(names))), None)

    def _find_by_name(self, name: str) -> Tariff | None:
        for provider in self.providers:
            if provider.match is not None and provider.match.matches(name):
                found = provider.find_tariff(name)
                break
        else:
            found = None
        if found:
            return found
        resold = (p.find_tariff(name) for p in self.providers if p.match is None)
        return next(filter(None, resold), None)

    def __str__(self) -> str:
        return f"{self.source} {self.version}, {self.date}"


@cache
def load_prices() -> PriceTable:
    """The table that came with this leslied."""
    data = (files("leslied.prices") / "table.json").read_bytes()
    return msgspec.json.decode(data, type=PriceTable)


def find_price_boundaries(tariffs: Iterable[Tariff]) -> PriceBreaks:
    """Where one of the prices changes: what lies between two cuts costs the same."""
    sizes: set[int] = set()
    times: set[int] = set()
    hours: set[int] = set()
    for tariff in tariffs:
        for price in tariff.prices:
            sizes.update(band[0] for band in price.bands)
            if price.since:
                times.add(price.since_us)
            elif price.start:
                hours.update(price.hours_us)
    return PriceBreaks(
        tuple(sorted(sizes - {0})), tuple(sorted(times)), tuple(sorted(hours))
    )


def _parse_time_us(text: str) -> int:
    hours, minutes = text.split(":")
    return (int(hours) * 60 + int(minutes)) * 60_000_000
