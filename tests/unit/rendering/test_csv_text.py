"""CSV: one line per row, and nothing that a spreadsheet would run."""

from __future__ import annotations

import csv

import pytest

from leslied.rendering.csv_text import format_csv


def test_a_row_becomes_a_line():
    lines = list(format_csv(["a", "b"], [[1, "x,y"], [None, ["m", "n"]]]))

    assert lines == ["a,b\n", '1,"x,y"\n', ",m n\n"]


@pytest.mark.threat("R4")
@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@x", " =1", "\uff1d1", "'=1"])
def test_a_cell_cannot_be_a_formula(cell: str):
    rows = list(csv.reader(format_csv([cell], [[cell]])))

    assert rows == [[f"'{cell}"], [f"'{cell}"]]


@pytest.mark.threat("R4")
def test_a_cell_with_another_separator_is_quoted():
    assert list(format_csv(["a"], [["x;=1+1"]]))[1] == '"x;=1+1"\n'


def test_control_characters_are_named():
    assert list(format_csv(["a"], [["\x1b[2J"]]))[1] == "␛[2J\n"


def test_a_negative_number_stays_a_number():
    assert list(format_csv(["a"], [[-1]]))[1] == "-1\n"
