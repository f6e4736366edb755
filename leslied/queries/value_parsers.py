"""Filters of lists of sessions: their names, and parsers of their values."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from leslied.queries.time_args import parse_time_arg

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime
    from pathlib import Path

    from leslied.model.query import FilterKey

SESSION_FILTER_KEYS: dict[str, FilterKey] = {
    "agent": "agent",
    "project": "project",
    "model": "model",
    "status": "status",
    "since": "after",
    "until": "before",
}
"""Filter key by the name of an option or parameter."""


def make_value_parsers(
    now: datetime, home: Path, *, is_end: bool = False
) -> Mapping[str, Callable[[str], str | int]]:
    """Return a parser for the values of each filter key that needs one.

    A day as the value of `before` is included only with `is_end`.
    """
    return {
        "after": partial(parse_time_arg, now=now, zone=None),
        "before": partial(parse_time_arg, now=now, zone=None, is_end=is_end),
        "project": partial(_resolve_project, home=home),
    }


def _resolve_project(text: str, home: Path) -> str:
    from leslied.queries.projects import resolve_project  # noqa: PLC0415 - rarely used

    return resolve_project(text, home)
