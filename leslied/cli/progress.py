"""A bar where a person looks on, and nothing where nobody does."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

T = TypeVar("T")


def with_bar(items: Sequence[T], label: str) -> Iterator[T]:
    """One after the other, with a bar on a terminal."""
    hidden = not sys.stderr.isatty()
    with click.progressbar(items, label=label, file=sys.stderr, hidden=hidden) as bar:
        yield from bar
