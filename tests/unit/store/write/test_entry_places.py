"""Test where the entries of a session are found, in the store and while adding."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import pytest

from leslied.model.record import Record
from leslied.store import Store, StoreReader
from tests.support.clock import FakeClock
from tests.support.records import (
    make_chunk,
    make_event,
    make_key,
    make_prompt,
    make_record,
    time_at,
)


def make_turn(number: int, parent: str = "", **fields: object) -> list[Record]:
    """Return prompt `p1` and answer `a1`, and so on."""
    parent = parent or f"a{number - 1}"
    prompt = make_prompt(f"prompt {number}", f"p{number}", parent_id=parent, **fields)
    return [prompt, make_record("answer", f"a{number}", parent_id=f"p{number}")]


def make_command(native_id: str, parent: str) -> Record:
    metadata = {"origin": "command"}
    return make_prompt("/go", native_id, parent_id=parent, metadata=metadata)


def commit(path: Path, clock: FakeClock, *chunks: list[Record]) -> tuple[str, list]:
    """Commit each chunk on its own; return the title and the rewound units."""
    for number, records in enumerate(chunks):
        with Store(path, clock) as store:
            store.commit([make_chunk(*records, log=f"{number}.jsonl")])
    with StoreReader(path) as reader:
        summary = reader.find_session(make_key())
        assert summary is not None
        return summary.title, [unit for r in summary.rewound for unit in r]


TURNS = [make_turn(1), make_turn(2), make_turn(3, "a1"), make_turn(4)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.mark.parametrize("size", [1, 2, 4])
def test_a_link_is_found_in_the_store_and_in_the_same_commit(
    path: Path, clock: FakeClock, size: int
):
    chunks = [list(chain(*TURNS[n : n + size])) for n in range(0, len(TURNS), size)]

    assert commit(path, clock, *chunks) == ("prompt 1", [2])


@pytest.mark.parametrize("is_split", [False, True])
def test_an_event_names_an_entry_of_the_session(
    path: Path, clock: FakeClock, *, is_split: bool
):
    first = [*make_turn(1), *make_turn(2)]
    event = make_event("rewound", "e", metadata={"to": "p2"})
    chunks = [first, [event]] if is_split else [[*first, event]]

    assert commit(path, clock, *chunks) == ("prompt 1", [2])


@pytest.mark.parametrize("is_split", [False, True])
def test_the_title_is_the_first_prompt_that_was_not_taken_back(
    path: Path, clock: FakeClock, *, is_split: bool
):
    root = {"origin": "prompt", "is_root": True}
    first, second = make_turn(1), make_turn(2, "none", metadata=root)
    third = make_turn(3, "a1")
    chunks = [first, second] if is_split else [[*first, *second]]

    assert commit(path, clock, *chunks) == ("prompt 2", [1])
    assert commit(path, clock, *chunks, third) == ("prompt 1", [2])


@pytest.mark.parametrize("is_split", [False, True])
def test_the_title_is_not_an_informative_prompt_that_was_taken_back(
    path: Path, clock: FakeClock, *, is_split: bool
):
    greeting = [make_prompt("hello", "p1"), make_record("hi", "a1", parent_id="p1")]
    first, second = [*greeting, *make_turn(2)], make_turn(3, "a1")
    chunks = [first, second] if is_split else [[*first, *second]]

    assert commit(path, clock, *chunks) == ("prompt 3", [2])


@pytest.mark.parametrize("is_split", [False, True])
def test_the_unit_of_an_answered_command_starts_with_the_command(
    path: Path, clock: FakeClock, *, is_split: bool
):
    command = [
        make_command("c", "a1"),
        make_record("x", "x", parent_id="c"),
        # A second part of the same answer follows the command, too.
        make_record("y", "y", parent_id="c"),
    ]
    turns = [*make_turn(1), *make_turn(2)]
    chunks = [[*turns, *command]]
    if is_split:
        chunks = [turns, command[:1], command[1:]]

    # The last prompt follows the first turn: it takes back unit 2 and the command's.
    assert commit(path, clock, *chunks, make_turn(4, "a1")) == ("prompt 1", [2, 3])


def test_a_stored_command_is_found_in_the_commit_that_has_the_reply(
    path: Path, clock: FakeClock
):
    reply = [make_record("x", "x", parent_id="c"), *make_turn(4, "a1")]
    chunks = [[*make_turn(1), make_command("c", "a1")], reply]

    assert commit(path, clock, *chunks) == ("prompt 1", [2])


@pytest.mark.parametrize("is_split", [False, True])
def test_what_another_process_adds_to_an_earlier_unit_is_found_there(
    path: Path, clock: FakeClock, *, is_split: bool
):
    late = make_prompt("late", "late", parent_id="a1", metadata={"origin": "queued"})
    first = [*make_turn(1), *make_turn(2), late]
    event = make_event("rewound", "e", metadata={"to": "late"})
    chunks = [first, [event]] if is_split else [[*first, event]]

    assert commit(path, clock, *chunks) == ("prompt 1", [2])


@pytest.mark.parametrize("is_split", [False, True])
def test_an_event_names_an_entry_of_several_records(
    path: Path, clock: FakeClock, *, is_split: bool
):
    second = [*make_turn(2), make_event("notice", "p2", block=1)]
    event = make_event("rewound", "e", metadata={"to": "p2"})
    first = [*make_turn(1), *second]
    chunks = [first, [event]] if is_split else [[*first, event]]

    assert commit(path, clock, *chunks) == ("prompt 1", [2])


@pytest.mark.parametrize("is_split", [False, True])
def test_a_rewind_counts_all_user_messages_of_a_unit(
    path: Path, clock: FakeClock, *, is_split: bool
):
    queued = make_prompt("more", "q", metadata={"origin": "queued"})
    first = [*make_turn(1), *make_turn(2), queued]
    events = [make_event("rewound", f"e{n}", metadata={"turns": n}) for n in (1, 2)]
    chunks = [first, events[:1]] if is_split else [[*first, *events[:1]]]

    assert commit(path, clock, *chunks) == ("prompt 1", [])
    assert commit(path, clock, *chunks, events[1:]) == ("prompt 1", [2])


@pytest.mark.parametrize("is_split", [False, True])
def test_a_prompt_that_is_written_again_takes_nothing_back(
    path: Path, clock: FakeClock, *, is_split: bool
):
    first, second = make_turn(1), make_turn(2, created_at=time_at(5))
    again = make_prompt("prompt 2", "again", parent_id="a1", created_at=time_at(5))
    chunks = [[*first, *second], [again]] if is_split else [[*first, *second, again]]

    assert commit(path, clock, *chunks)[1] == []


def test_an_entry_of_another_session_is_not_found(path: Path, clock: FakeClock):
    other = [
        *make_turn(1),
        make_prompt("x", "p9", session=make_key("other"), parent_id="a7"),
    ]

    assert commit(path, clock, other, make_turn(2, "a7"))[1] == []
