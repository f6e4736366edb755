"""What reaches the terminal."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from leslied.cli.output import (
    clean,
    say_ago,
    say_bytes,
    say_number,
    say_path,
    shorten_ids,
    table,
)


@pytest.mark.parametrize("code", [*range(0x20), *range(0x7F, 0xA0)])
def test_every_control_character_is_made_visible(code: int):
    shown = clean(f"a{chr(code)}b")

    assert chr(code) not in shown or chr(code) in "\n\t"


@pytest.mark.parametrize(
    "mark", "\u202a\u202e\u2066\u2069\u200e\u200f\u061c\ufeff\u2028"
)
def test_direction_marks_are_made_visible(mark: str):
    assert clean(f"a{mark}b") == f"a<U+{ord(mark):04X}>b"


def test_ordinary_text_of_any_script_stays():
    text = "héllo 日本語 שלום 🎉 a\tb\nc"

    assert clean(text) == text


def test_wide_characters_stay_aligned():
    lines = list(table(("A", "B"), [("日本", "x"), ("ab", "y")], stretch=1))

    assert lines[1:] == ["日本  x", "ab    y"]


def test_a_long_title_gives_way():
    lines = list(table(("ID", "TITLE"), [("1", "x" * 500)], stretch=1))

    assert max(map(len, lines)) <= 120
    assert lines[1].endswith("…")


@pytest.mark.parametrize(
    ("seconds", "said"), [(0, "0 s ago"), (90, "1 min ago"), (7200, "2 h ago")]
)
def test_ages_are_told_in_one_unit(seconds: int, said: str):
    now = datetime(2026, 11, 16, tzinfo=UTC)

    assert say_ago(now - timedelta(seconds=seconds), now) == said


def test_numbers_and_sizes_are_short():
    assert [say_number(n) for n in (950, 12_345, 3_400_000)] == ["950", "12k", "3.4M"]
    assert [say_bytes(n) for n in (5, 2_000, 3.5e6, 2e9)] == [
        "5 B",
        "2.0 KB",
        "3.5 MB",
        "2.0 GB",
    ]


def test_home_is_a_tilde():
    assert say_path("/home/dev/app", "/home/dev") == "~/app"
    assert say_path("/home/developer", "/home/dev") == "/home/developer"


def test_an_id_is_cut_where_it_still_means_one_thing():
    ids = ["01a1e1f8-e3b4-7d00", "01a1e1f8-dc68-7391", "ses_short", "b632662f-2db8"]

    assert shorten_ids(ids) == {
        "01a1e1f8-e3b4-7d00": "01a1e1f8-e",
        "01a1e1f8-dc68-7391": "01a1e1f8-d",
        "ses_short": "ses_shor",
        "b632662f-2db8": "b632662f",
    }


def test_an_id_that_begins_another_is_shown_whole():
    assert shorten_ids(["abcdefgh", "abcdefghij"]) == {
        "abcdefgh": "abcdefgh",
        "abcdefghij": "abcdefghi",
    }


def test_no_ids_are_no_trouble():
    assert shorten_ids([]) == {}


def test_without_a_stretch_the_widest_columns_give_way_together():
    rows = [["short", "a" * 200, "b" * 200]]

    _, line = table(["one", "two", "three"], rows, stretch=None)

    first, second, third = line.split("  ")
    assert len(line) <= 120
    assert first == "short"
    assert second.endswith("…")
    assert abs(len(second) - len(third)) <= 1


def test_columns_stay_readable_where_no_line_has_room():
    names = [f"name{number}" for number in range(20)]

    _, line = table(names, [["x" * 50] * 20], stretch=None)

    assert {len(cell) for cell in line.split("  ")} == {12}
