"""A question about sessions and entries: words to find, and what they are found in."""

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
    """One condition; several of one key are alternatives."""

    key: FilterKey
    value: str | int
    """The text asked for; for `after` and `before`, microseconds since 1970."""
    is_negated: bool = False
    """What fulfils it is left out."""


class Term(Struct, frozen=True):
    """A word or phrase that stands in a text."""

    text: str
    is_prefix: bool = False
    """The last word may go on."""


class AllOf(Struct, frozen=True):
    """Every one of the parts is true, and none of what is left out."""

    parts: tuple[QueryPart, ...]
    excluded: tuple[QueryPart, ...] = ()


class AnyOf(Struct, frozen=True):
    """One of the parts is true."""

    parts: tuple[QueryPart, ...]


QueryPart = Term | AllOf | AnyOf


class Query(Struct, frozen=True, kw_only=True):
    """What is searched for."""

    words: AllOf = AllOf(())
    filters: tuple[Filter, ...] = ()
    notes: tuple[str, ...] = ()
    """What was not understood as it was perhaps meant."""

    @property
    def terms(self) -> tuple[Term, ...]:
        """Every word and phrase that a text may be found by."""
        return tuple(_collect_terms(self.words))


def _collect_terms(part: QueryPart) -> list[Term]:
    if isinstance(part, Term):
        return [part]
    return [term for each in part.parts for term in _collect_terms(each)]


class Selection(Struct, frozen=True, kw_only=True):
    """Which sessions are listed, and in which order."""

    filters: tuple[Filter, ...] = ()
    order: Order = "recent"
    is_reversed: bool = False
    limit: int | None = None
    quiet_us: int = 0
    """Sessions silent since then count as stopped."""
