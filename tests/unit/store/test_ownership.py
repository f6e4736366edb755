"""Tokens count once, for one of the sessions that show them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

import pytest

from leslied.model.record import Record, Usage
from tests.support.clock import FakeClock
from tests.support.records import (
    StoreHarness,
    make_key,
    make_prompt,
    make_record,
    time_at,
)

SHARED = Usage(100, 10, 5, 1)


@pytest.fixture
def shelf(tmp_path: Path, clock: FakeClock) -> Iterator[StoreHarness]:
    with StoreHarness(tmp_path / "data" / "store.db", clock) as shelf:
        yield shelf


def make_shared_message(name: str, **fields: object) -> Record:
    """The message that sessions share."""
    known = {"message_id": "m", "usage": SHARED, "session": make_key(name)}
    return make_record(
        "shared", "shared", **{"created_at": time_at(0), **known, **fields}
    )


def make_own_prompt(name: str, second: float, **fields: object) -> Record:
    key = make_key(name)
    return make_prompt(
        name, f"own-{name}", session=key, created_at=time_at(second), **fields
    )


def commit_sessions(shelf: StoreHarness, **sessions: list[Record]) -> None:
    for name, records in sessions.items():
        shelf.commit(*records, log=f"{name}.jsonl")


def usages(shelf: StoreHarness, *names: str) -> list[Usage]:
    return [shelf.session(name).usage for name in names]


# Once, the largest


def test_lines_of_one_message_count_once(shelf: StoreHarness):
    lines = [
        make_record(f"{n}", f"{n}", message_id="m", usage=Usage(10, 5)) for n in "123"
    ]
    shelf.commit(*lines)

    assert shelf.session().usage == Usage(10, 5)


@pytest.mark.parametrize("is_together", [True, False])
def test_of_one_message_the_largest_numbers_count(shelf: StoreHarness, is_together):
    counts = [Usage(10, 1, 0, 7), Usage(10, 50), Usage(0, 0, 3)]
    lines = [
        make_record(f"{n}", f"{n}", message_id="m", usage=usage)
        for n, usage in enumerate(counts)
    ]
    for batch in [lines] if is_together else [[line] for line in lines]:
        shelf.commit(*batch)

    assert shelf.session().usage == Usage(10, 50, 3, 7)


def test_a_zeroed_copy_takes_nothing_away(shelf: StoreHarness):
    """G1."""
    commit_sessions(
        shelf,
        a=[make_shared_message("a")],
        b=[make_shared_message("b", usage=None), make_own_prompt("b", 1)],
    )

    total = [sum(u.input_tokens for u in usages(shelf, "a", "b"))]
    assert total == [100]


def test_messages_without_an_id_count_each(shelf: StoreHarness):
    shelf.commit(*[make_record(f"{n}", f"{n}", usage=Usage(1)) for n in range(3)])

    assert shelf.session().usage == Usage(3)


def test_the_same_message_asked_for_twice_counts_twice(shelf: StoreHarness):
    lines = [
        make_record(n, n, message_id="m", usage=Usage(1), metadata={"request_id": n})
        for n in "12"
    ]
    shelf.commit(*lines)

    assert shelf.session().usage == Usage(2)


@pytest.mark.parametrize("order", [*permutations(range(3))])
def test_a_copy_without_its_request_is_the_same_message(shelf: StoreHarness, order):
    requests = [{"request_id": "r"}, {}, {"request_id": "r"}]
    lines = [
        make_record(f"{n}", f"{n}", message_id="m", usage=Usage(5), metadata=request)
        for n, request in enumerate(requests)
    ]
    for number in order:
        shelf.commit(lines[number])

    assert shelf.session().usage == Usage(5)


def test_reading_again_counts_nothing_again(shelf: StoreHarness):
    """B1."""
    commit_sessions(shelf, a=[make_shared_message("a")])
    shelf.commit(make_shared_message("a"), log="a.jsonl", generation=2)

    assert usages(shelf, "a") == [SHARED]


@pytest.mark.parametrize("tokens", [2**62, 2**63 - 1])
def test_sums_no_one_can_count_are_no_error(shelf: StoreHarness, tokens: int):
    """A10."""
    lines = [
        make_record(f"{n}", f"{n}", message_id=f"{n}", usage=Usage(tokens))
        for n in range(3)
    ]
    shelf.commit(*lines)

    assert shelf.session().usage.input_tokens >= tokens


@pytest.mark.parametrize("tokens", [2**63, 2**64, -(2**63) - 1, 10**30])
def test_tokens_larger_than_sqlite_counts_are_no_error(
    shelf: StoreHarness, tokens: int
):
    """A10."""
    shelf.commit(make_record("a", "1", message_id="m", usage=Usage(tokens)))

    assert shelf.contents() == ["a"]


# Whose


def test_a_message_only_one_session_shows_is_its_own(shelf: StoreHarness):
    commit_sessions(shelf, a=[make_shared_message("a")], b=[make_own_prompt("b", 1)])

    assert usages(shelf, "a", "b") == [SHARED, Usage()]


def test_a_session_contained_in_another_owns_nothing(shelf: StoreHarness):
    commit_sessions(
        shelf,
        a=[make_shared_message("a")],
        b=[make_shared_message("b"), make_own_prompt("b", 1)],
    )

    assert usages(shelf, "a", "b") == [Usage(), SHARED]


def test_containment_counts_though_the_larger_one_was_read_first(shelf: StoreHarness):
    commit_sessions(
        shelf,
        b=[make_shared_message("b"), make_own_prompt("b", 1)],
        a=[make_shared_message("a")],
    )

    assert usages(shelf, "a", "b") == [Usage(), SHARED]


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_the_earlier_first_entry_of_its_own_decides(shelf: StoreHarness, order: str):
    sessions = {
        "a": [make_shared_message("a"), make_own_prompt("a", 2)],
        "b": [make_shared_message("b"), make_own_prompt("b", 1)],
    }
    commit_sessions(shelf, **{name: sessions[name] for name in order})

    assert usages(shelf, "a", "b") == [Usage(), SHARED]


def test_an_entry_without_a_time_is_later_than_any(shelf: StoreHarness):
    late = make_own_prompt("a", 0)
    late = type(late)(
        **{name: getattr(late, name) for name in late.__struct_fields__}
        | {"created_at": None}
    )
    commit_sessions(
        shelf,
        a=[make_shared_message("a"), late],
        b=[make_shared_message("b"), make_own_prompt("b", 900)],
    )

    assert usages(shelf, "a", "b") == [Usage(), SHARED]


def test_of_equals_the_one_read_first_owns(shelf: StoreHarness):
    commit_sessions(
        shelf,
        a=[make_shared_message("a"), make_own_prompt("a", 1)],
        b=[make_shared_message("b"), make_own_prompt("b", 1)],
    )

    assert usages(shelf, "a", "b") == [SHARED, Usage()]


def test_of_two_sessions_with_the_same_entries_the_first_owns(shelf: StoreHarness):
    commit_sessions(shelf, a=[make_shared_message("a")], b=[make_shared_message("b")])

    assert usages(shelf, "a", "b") == [SHARED, Usage()]


@pytest.mark.parametrize("order", ["abc", "cba", "bca"])
def test_of_three_sessions_one_owns(shelf: StoreHarness, order: str):
    sessions = {
        "a": [make_shared_message("a")],
        "b": [make_shared_message("b"), make_own_prompt("b", 5)],
        "c": [make_shared_message("c"), make_own_prompt("c", 3)],
    }
    commit_sessions(shelf, **{name: sessions[name] for name in order})

    assert usages(shelf, "a", "b", "c") == [Usage(), Usage(), SHARED]


def test_messages_of_ones_own_stay_with_a_session_that_owns_no_shared_one(
    shelf: StoreHarness,
):
    mine = make_own_prompt("a", 9, message_id="mine", usage=Usage(7))
    commit_sessions(
        shelf,
        a=[make_shared_message("a"), mine],
        b=[make_shared_message("b"), make_own_prompt("b", 1)],
    )

    assert usages(shelf, "a", "b") == [Usage(7), SHARED]


def test_ownership_moves_when_a_session_grows(shelf: StoreHarness):
    commit_sessions(
        shelf,
        a=[make_shared_message("a")],
        b=[make_shared_message("b"), make_own_prompt("b", 5)],
    )
    before = usages(shelf, "a", "b")
    commit_sessions(shelf, a=[make_own_prompt("a", 1)])

    assert before == [Usage(), SHARED]
    assert usages(shelf, "a", "b") == [SHARED, Usage()]
