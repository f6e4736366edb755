"""Many sessions at once, line by line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from rich.cells import cell_len

from leslied.cli.labels import WIDTH, Labels, find_colour
from leslied.cli.look import Look
from leslied.cli.telling import Telling
from leslied.model.session import SessionSummary
from tests.support.clock import FakeClock
from tests.support.records import (
    Shelf,
    make_event,
    make_key,
    make_prompt,
    make_record,
)

SUB = "subagent:a5c0041"


@pytest.fixture
def shelf(tmp_path: Path, clock: FakeClock) -> Iterator[Shelf]:
    with Shelf(tmp_path / "data" / "store.db", clock) as shelf:
        yield shelf


@pytest.fixture
def summary(shelf: Shelf) -> SessionSummary:
    shelf.keep(make_event("opened", "1", told={"cwd": "/home/dev/app"}))
    return shelf.session()


@pytest.fixture
def telling() -> Telling:
    return Telling(Look(), "/home/dev", list)


def test_a_session_is_named_by_id_and_folder(summary: SessionSummary):
    assert Labels(list).name(summary.key, summary).split() == ["s", "app"]


def test_a_session_without_a_folder_is_named_by_its_agent():
    assert Labels(list).name(make_key("abcdefghij"), None).split() == [
        "abcdefgh",
        "claude-code",
    ]


def test_a_subagent_stands_under_its_parent(shelf: Shelf):
    key = make_key("s", SUB)
    link = make_event("subagent_linked", session=key, told={"agent_type": "explorer"})
    shelf.keep(link, make_prompt("go", "1", session=key))

    name = Labels(list).name(key, shelf.session("s", SUB))

    assert name.split() == ["s", "›", "explorer"]


def test_names_never_change_and_are_never_the_same():
    labels = Labels(list)
    one, other = make_key("01a1e1f8-dc68"), make_key("01a1e1f8-e3b4")

    first = labels.name(one, None)

    assert labels.name(other, None).split()[0] == "01a1e1f8-e"
    assert labels.name(one, None) == first


@pytest.mark.parametrize("folder", ["日本語" * 9, "x" * 50, "a\tb\x1b[2J", "a"])
def test_every_label_is_equally_wide(shelf: Shelf, folder: str):
    shelf.keep(make_event("opened", "1", told={"cwd": f"/home/{folder}"}))

    name = Labels(list).name(make_key(), shelf.session())

    assert cell_len(name) == WIDTH
    assert "\x1b" not in name


def test_a_session_keeps_its_colour():
    assert find_colour("3f2a91c0") == find_colour("3f2a91c0")
    assert len({find_colour(str(number)) for number in range(50)}) > 2


def test_the_first_sign_of_a_turns_end_is_told(telling: Telling):
    ended = {"stop_reason": "end_turn"}
    records = [
        make_prompt("go"),
        make_record("hm", type="thinking", metadata=ended),
        make_record("done", metadata=ended),
        make_event("turn_ended"),
        make_event("turn_ended"),
    ]

    told = [line[WIDTH + 1 :] for r in records for line in telling.tell(r, None)]

    assert told == ["> go", "done", "· turn ended"]


def test_starts_and_stops_are_a_line_each(telling: Telling, summary: SessionSummary):
    start = telling.tell_start(summary.key, summary)
    stop = telling.tell_stop(summary.key, summary)

    assert start[WIDTH + 1 :] == "· session begins · claude-code · ~/app · s"
    assert stop[WIDTH + 1 :] == "· session stopped"


def test_lines_fit_behind_their_label():
    telling = Telling(Look(width=70), "", list)
    records = [make_prompt("word " * 50), make_record("- 日本語の答え " * 30)]

    told = [line for r in records for line in telling.tell(r, None)]

    assert len(told) > 8
    assert all(line.strip() for line in told)
    assert max(cell_len(click.unstyle(line)) for line in told) <= 70
