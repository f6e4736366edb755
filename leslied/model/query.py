"""Describe searches: the text to find, and the sessions and entries to find it in."""

from __future__ import annotations

from typing import Literal, NamedTuple

from msgspec import Struct

FilterKey = Literal[
    "agent",
    "project",
    "thread",
    "session",
    "tool",
    "model",
    "role",
    "status",
    "after",
    "before",
    "is",
]
Order = Literal[
    "recent", "started", "title", "project", "units", "tools", "tokens", "cost"
]


class Filter(NamedTuple):
    """One condition; several filters with the same key are alternatives."""

    key: FilterKey
    value: str | int
    """The text to match; for `after` and `before`, microseconds since 1970."""
    is_negated: bool = False
    """True if matches are excluded."""


class Term(Struct, frozen=True):
    """A word or phrase that a text must contain."""

    text: str
    is_prefix: bool = False
    """True if the last word only has to start like this."""


class AllOf(Struct, frozen=True):
    """A match of all parts and of none of the excluded parts."""

    parts: tuple[QueryPart, ...]
    excluded: tuple[QueryPart, ...] = ()


class AnyOf(Struct, frozen=True):
    """A match of at least one part."""

    parts: tuple[QueryPart, ...]


QueryPart = Term | AllOf | AnyOf


class Query(Struct, frozen=True, kw_only=True):
    """A parsed search."""

    words: AllOf = AllOf(())
    filters: tuple[Filter, ...] = ()
    notes: tuple[str, ...] = ()
    """Messages about input that may have been misread."""

    @property
    def terms(self) -> tuple[Term, ...]:
        """All words and phrases that a match may contain."""
        return tuple(_collect_terms(self.words))


def _collect_terms(part: QueryPart) -> list[Term]:
    if isinstance(part, Term):
        return [part]
    return [term for each in part.parts for term in _collect_terms(each)]


class Selection(Struct, frozen=True, kw_only=True):
    """Which sessions to list, and in which order."""

    filters: tuple[Filter, ...] = ()
    order: Order = "recent"
    is_reversed: bool = False
    limit: int | None = None
    quiet_us: int = 0
    """Sessions without entries since this time count as stopped."""
