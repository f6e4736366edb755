"""Shortest prefixes of ids that are still unique in the store."""

from __future__ import annotations

from bisect import bisect_left
from itertools import takewhile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from leslied.queries.context import QueryContext

_MIN_ID_CHARS = 8


def make_short_ids(context: QueryContext, ids: Iterable[str]) -> dict[str, str]:
    """Map ids of sessions and subagents to the shortest prefixes that select them."""
    full_ids = list(ids)
    return shorten_ids(full_ids, context.reader.list_similar_ids(full_ids))


def shorten_ids(ids: Iterable[str], similar_ids: Iterable[str]) -> dict[str, str]:
    """Map each id to its shortest unique prefix of at least eight characters.

    `similar_ids` must contain all other ids of the store that start with the same eight
    characters as one of `ids`.
    """
    full_ids = list(ids)
    sorted_ids = sorted({*full_ids, *similar_ids})
    return {
        full_id: full_id[: _compute_prefix_length(full_id, sorted_ids)]
        for full_id in full_ids
    }


def _compute_prefix_length(full_id: str, sorted_ids: Sequence[str]) -> int:
    index = bisect_left(sorted_ids, full_id)
    # In sorted order, a neighbour of an id shares the longest prefix with it.
    previous_ids = sorted_ids[max(index - 1, 0) : index]
    next_ids = sorted_ids[index + 1 : index + 2]
    lengths = [
        _count_common_chars(full_id, other) for other in (*previous_ids, *next_ids)
    ]
    return max([_MIN_ID_CHARS, *(length + 1 for length in lengths)])


def _count_common_chars(first: str, second: str) -> int:
    """Return the length of the common prefix."""
    pairs = zip(first, second, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
