"""Tokens of a shared message count once, for the session that owns it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

import pytest
from msgspec import structs

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
def harness(tmp_path: Path, clock: FakeClock) -> Iterator[StoreHarness]:
    with StoreHarness(tmp_path / "data" / "store.db", clock) as harness:
        yield harness


def make_shared_message(name: str, **fields: object) -> Record:
    """Return a message that several sessions contain."""
    defaults = {
        "created_at": time_at(0),
        "message_id": "m",
        "usage": SHARED,
        "session": make_key(name),
    }
    return make_record("shared", "shared", **{**defaults, **fields})


def make_unshared_prompt(name: str, second: float, **fields: object) -> Record:
    """Return a prompt that only this session contains."""
    key = make_key(name)
    return make_prompt(
        name, f"own-{name}", session=key, created_at=time_at(second), **fields
    )


def commit_sessions(harness: StoreHarness, **sessions: list[Record]) -> None:
    """Commit the records of each session, in the order of the arguments."""
    for name, records in sessions.items():
        harness.commit(*records, log=f"{name}.jsonl")


def list_usages(harness: StoreHarness, *names: str) -> list[Usage]:
    return [harness.session(name).usage for name in names]


# Counting once


def test_lines_of_one_message_count_once(harness: StoreHarness):
    lines = [
        make_record(f"{n}", f"{n}", message_id="m", usage=Usage(10, 5)) for n in "123"
    ]
    harness.commit(*lines)

    assert harness.session().usage == Usage(10, 5)


@pytest.mark.parametrize("is_one_commit", [True, False])
def test_the_largest_counts_of_a_message_are_used(harness: StoreHarness, is_one_commit):
    counts = [Usage(10, 1, 0, 7), Usage(10, 50), Usage(0, 0, 3)]
    lines = [
        make_record(f"{n}", f"{n}", message_id="m", usage=usage)
        for n, usage in enumerate(counts)
    ]
    for batch in [lines] if is_one_commit else [[line] for line in lines]:
        harness.commit(*batch)

    assert harness.session().usage == Usage(10, 50, 3, 7)


@pytest.mark.fault("G1")
def test_a_copy_without_usage_does_not_change_the_count(harness: StoreHarness):
    commit_sessions(
        harness,
        a=[make_shared_message("a")],
        b=[make_shared_message("b", usage=None), make_unshared_prompt("b", 1)],
    )

    total = sum(usage.input_tokens for usage in list_usages(harness, "a", "b"))
    assert total == 100


def test_messages_without_an_id_count_separately(harness: StoreHarness):
    harness.commit(*[make_record(f"{n}", f"{n}", usage=Usage(1)) for n in range(3)])

    assert harness.session().usage == Usage(3)


def test_a_message_with_two_request_ids_counts_twice(harness: StoreHarness):
    lines = [
        make_record(n, n, message_id="m", usage=Usage(1), metadata={"request_id": n})
        for n in "12"
    ]
    harness.commit(*lines)

    assert harness.session().usage == Usage(2)


@pytest.mark.parametrize("order", [*permutations(range(3))])
def test_a_copy_without_a_request_id_is_the_same_message(harness: StoreHarness, order):
    requests = [{"request_id": "r"}, {}, {"request_id": "r"}]
    lines = [
        make_record(f"{n}", f"{n}", message_id="m", usage=Usage(5), metadata=request)
        for n, request in enumerate(requests)
    ]
    for number in order:
        harness.commit(lines[number])

    assert harness.session().usage == Usage(5)


@pytest.mark.fault("B1")
def test_reading_a_source_again_does_not_change_the_count(harness: StoreHarness):
    commit_sessions(harness, a=[make_shared_message("a")])
    harness.commit(make_shared_message("a"), log="a.jsonl", generation=2)

    assert list_usages(harness, "a") == [SHARED]


@pytest.mark.fault("A10")
@pytest.mark.parametrize("tokens", [2**62, 2**63 - 1])
def test_totals_beyond_sqlite_integers_are_not_an_error(
    harness: StoreHarness, tokens: int
):
    lines = [
        make_record(f"{n}", f"{n}", message_id=f"{n}", usage=Usage(tokens))
        for n in range(3)
    ]
    harness.commit(*lines)

    assert harness.session().usage.input_tokens >= tokens


@pytest.mark.fault("A10")
@pytest.mark.parametrize("tokens", [2**63, 2**64, -(2**63) - 1, 10**30])
def test_counts_beyond_sqlite_integers_are_not_an_error(
    harness: StoreHarness, tokens: int
):
    harness.commit(make_record("a", "1", message_id="m", usage=Usage(tokens)))

    assert harness.contents() == ["a"]


# Owners


def test_a_message_in_one_session_belongs_to_that_session(harness: StoreHarness):
    commit_sessions(
        harness, a=[make_shared_message("a")], b=[make_unshared_prompt("b", 1)]
    )

    assert list_usages(harness, "a", "b") == [SHARED, Usage()]


def test_a_session_contained_in_another_owns_nothing(harness: StoreHarness):
    commit_sessions(
        harness,
        a=[make_shared_message("a")],
        b=[make_shared_message("b"), make_unshared_prompt("b", 1)],
    )

    assert list_usages(harness, "a", "b") == [Usage(), SHARED]


def test_a_contained_session_owns_nothing_even_if_read_last(harness: StoreHarness):
    commit_sessions(
        harness,
        b=[make_shared_message("b"), make_unshared_prompt("b", 1)],
        a=[make_shared_message("a")],
    )

    assert list_usages(harness, "a", "b") == [Usage(), SHARED]


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_the_session_with_the_earlier_unshared_entry_owns_the_message(
    harness: StoreHarness, order: str
):
    sessions = {
        "a": [make_shared_message("a"), make_unshared_prompt("a", 2)],
        "b": [make_shared_message("b"), make_unshared_prompt("b", 1)],
    }
    commit_sessions(harness, **{name: sessions[name] for name in order})

    assert list_usages(harness, "a", "b") == [Usage(), SHARED]


def test_an_unshared_entry_without_a_time_counts_as_last(harness: StoreHarness):
    untimed_prompt = structs.replace(make_unshared_prompt("a", 0), created_at=None)
    commit_sessions(
        harness,
        a=[make_shared_message("a"), untimed_prompt],
        b=[make_shared_message("b"), make_unshared_prompt("b", 900)],
    )

    assert list_usages(harness, "a", "b") == [Usage(), SHARED]


def test_with_equal_times_the_session_read_first_owns_the_message(
    harness: StoreHarness,
):
    commit_sessions(
        harness,
        a=[make_shared_message("a"), make_unshared_prompt("a", 1)],
        b=[make_shared_message("b"), make_unshared_prompt("b", 1)],
    )

    assert list_usages(harness, "a", "b") == [SHARED, Usage()]


def test_with_equal_entries_the_session_read_first_owns_the_message(
    harness: StoreHarness,
):
    commit_sessions(harness, a=[make_shared_message("a")], b=[make_shared_message("b")])

    assert list_usages(harness, "a", "b") == [SHARED, Usage()]


@pytest.mark.parametrize("order", ["abc", "cba", "bca"])
def test_the_session_with_the_earliest_unshared_entry_owns_the_message(
    harness: StoreHarness, order: str
):
    sessions = {
        "a": [make_shared_message("a")],
        "b": [make_shared_message("b"), make_unshared_prompt("b", 5)],
        "c": [make_shared_message("c"), make_unshared_prompt("c", 3)],
    }
    commit_sessions(harness, **{name: sessions[name] for name in order})

    assert list_usages(harness, "a", "b", "c") == [Usage(), Usage(), SHARED]


def test_a_session_owns_its_unshared_messages_but_not_the_shared_one(
    harness: StoreHarness,
):
    unshared_prompt = make_unshared_prompt("a", 9, message_id="mine", usage=Usage(7))
    commit_sessions(
        harness,
        a=[make_shared_message("a"), unshared_prompt],
        b=[make_shared_message("b"), make_unshared_prompt("b", 1)],
    )

    assert list_usages(harness, "a", "b") == [Usage(7), SHARED]


def test_the_owner_can_change_when_a_session_grows(harness: StoreHarness):
    commit_sessions(
        harness,
        a=[make_shared_message("a")],
        b=[make_shared_message("b"), make_unshared_prompt("b", 5)],
    )
    before = list_usages(harness, "a", "b")
    commit_sessions(harness, a=[make_unshared_prompt("a", 1)])

    assert before == [Usage(), SHARED]
    assert list_usages(harness, "a", "b") == [SHARED, Usage()]
