"""Order of a stream's entries after its source was decoded again. Pure functions.

The order of a stream is the order of its placement ids, so an entry in the middle needs
an id between those of its neighbours.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


def merge_entries(remaining: Sequence[int], decoded: Iterable[int]) -> list[int]:
    """Return `remaining` in its order, with the entries that only `decoded` has.

    A new entry follows the common entry that precedes it in `decoded`. New entries
    before the first common entry are inserted before that entry; without a common
    entry, all new ones are appended.
    """
    remaining_set = set(remaining)
    leading: list[int] = []
    followers: dict[int, list[int]] = {}
    first_common = previous = None
    for entry in decoded:
        if entry in remaining_set:
            previous = entry
            first_common = entry if first_common is None else first_common
        elif previous is None:
            leading.append(entry)
        else:
            followers.setdefault(previous, []).append(entry)
    merged: list[int] = []
    for entry in remaining:
        if entry == first_common:
            merged += leading
        merged += [entry, *followers.get(entry, ())]
    return merged if first_common is not None else merged + leading


def reorder(entries: Sequence[int], order: Iterable[int]) -> list[int]:
    """Bring the entries that `order` has into its order; the others stay in place."""
    present = set(entries)
    ordered = [entry for entry in order if entry in present]
    moved = set(ordered)
    next_ordered = iter(ordered)
    return [next(next_ordered) if entry in moved else entry for entry in entries]


def assign_ids(
    entries: Iterable[int], old_ids: dict[int, int], free_ids: Iterator[int]
) -> dict[int, int]:
    """Assign increasing placement ids to the entries; return them by entry.

    `old_ids` has the old id of every entry, including removed ones. An entry keeps its
    id unless new entries before it need it. The largest id of the stream does not
    decrease, because readers of the change feed remember it. `free_ids` are larger than
    all old ids; they are used if there are more entries than before.
    """
    pool = sorted(old_ids.values())
    ids: dict[int, int] = {}
    position = 0
    entry = 0
    for entry in entries:
        old_id = old_ids.get(entry, 0)
        position = max(position, bisect_left(pool, old_id))
        ids[entry] = pool[position] if position < len(pool) else next(free_ids)
        position += 1
    # `entry` is the last one now.
    if ids and pool and ids[entry] < pool[-1]:
        ids[entry] = pool[-1]
    return ids
