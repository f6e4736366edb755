"""A progress file is understood in any order and dialect."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leslied.threads.progress import parse_progress

DONE = "## Completed\n- [x] Dam\n- [x] Channel (2026-11-16 10:30)\n"
OPEN = "## In Progress\n- [ ] Wheel\n"
BLOCKED = "## Blocked\n- [ ] Roof (no slate until spring)\n"


def texts(text: str) -> dict[str, list[str]]:
    progress = parse_progress(text)
    return {
        state: [item.text for item in progress.list_items(state)]  # type: ignore[arg-type]
        for state in ("done", "open", "blocked")
    }


@pytest.mark.parametrize(
    "order", [(DONE, OPEN, BLOCKED), (BLOCKED, OPEN, DONE), (OPEN, DONE, BLOCKED)]
)
def test_sections_may_stand_in_any_order(order: tuple[str, ...]):
    found = texts("# Progress\n\n" + "\n".join(order))

    assert found == {"done": ["Dam", "Channel"], "open": ["Wheel"], "blocked": ["Roof"]}


def test_a_blocked_item_tells_why():
    (item,) = parse_progress(BLOCKED).items

    assert (item.text, item.reason) == ("Roof", "no slate until spring")


@pytest.mark.parametrize(
    "line",
    [
        "- [ ] Roof (no slate)",
        "- [ ] Roof（no slate）",
        "- [ ] Roof - no slate",
        "- [ ] Roof — no slate",
        "- Roof (no slate)",
        "- [!] Roof (no slate) (2026-11-16 10:00)",
        "- [ ] Roof\n  - Reason: no slate",
        "* [ ] **Roof** (no slate)",
    ],
)
def test_a_reason_is_found_however_it_is_written(line: str):
    item = parse_progress(f"## ⛔ Blocked\n{line}").items[0]

    assert (item.text, item.state, item.reason) == ("Roof", "blocked", "no slate")


def test_the_time_behind_an_item_is_no_part_of_it():
    item = parse_progress(DONE).items[1]

    assert (item.text, item.at) == ("Channel", "2026-11-16 10:30")


def test_subtasks_hang_below_their_task():
    text = "## In Progress\n- [ ] Wheel\n  - [x] hub\n    - [x] bore\n  - [ ] rim\n"
    progress = parse_progress(text)

    assert [item.depth for item in progress.items] == [0, 1, 2, 1]
    assert [child.text for child in progress.items[0].children] == ["hub", "rim"]


def test_percent_counts_tasks_without_subtasks():
    text = "- [ ] Wheel\n  - [x] hub\n  - [ ] rim\n"

    assert parse_progress(text).percent == 50


@pytest.mark.parametrize(
    "line",
    [
        "**Overall Completion**: 40% (2/5)",
        "**Overall Completion: 40%** (2/5)",
        "Overall: 40 %",
        "overall completion 40.5%",
    ],
)
def test_the_file_may_tell_the_percentage_itself(line: str):
    assert parse_progress(f"# Progress\n{line}\n- [x] Dam\n").percent == 40


def test_a_tick_counts_more_than_the_section_it_stands_in():
    found = texts("## Blocked\n- [x] Roof\n## Completed\n- [ ] Door\n- Gate\n")

    assert found == {"done": ["Roof", "Gate"], "open": ["Door"], "blocked": []}


def test_numbered_next_steps_are_open():
    assert texts("## Next Steps\n1. Oil\n2) Turn\n")["open"] == ["Oil", "Turn"]


def test_boxes_without_any_section_count():
    assert texts("- [x] Dam\n- [ ] Wheel\n- a remark\n") == {
        "done": ["Dam"],
        "open": ["Wheel"],
        "blocked": [],
    }


def test_code_is_not_read():
    assert parse_progress("```\n- [x] Dam\n```\n~~~\n- [ ] x\n~~~\n").items == []


def test_not_done_is_not_done():
    assert texts("## Not done yet\n- Wheel\n")["open"] == ["Wheel"]


def test_without_a_task_there_is_no_percentage():
    assert parse_progress("# Progress\n\nNothing yet.\n").percent is None


@given(st.text(alphabet="-[]x ()#\n\t`*1.ab%/overall", max_size=300))
def test_anything_can_be_read(text: str):
    progress = parse_progress(text)

    assert progress.percent is None or 0 <= progress.percent <= 100
