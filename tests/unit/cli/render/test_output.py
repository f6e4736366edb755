"""Tests of tables, JSON envelopes and formatted values."""

from __future__ import annotations

import csv
import io
import json
import re

import click
import pytest
from rich.cells import cell_len

from leslied.cli.render.output import (
    emit,
    find_color_setting,
    format_source_errors,
    format_table,
    print_csv,
    sanitize,
)
from leslied.model.source import SourceProblem


@pytest.fixture(autouse=True)
def no_columns(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("COLUMNS", raising=False)


def test_logs_that_wait_for_the_same_reason_share_a_line():
    waiting = [SourceProblem(f"/logs/{n}", "waiting: no folder") for n in range(3)]
    unreadable = SourceProblem("/logs/x", "cannot be opened")

    lines = format_source_errors([*waiting, unreadable])

    assert lines == [
        "/logs/x: cannot be opened",
        "/logs/0 and 2 other logs: waiting: no folder",
    ]


@pytest.mark.threat("R1")
@pytest.mark.parametrize("code", [*range(0x20), *range(0x7F, 0xA0)])
def test_every_control_character_is_made_visible(code: int):
    text = sanitize(f"a{chr(code)}b")

    assert chr(code) not in text or chr(code) in "\n\t"


@pytest.mark.threat("R1")
@pytest.mark.parametrize(
    "mark", "\u202a\u202e\u2066\u2069\u200e\u200f\u061c\ufeff\u2028"
)
def test_bidirectional_characters_are_made_visible(mark: str):
    assert sanitize(f"a{mark}b") == f"a<U+{ord(mark):04X}>b"


def test_ordinary_text_of_any_script_is_unchanged():
    text = "héllo 日本語 שלום 🎉 a\tb\nc"

    assert sanitize(text) == text


def test_columns_with_wide_characters_are_aligned():
    lines = list(format_table(("A", "B"), [("日本", "x"), ("ab", "y")], flexible="B"))

    assert lines[1:] == ["日本  x", "ab    y"]


def test_a_long_title_is_cut():
    lines = list(format_table(("ID", "TITLE"), [("1", "x" * 500)], flexible="TITLE"))

    assert max(map(len, lines)) <= 120
    assert lines[1].endswith("…")


TITLES = [
    "plain",
    "日本語のタイトルはとても長いので、どこかで切られるはずです",
    "👨‍👩‍👧‍👦 family",
    "👩🏽‍💻 codes 👍🏽",
    "🏳️‍🌈 and 🇩🇪",
    "cafe\u0301 e\u0301e\u0301e\u0301",
    "❤️ ☀️ 1️⃣",
    "क्‍ष नमस्ते",
    "tab\tand\nline",
    "x" * 200,
]
HEADERS = ("ID", "AGENT", "WHEN", "TITLE", "TOOLS", "OUT")
DROPPABLE = ("OUT", "TOOLS", "AGENT", "WHEN")


def make_rows() -> list[tuple[str, ...]]:
    return [
        (f"{n:08x}", "claude-code", "2026-11-16 10:00", title, "340", "12k")
        for n, title in enumerate(TITLES)
    ]


@pytest.fixture
def columns(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> int:
    monkeypatch.setenv("COLUMNS", str(request.param))
    return request.param


@pytest.mark.parametrize("columns", [40, 80, 120], indirect=True)
def test_every_line_of_a_table_fits_and_its_columns_are_aligned(columns: int):
    lines = list(
        format_table(
            (*HEADERS, "END"),
            [(*row, "|") for row in make_rows()],
            flexible="TITLE",
            right_aligned=("TOOLS", "OUT"),
            droppable=DROPPABLE,
        )
    )

    widths = {cell_len(line) for line in lines[1:]}
    assert len(widths) == 1
    assert widths.pop() <= columns


@pytest.mark.parametrize("columns", [40, 60, 120], indirect=True)
def test_droppable_columns_are_dropped_in_order(columns: int):
    header = next(
        iter(format_table(HEADERS, make_rows(), flexible="TITLE", droppable=DROPPABLE))
    )

    expected = {
        40: ["ID", "TITLE"],
        60: ["ID", "WHEN", "TITLE"],
        120: list(HEADERS),
    }
    assert click.unstyle(header).split() == expected[columns]


@pytest.mark.parametrize("columns", [40], indirect=True)
def test_the_first_column_and_numbers_are_never_cut(columns: int):
    row = ("thread-0123456789", "a long word of an agent", "title", "1234567")
    names = ("THREAD", "AGENT", "TITLE", "OUT")
    _, line = format_table(names, [row], flexible="TITLE", right_aligned=("OUT",))

    assert line.split()[0] == "thread-0123456789"
    assert line.split()[-1] == "1234567"


def test_a_pipe_gets_every_column():
    header = next(
        iter(format_table(HEADERS, make_rows(), flexible="TITLE", droppable=DROPPABLE))
    )

    assert click.unstyle(header).split() == list(HEADERS)


@pytest.mark.parametrize(
    ("environ", "color"),
    [
        ({}, None),
        ({"NO_COLOR": "1"}, False),
        ({"NO_COLOR": ""}, None),
        ({"TERM": "dumb"}, False),
        ({"FORCE_COLOR": "1"}, True),
        ({"CLICOLOR_FORCE": "1", "TERM": "dumb"}, True),
        ({"FORCE_COLOR": "0"}, None),
        ({"NO_COLOR": "0", "FORCE_COLOR": "1"}, False),
    ],
)
def test_environment_variables_turn_colours_on_and_off(
    environ: dict[str, str], *, color: bool | None
):
    assert find_color_setting(environ) is color


def test_without_a_flexible_column_the_widest_ones_are_cut_equally():
    rows = [["short", "a" * 200, "b" * 200]]

    _, line = format_table(["one", "two", "three"], rows, flexible=None)

    first, second, third = line.split("  ")
    assert len(line) <= 120
    assert first == "short"
    assert second.endswith("…")
    assert abs(len(second) - len(third)) <= 1


def test_columns_keep_a_minimum_width_even_if_lines_do_not_fit():
    names = [f"name{number}" for number in range(20)]

    _, line = format_table(names, [["x" * 50] * 20], flexible=None)

    assert {len(cell) for cell in line.split("  ")} == {12}


def test_json_escapes_control_characters_without_changing_the_value(
    capfdbinary: pytest.CaptureFixture[bytes],
):
    hostile = {"a": "\x1b]0;x\x07 \x9b31m \u202e \x7f ok"}
    # A deep value and a lone surrogate are encoded by another library.
    deep: dict = {}
    for _ in range(600):
        deep = {"a": deep}

    for data in (hostile, {"deep": deep, "b": "\udcff"}):
        emit(data.copy, list, as_json=True)
        out = capfdbinary.readouterr().out.decode()

        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", out)
    emit(hostile.copy, list, as_json=True)
    assert json.loads(capfdbinary.readouterr().out)["data"] == hostile


@pytest.mark.threat("R4")
@pytest.mark.parametrize(
    "cell",
    [
        "=1+1",
        "+1",
        "-1+1",
        "@SUM(1)",
        " =1",
        "\t=1",
        "\t1",
        "\n=1",
        "\xa0=1",
        '"=1',
        "'=1",
        " \"' =1",
        "\uff1d1+1",
        "\uff201",
    ],
)
def test_a_csv_cell_cannot_be_a_formula(
    capfdbinary: pytest.CaptureFixture[bytes], cell: str
):
    print_csv([cell], [[cell], ["x"]])

    rows = list(csv.reader(io.StringIO(capfdbinary.readouterr().out.decode())))
    assert rows == [[f"'{cell}"], [f"'{cell}"], ["x"]]


@pytest.mark.threat("R4")
@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_a_csv_cell_is_quoted_if_another_separator_would_split_it(
    capfdbinary: pytest.CaptureFixture[bytes], separator: str
):
    print_csv(["a", "b"], [[f"x{separator}=1+1", 2]])

    out = capfdbinary.readouterr().out.decode()
    assert out == f'a,b\n"x{separator}=1+1",2\n'


def test_csv_names_control_characters(capfdbinary: pytest.CaptureFixture[bytes]):
    print_csv(["a"], [["\x1b[2J\u202e=1\r\U000e0041"]])

    assert capfdbinary.readouterr().out.decode() == "a\n␛[2J<U+202E>=1␍<U+E0041>\n"


@pytest.mark.parametrize("columns", [40, 120], indirect=True)
@pytest.mark.parametrize("emoji", ["👩\u200d👩\u200d👧", "🇩🇪", "👍🏽", "1️⃣"])
def test_emoji_stay_whole_in_a_table(columns: int, emoji: str):
    _, line = format_table(
        ("ID", "TITLE"), [("1", f"{emoji} family")], flexible="TITLE"
    )

    assert f"{emoji} family" in line
