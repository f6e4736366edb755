"""Many sessions at once, line by line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from rich.cells import cell_len

from leslied.cli.follow_view import FollowView
from leslied.cli.render_options import RenderOptions
from leslied.cli.session_labels import LABEL_WIDTH, SessionLabels, pick_color
from leslied.model.session import SessionSummary
from tests.support.clock import FakeClock
from tests.support.records import (
    StoreHarness,
    make_event,
    make_key,
    make_prompt,
    make_record,
)

SUB = "subagent:a5c0041"


@pytest.fixture
def shelf(tmp_path: Path, clock: FakeClock) -> Iterator[StoreHarness]:
    with StoreHarness(tmp_path / "data" / "store.db", clock) as shelf:
        yield shelf


@pytest.fixture
def summary(shelf: StoreHarness) -> SessionSummary:
    shelf.commit(make_event("opened", "1", metadata={"cwd": "/home/dev/app"}))
    return shelf.session()


@pytest.fixture
def telling() -> FollowView:
    return FollowView(RenderOptions(), "/home/dev", list)


def test_a_session_is_named_by_id_and_folder(summary: SessionSummary):
    assert SessionLabels(list).format_label(summary.key, summary).split() == [
        "s",
        "app",
    ]


def test_a_session_without_a_folder_is_named_by_its_agent():
    assert SessionLabels(list).format_label(make_key("abcdefghij"), None).split() == [
        "abcdefgh",
        "claude-code",
    ]


def test_a_subagent_stands_under_its_parent(shelf: StoreHarness):
    key = make_key("s", SUB)
    link = make_event(
        "subagent_linked", session=key, metadata={"agent_type": "explorer"}
    )
    shelf.commit(link, make_prompt("go", "1", session=key))

    name = SessionLabels(list).format_label(key, shelf.session("s", SUB))

    assert name.split() == ["s", "›", "explorer"]


def test_names_never_change_and_are_never_the_same():
    labels = SessionLabels(list)
    one, other = make_key("01a1e1f8-dc68"), make_key("01a1e1f8-e3b4")

    first = labels.format_label(one, None)

    assert labels.format_label(other, None).split()[0] == "01a1e1f8-e"
    assert labels.format_label(one, None) == first


@pytest.mark.parametrize("folder", ["日本語" * 9, "x" * 50, "a\tb\x1b[2J", "a"])
def test_every_label_is_equally_wide(shelf: StoreHarness, folder: str):
    shelf.commit(make_event("opened", "1", metadata={"cwd": f"/home/{folder}"}))

    name = SessionLabels(list).format_label(make_key(), shelf.session())

    assert cell_len(name) == LABEL_WIDTH
    assert "\x1b" not in name


def test_a_session_keeps_its_colour():
    assert pick_color("3f2a91c0") == pick_color("3f2a91c0")
    assert len({pick_color(str(number)) for number in range(50)}) > 2


def test_the_first_sign_of_a_turns_end_is_told(telling: FollowView):
    ended = {"stop_reason": "end_turn"}
    records = [
        make_prompt("go"),
        make_record("hm", type="thinking", metadata=ended),
        make_record("done", metadata=ended),
        make_event("turn_ended"),
        make_event("turn_ended"),
    ]

    told = [
        line[LABEL_WIDTH + 1 :]
        for r in records
        for line in telling.render_record(r, None)
    ]

    assert told == ["> go", "done", "· turn ended"]


def test_starts_and_stops_are_a_line_each(telling: FollowView, summary: SessionSummary):
    start = telling.format_start(summary.key, summary)
    stop = telling.format_stop(summary.key, summary)

    assert start[LABEL_WIDTH + 1 :] == "· session begins · claude-code · ~/app · s"
    assert stop[LABEL_WIDTH + 1 :] == "· session stopped"


def test_lines_fit_behind_their_label():
    telling = FollowView(RenderOptions(width=70), "", list)
    records = [make_prompt("word " * 50), make_record("- 日本語の答え " * 30)]

    told = [line for r in records for line in telling.render_record(r, None)]

    assert len(told) > 8
    assert all(line.strip() for line in told)
    assert max(cell_len(click.unstyle(line)) for line in told) <= 70
