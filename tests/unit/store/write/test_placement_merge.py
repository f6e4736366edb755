"""Order and ids of a stream's placements after its source was decoded again."""

from __future__ import annotations

from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leslied.store.write.placement_merge import assign_ids, merge_entries, reorder

ENTRIES = st.lists(st.integers(1, 30), unique=True)


@pytest.mark.parametrize(
    ("remaining", "decoded", "merged"),
    [
        ([1, 2, 3], [1, 2, 3], [1, 2, 3]),
        ([1, 2, 3], [1, 9, 2, 3], [1, 9, 2, 3]),
        ([1, 2, 3], [9, 1, 2], [9, 1, 2, 3]),
        ([1, 2, 3], [2, 8, 9], [1, 2, 8, 9, 3]),
        ([1, 2, 3], [8, 9], [1, 2, 3, 8, 9]),
        ([], [8, 9], [8, 9]),
        ([1, 2], [], [1, 2]),
    ],
)
def test_new_entries_follow_the_entry_that_precedes_them(remaining, decoded, merged):
    assert merge_entries(remaining, decoded) == merged


@given(ENTRIES, ENTRIES)
def test_merging_keeps_every_entry_once_and_the_remaining_in_order(remaining, decoded):
    merged = merge_entries(remaining, decoded)

    assert sorted(merged) == sorted({*remaining, *decoded})
    assert [entry for entry in merged if entry in remaining] == remaining


@pytest.mark.parametrize(
    ("entries", "order", "result"),
    [
        ([1, 2, 3], [3, 1], [3, 2, 1]),
        ([1, 2, 3], [], [1, 2, 3]),
        ([1, 2], [9, 2, 1], [2, 1]),
    ],
)
def test_reordered_entries_share_the_same_positions(entries, order, result):
    assert reorder(entries, order) == result


@pytest.mark.parametrize(
    ("entries", "old_ids", "ids"),
    [
        ([1, 2], {1: 10, 2: 20}, [10, 20]),
        ([1, 9, 2], {1: 10, 2: 20}, [10, 20, 100]),
        ([1, 9, 2], {1: 10, 3: 15, 2: 20}, [10, 15, 20]),
        ([2], {1: 10, 2: 20}, [20]),
        ([1], {1: 10, 2: 20}, [20]),
        ([9], {}, [100]),
        ([], {1: 10}, []),
    ],
    ids=[
        "an entry keeps its id",
        "a new entry takes the next id",
        "a new entry takes the id of a removed one",
        "a removed entry changes no other id",
        "the largest id is kept",
        "a new stream gets free ids",
        "an empty stream has no ids",
    ],
)
def test_ids_follow_the_order(entries, old_ids, ids):
    assert list(assign_ids(entries, old_ids, count(100)).values()) == ids


@given(ENTRIES, ENTRIES, ENTRIES)
def test_ids_increase_and_the_largest_never_decreases(old, removed, decoded):
    old_ids = {entry: 10 * number for number, entry in enumerate(old, 1)}
    remaining = [entry for entry in old if entry not in removed]

    ids = assign_ids(merge_entries(remaining, decoded), old_ids, count(1000))

    values = list(ids.values())
    assert values == sorted(set(values))
    assert max(values, default=1000) >= max(old_ids.values(), default=0)
