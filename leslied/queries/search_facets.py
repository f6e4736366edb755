"""Facets of search hits: numbers of hits by agent, project, tool, role and time."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from leslied.model.record import MAIN
from leslied.queries.query_text import add_filter, format_filter, remove_filter
from leslied.queries.search_query import find_filter_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import datetime

    from leslied.model.query import FilterKey
    from leslied.store.read.match_summary import MatchSummary

_MAX_VALUES = 8
_PERIODS = (
    ("1d", "Last 24 hours", 1),
    ("7d", "Last 7 days", 7),
    ("30d", "Last 30 days", 30),
    ("365d", "Last year", 365),
)
"""Periods that end now: the value of the filter, its label, and its days."""


class _Count(NamedTuple):
    """How many hits a filter would leave."""

    key: FilterKey
    value: str
    label: str
    hits: int


class FacetValue(Struct, frozen=True, kw_only=True):
    """A filter that can be added to a query, or removed from it."""

    label: str
    filter: str
    """The filter as it is written in a query."""
    count: int
    """Number of hits that it leaves; 0 in a list of filters, which has no counts."""
    is_active: bool
    query: str
    """The query after the filter was added, or removed if it is active."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {name: getattr(self, name) for name in self.__struct_fields__}


class Facet(Struct, frozen=True):
    """One way to narrow a search down."""

    name: str
    values: tuple[FacetValue, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "name": self.name,
            "values": [value.to_dict() for value in self.values],
        }


def list_facets(
    text: str,
    matches: Sequence[MatchSummary],
    now: datetime,
    redact: Callable[[str], str],
) -> tuple[Facet, ...]:
    """Count the matches of a query by facet; facets without any value are left out."""
    counts = {
        "Agent": _count_texts("agent", (match.key.agent for match in matches)),
        "Project": _count_projects(match.project for match in matches),
        "Tool": _count_texts(
            "tool", (m.tool_name for m in matches if m.type.startswith("tool_"))
        ),
        "Role": _count_texts("role", (match.role for match in matches)),
        "Time": list(_count_periods(matches, now)),
        "Only": list(_count_kinds(matches)),
    }
    facets = (
        Facet(name, tuple(_make_values(text, values, redact)))
        for name, values in counts.items()
    )
    return tuple(facet for facet in facets if facet.values)


def list_active_filters(text: str) -> tuple[FacetValue, ...]:
    """Return the filters of a query in order; the `query` of each lacks that filter."""
    return tuple(
        FacetValue(
            label=text[part.start : part.end],
            filter=text[part.start : part.end],
            count=0,
            is_active=True,
            query=remove_filter(text, part),
        )
        for part in find_filter_texts(text)
    )


def _make_values(
    text: str, counts: Iterable[_Count], redact: Callable[[str], str]
) -> Iterator[FacetValue]:
    """Yield the values of a facet, each with the query that choosing it gives.

    `text` is the present query.
    """
    active_filters = {
        (part.key, part.value.casefold()): part
        for part in find_filter_texts(text)
        if not part.is_negated
    }
    for count in counts:
        filter_text = format_filter(count.key, count.value)
        # A filter with a redacted value would match nothing.
        if not filter_text or redact(count.value) != count.value:
            continue
        part = active_filters.get((count.key, count.value.casefold()))
        yield FacetValue(
            label=count.label,
            filter=filter_text,
            count=count.hits,
            is_active=part is not None,
            query=remove_filter(text, part) if part else add_filter(text, filter_text),
        )


def _count_texts(key: FilterKey, values: Iterable[str]) -> list[_Count]:
    counter = Counter(value for value in values if value)
    return [
        _Count(key, value, value, count)
        for value, count in counter.most_common(_MAX_VALUES)
    ]


def _count_projects(folders: Iterable[str]) -> list[_Count]:
    """Count by project; use its path where several have the same name."""
    counter = Counter(folder for folder in folders if folder)
    names = Counter(PurePosixPath(folder).name for folder in counter)
    counts = []
    for folder, count in counter.most_common(_MAX_VALUES):
        path = PurePosixPath(folder)
        if names[path.name] == 1 and path.name:
            counts.append(_Count("project", path.name, path.name, count))
        else:
            counts.append(_Count("project", folder, "/".join(path.parts[-2:]), count))
    return counts


def _count_periods(matches: Sequence[MatchSummary], now: datetime) -> Iterator[_Count]:
    """Count the matches in periods that end now; omit periods that add no matches."""
    last_count = 0
    for value, label, days in _PERIODS:
        start = now - timedelta(days=days)
        count = sum(match.at is not None and match.at >= start for match in matches)
        if count > last_count:
            yield _Count("after", value, label, count)
        last_count = count


def _count_kinds(matches: Iterable[MatchSummary]) -> Iterator[_Count]:
    matches = list(matches)
    errors = sum(match.is_error for match in matches)
    subagents = sum(match.key.source != MAIN for match in matches)
    if errors:
        yield _Count("is", "error", "Errors", errors)
    if subagents:
        yield _Count("is", "subagent", "Subagents", subagents)
