"""The price table: the tariff of a model, and the cost of its tokens.

Money is counted in whole picodollars, so that sums are exact in any grouping.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import msgspec

from leslied.model.stats import PICO, PriceBreaks
from leslied.model.times import to_us

if TYPE_CHECKING:
    from collections.abc import Iterable

    from leslied.model.record import Usage

_DAY_US = 86_400_000_000
_MAX_NAME_LENGTH = 200
"""Number of characters of a model's name that are compared."""
_COMPACT_DATE = re.compile(r"-(20\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?=-|:|$)")


class Clause(msgspec.Struct, frozen=True):
    """A condition on model names; exactly one of the fields is set."""

    starts: str | None = None
    ends: str | None = None
    holds: str | None = None
    equals: str | None = None
    regex: str | None = None
    any: tuple[Clause, ...] = ()
    all: tuple[Clause, ...] = ()

    def matches(self, name: str) -> bool:
        """Return whether the lower-case name meets the condition."""
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
            return any(clause.matches(name) for clause in self.any)
        return bool(self.all) and all(clause.matches(name) for clause in self.all)


class Price(msgspec.Struct, frozen=True, rename={"start": "from"}):
    """USD per million tokens, valid always, from a day on, or during daily hours."""

    bands: tuple[tuple[int, float, float, float, float, float], ...]
    """Rates by request size. The first number of a band is a number of input tokens;
    requests with more have these rates: input, output, cache reads, cache writes, cache
    writes with a lifetime of one hour.
    """
    since: str = ""
    """First day (UTC), as `YYYY-MM-DD`; empty if there is none."""
    start: str = ""
    """Start of the daily hours (UTC), as `HH:MM`; empty if valid all day."""
    until: str = ""
    """End of the daily hours; may be on the next day."""

    @property
    def since_us(self) -> int:
        """Start of the first day, in microseconds since 1970."""
        day = datetime.fromisoformat(self.since).replace(tzinfo=UTC)
        return to_us(day)

    @property
    def hours_us(self) -> tuple[int, int]:
        """Start and end time of day, in microseconds since midnight."""
        return _parse_time_us(self.start), _parse_time_us(self.until)

    def is_active(self, at_us: int | None) -> bool:
        """Return whether the price is valid at this time.

        An unknown time counts as later than any day and outside any hours.
        """
        if self.since:
            return at_us is None or at_us >= self.since_us
        if not self.start:
            return True
        if at_us is None:
            return False
        start, end = self.hours_us
        time = at_us % _DAY_US
        return start <= time < end if start <= end else time >= start or time < end


class Tariff(msgspec.Struct, frozen=True):
    """The prices of one model, for all times and sizes of requests."""

    id: str
    match: Clause
    prices: tuple[Price, ...]
    window: int | None = None
    """Tokens that fit in the model's context window; None if it is unknown."""

    def compute_cost(self, usage: Usage, request_size: int, at_us: int | None) -> int:
        """Return the cost of the tokens in picodollars.

        `usage` may be the sum of several requests that have the same price;
        `request_size` is the number of input tokens of one of them, including cached
        ones. Large requests have other prices.
        """
        price = self._get_price(at_us)
        # A band begins with the size above which its rates apply.
        bands = [band for band in price.bands if request_size > band[0]]
        _, *usd_per_million = bands[-1] if bands else price.bands[0]
        # Picodollars per token are whole: a price has at most six decimal places.
        rates = [round(rate * PICO / 1_000_000) for rate in usd_per_million]
        hour_write_tokens = min(usage.cache_write_1h_tokens, usage.cache_write_tokens)
        return (
            usage.input_tokens * rates[0]
            + usage.output_tokens * rates[1]
            + usage.cache_read_tokens * rates[2]
            + (usage.cache_write_tokens - hour_write_tokens) * rates[3]
            + hour_write_tokens * rates[4]
        )

    def _get_price(self, at_us: int | None) -> Price:
        """Return the last valid price, or the first price if none is valid."""
        active_prices = [price for price in self.prices if price.is_active(at_us)]
        return active_prices[-1] if active_prices else self.prices[0]


class Provider(msgspec.Struct, frozen=True):
    """A provider with the tariffs of its models."""

    id: str
    match: Clause | None
    """Condition on the names of its own models; None for a reseller."""
    models: tuple[Tariff, ...]

    def find_tariff(self, name: str) -> Tariff | None:
        """Return the tariff of the model with this name, or None."""
        return next(
            (tariff for tariff in self.models if tariff.match.matches(name)), None
        )


class PriceTable(msgspec.Struct, frozen=True):
    """All prices, with the source, its version, and the date of the table."""

    source: str
    version: str
    date: str
    providers: tuple[Provider, ...]

    def find_tariff(self, model: str) -> Tariff | None:
        """Return the model's tariff, or None if the table has none."""
        name = model.lower()[:_MAX_NAME_LENGTH]
        if not name:
            return None
        # Routers prefix the provider, and some write the date without hyphens.
        without_provider = name.rpartition("/")[2]
        with_hyphens = _COMPACT_DATE.sub(r"-\1-\2-\3", name)
        model_with_hyphens = _COMPACT_DATE.sub(r"-\1-\2-\3", without_provider)
        spellings = dict.fromkeys(
            (name, without_provider, with_hyphens, model_with_hyphens)
        )
        return next(filter(None, map(self._find_by_name, spellings)), None)

    def _find_by_name(self, name: str) -> Tariff | None:
        """Return the tariff of the model's provider, else of the first reseller.

        A reseller is a provider without a condition on the names of models.
        """
        for provider in self.providers:
            if provider.match is not None and provider.match.matches(name):
                tariff = provider.find_tariff(name)
                if tariff:
                    return tariff
                break
        reseller_tariffs = (
            provider.find_tariff(name)
            for provider in self.providers
            if provider.match is None
        )
        return next(filter(None, reseller_tariffs), None)

    def __str__(self) -> str:
        return f"{self.source} {self.version}, {self.date}"


@cache
def load_prices() -> PriceTable:
    """Load the table that ships with leslied."""
    data = (files("leslied.prices") / "table.json").read_bytes()
    return msgspec.json.decode(data, type=PriceTable)


def find_price_breaks(tariffs: Iterable[Tariff]) -> PriceBreaks:
    """Return the request sizes, dates and times of day at which a price changes.

    Sizes are in tokens. Requests between two neighbouring breaks have the same price.
    """
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
    """Convert `HH:MM` to microseconds since midnight."""
    hours, minutes = text.split(":")
    return (int(hours) * 60 + int(minutes)) * 60_000_000
