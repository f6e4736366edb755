"""Text is measured and cut in columns of the terminal."""

from __future__ import annotations

import click
import pytest
from rich.cells import cell_len

from leslied.cli.render.widths import (
    measure_max_width,
    measure_width,
    pad_to_width,
    truncate_to_width,
)
from leslied.graphemes import has_only_single_characters

FAMILY = "👩\u200d👩\u200d👧"


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("plain", 5),
        ("日本", 4),
        (FAMILY, 2),
        ("🇩🇪", 2),
        ("👍🏽", 2),
        ("1️⃣", 2),
        ("\u1112\u1161\u11ab", 2),
        ("e\u0301", 1),
        (click.style("red", fg="red"), 3),
    ],
)
def test_a_text_is_measured_as_it_is_shown(text: str, width: int):
    assert measure_width(text) == width


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (12, f"ab {FAMILY} cd"),
        (11, f"ab {FAMILY}…"),
        (10, f"ab {FAMILY}…"),
        (9, "ab…"),
        (3, "ab…"),
        (1, "…"),
    ],
)
def test_a_cut_keeps_clusters_whole(width: int, shown: str):
    assert truncate_to_width(f"ab {FAMILY} cd", width) == shown


@pytest.mark.parametrize(
    ("text", "width"),
    [("plain", 5), ("日本", 4), (FAMILY, 6), ("👍🏽", 4), ("e\u0301", 1), ("नि", 2)],
)
def test_parts_of_a_cluster_fit_side_by_side(text: str, width: int):
    assert measure_max_width(text) == width


@pytest.mark.parametrize("text", ["", "ab", f"{FAMILY}{FAMILY}", "日本語日本語"])
def test_a_padded_text_has_the_width(text: str):
    assert measure_width(pad_to_width(text, 5)) == 5


def test_single_characters_are_measured_as_rich_does():
    characters = (chr(code) for code in range(0x80, 0x10000))
    singles = [each for each in characters if has_only_single_characters(each)]

    widths = {each: measure_width(each) for each in singles}

    assert widths == {each: cell_len(each) for each in singles}
    assert widths == {each: measure_max_width(each) for each in singles}
