"""Lines of `leslied follow` and their session labels."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from rich.cells import cell_len

from leslied.cli.render.follow import FollowView
from leslied.cli.render.options import RenderOptions
from leslied.cli.render.session_labels import LABEL_WIDTH, SessionLabels, pick_color
from leslied.model.session import SessionSummary
from tests.support.clock import FakeClock
from tests.support.records import (
    StoreHarness,
    make_event,
    make_key,
    make_prompt,
    make_record,
)

SUBAGENT = "subagent:a5c0041"


@pytest.fixture
def harness(tmp_path: Path, clock: FakeClock) -> Iterator[StoreHarness]:
    with StoreHarness(tmp_path / "data" / "store.db", clock) as harness:
        yield harness


@pytest.fixture
def summary(harness: StoreHarness) -> SessionSummary:
    harness.commit(make_event("opened", "1", metadata={"cwd": "/home/dev/app"}))
    return harness.session()


def list_similar_ids(session_ids: list[str]) -> list[str]:
    """Return the ids themselves, as a store does that has no similar ones."""
    return session_ids


@pytest.fixture
def view() -> FollowView:
    return FollowView(RenderOptions(), "/home/dev", list_similar_ids)


def test_a_session_is_labelled_with_id_and_folder(summary: SessionSummary):
    assert SessionLabels(list_similar_ids).format_label(
        summary.key, summary
    ).split() == [
        "s",
        "app",
    ]


def test_a_session_without_a_folder_is_labelled_with_its_agent():
    assert SessionLabels(list_similar_ids).format_label(
        make_key("abcdefghij"), None
    ).split() == [
        "abcdefgh",
        "claude-code",
    ]


def test_a_subagent_is_labelled_with_its_parent(harness: StoreHarness):
    key = make_key("s", SUBAGENT)
    link = make_event(
        "subagent_linked", session=key, metadata={"agent_type": "explorer"}
    )
    harness.commit(link, make_prompt("go", "1", session=key))

    label = SessionLabels(list_similar_ids).format_label(
        key, harness.session("s", SUBAGENT)
    )

    assert label.split() == ["s", "›", "explorer"]


def test_labels_are_stable_and_unique():
    labels = SessionLabels(list_similar_ids)
    first_key, second_key = make_key("01a1e1f8-dc68"), make_key("01a1e1f8-e3b4")

    first = labels.format_label(first_key, None)

    assert labels.format_label(second_key, None).split()[0] == "01a1e1f8-e"
    assert labels.format_label(first_key, None) == first


@pytest.mark.parametrize("folder", ["日本語" * 9, "x" * 50, "a\tb\x1b[2J", "a"])
def test_all_labels_have_the_same_width(harness: StoreHarness, folder: str):
    harness.commit(make_event("opened", "1", metadata={"cwd": f"/home/{folder}"}))

    label = SessionLabels(list_similar_ids).format_label(make_key(), harness.session())

    assert cell_len(label) == LABEL_WIDTH
    assert "\x1b" not in label


def test_the_colour_depends_only_on_the_session_id():
    assert pick_color("3f2a91c0") == pick_color("3f2a91c0")
    assert len({pick_color(str(number)) for number in range(50)}) > 2


def test_only_the_first_end_of_a_turn_is_shown(view: FollowView):
    ended = {"stop_reason": "end_turn"}
    records = [
        make_prompt("go"),
        make_record("hm", type="thinking", metadata=ended),
        make_record("done", metadata=ended),
        make_event("turn_ended"),
        make_event("turn_ended"),
    ]

    lines = [
        line[LABEL_WIDTH + 1 :]
        for record in records
        for line in view.render_record(record, None)
    ]

    assert lines == ["> go", "done", "· turn ended"]


def test_an_answer_that_was_cut_off_ends_the_turn(view: FollowView):
    cut_off = make_record("half", metadata={"stop_reason": "max_tokens"})

    lines = [
        line[LABEL_WIDTH + 1 :]
        for record in (make_prompt("go"), cut_off)
        for line in view.render_record(record, None)
    ]

    assert lines == ["> go", "half", "· turn ended"]


def test_the_end_of_a_session_is_not_shown_as_the_end_of_a_turn(view: FollowView):
    records = [make_prompt("go"), make_event("ended")]

    lines = [line for record in records for line in view.render_record(record, None)]

    assert len(lines) == 1


def test_starts_and_stops_are_one_line_each(view: FollowView, summary: SessionSummary):
    start = view.format_start(summary.key, summary)
    stop = view.format_stop(summary.key, summary)

    assert start[LABEL_WIDTH + 1 :] == "· session begins · claude-code · ~/app · s"
    assert stop[LABEL_WIDTH + 1 :] == "· session stopped"


def test_lines_fit_the_width_with_their_label():
    view = FollowView(RenderOptions(width=70), "", list_similar_ids)
    records = [make_prompt("word " * 50), make_record("- 日本語の答え " * 30)]

    lines = [line for r in records for line in view.render_record(r, None)]

    assert len(lines) > 8
    assert all(line.strip() for line in lines)
    assert max(cell_len(click.unstyle(line)) for line in lines) <= 70
