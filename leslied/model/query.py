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
    """True if the last word may be the beginning of a longer word."""


class AllOf(Struct, frozen=True):
    """A condition: a text matches all `parts` and none of the `excluded` parts."""

    parts: tuple[QueryPart, ...]
    excluded: tuple[QueryPart, ...] = ()


class AnyOf(Struct, frozen=True):
    """A condition: a text matches at least one of the `parts`."""

    parts: tuple[QueryPart, ...]


QueryPart = Term | AllOf | AnyOf


class Query(Struct, frozen=True, kw_only=True):
    """A parsed search."""

    words: AllOf = AllOf(())
    """The words and phrases to find."""
    filters: tuple[Filter, ...] = ()
    with_hidden: bool = True
    """Whether to search sessions in which nobody said anything."""
    notes: tuple[str, ...] = ()
    """Warnings about parts of the input that may be misunderstood."""

    @property
    def terms(self) -> tuple[Term, ...]:
        """All words and phrases that a match may contain, without excluded ones."""
        return tuple(_collect_terms(self.words))


def _collect_terms(part: QueryPart) -> list[Term]:
    if isinstance(part, Term):
        return [part]
    return [term for child in part.parts for term in _collect_terms(child)]


class Selection(Struct, frozen=True, kw_only=True):
    """Which sessions to list, and in which order."""

    filters: tuple[Filter, ...] = ()
    order: Order = "recent"
    is_reversed: bool = False
    limit: int | None = None
    stop_cutoff_us: int = 0
    """Sessions without entries since then count as stopped; microseconds since 1970."""
    with_hidden: bool = True
    """Whether to include sessions in which nobody said anything."""
    only: tuple[tuple[str, str], ...] | None = None
    """Agent and id of the sessions to choose from; None for all."""
