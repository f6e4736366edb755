"""Parsing of progress files in any order and dialect."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leslied.threads.progress import parse_progress

DONE = "## Completed\n- [x] Dam\n- [x] Channel (2026-11-16 10:30)\n"
OPEN = "## In Progress\n- [ ] Wheel\n"
BLOCKED = "## Blocked\n- [ ] Roof (no slate until spring)\n"


def list_texts(text: str) -> dict[str, list[str]]:
    progress = parse_progress(text)
    return {
        state: [item.text for item in progress.list_items(state)]  # type: ignore[arg-type]
        for state in ("done", "open", "blocked")
    }


@pytest.mark.parametrize(
    "order", [(DONE, OPEN, BLOCKED), (BLOCKED, OPEN, DONE), (OPEN, DONE, BLOCKED)]
)
def test_sections_may_come_in_any_order(order: tuple[str, ...]):
    items = list_texts("# Progress\n\n" + "\n".join(order))

    assert items == {"done": ["Dam", "Channel"], "open": ["Wheel"], "blocked": ["Roof"]}


def test_a_blocked_item_has_a_reason():
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
def test_a_reason_is_found_in_any_dialect(line: str):
    item = parse_progress(f"## ⛔ Blocked\n{line}").items[0]

    assert (item.text, item.state, item.reason) == ("Roof", "blocked", "no slate")


def test_the_time_after_an_item_is_not_part_of_its_text():
    item = parse_progress(DONE).items[1]

    assert (item.text, item.at) == ("Channel", "2026-11-16 10:30")


def test_indented_items_are_children():
    text = "## In Progress\n- [ ] Wheel\n  - [x] hub\n    - [x] bore\n  - [ ] rim\n"
    progress = parse_progress(text)

    assert [item.depth for item in progress.items] == [0, 1, 2, 1]
    assert [child.text for child in progress.items[0].children] == ["hub", "rim"]


def test_percent_counts_items_without_children():
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
def test_a_percentage_in_the_file_overrides_the_count(line: str):
    assert parse_progress(f"# Progress\n{line}\n- [x] Dam\n").percent == 40


def test_a_checkbox_overrides_its_section():
    items = list_texts("## Blocked\n- [x] Roof\n## Completed\n- [ ] Door\n- Gate\n")

    assert items == {"done": ["Roof", "Gate"], "open": ["Door"], "blocked": []}


def test_numbered_next_steps_are_open():
    assert list_texts("## Next Steps\n1. Oil\n2) Turn\n")["open"] == ["Oil", "Turn"]


def test_checkboxes_outside_of_sections_count():
    assert list_texts("- [x] Dam\n- [ ] Wheel\n- a remark\n") == {
        "done": ["Dam"],
        "open": ["Wheel"],
        "blocked": [],
    }


def test_code_blocks_are_ignored():
    assert parse_progress("```\n- [x] Dam\n```\n~~~\n- [ ] x\n~~~\n").items == []


def test_items_under_not_done_are_open():
    assert list_texts("## Not done yet\n- Wheel\n")["open"] == ["Wheel"]


def test_a_file_without_items_has_no_percentage():
    assert parse_progress("# Progress\n\nNothing yet.\n").percent is None


@given(st.text(alphabet="-[]x ()#\n\t`*1.ab%/overall", max_size=300))
def test_any_text_can_be_parsed(text: str):
    progress = parse_progress(text)

    assert progress.percent is None or 0 <= progress.percent <= 100
