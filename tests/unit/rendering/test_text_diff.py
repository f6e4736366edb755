"""The differences between two texts."""

from __future__ import annotations

from leslied.model.difference import EntryDifference, TextDiffLine
from leslied.rendering.text_diff import (
    MAX_CHANGED_CHARACTERS,
    MAX_LINE_CHARACTERS,
    MAX_LINES,
    diff_entry,
    diff_texts,
    make_hunks,
)
from tests.support.records import make_record
from tests.support.units import make_placed


def diff_lines(a: str, b: str) -> list[str]:
    return [f"{line.sign}{line.text}" for line in diff_texts(a, b).lines]


def test_lines_are_compared_one_by_one():
    assert diff_lines("a\nb\nc", "a\nx\nc") == [" a", "-b", "+x", " c"]


def test_equal_texts_have_no_difference():
    assert diff_lines("a\nb", "a\nb") == [" a", " b"]


def test_similar_lines_are_paired_and_differing_words_are_marked():
    difference = diff_texts("the red fox ran", "the blue fox ran")

    assert difference.lines == (
        TextDiffLine("-", "the red fox ran", ((4, 7),)),
        TextDiffLine("+", "the blue fox ran", ((4, 8),)),
    )


def test_a_very_long_line_has_one_mark_between_its_equal_ends():
    common_start = "word " * MAX_LINE_CHARACTERS

    difference = diff_texts(f"{common_start}red end", f"{common_start}blue end")

    start = len(common_start)
    assert difference.is_coarse
    assert [line.marks for line in difference.lines] == [
        ((start, start + 3),),
        ((start, start + 4),),
    ]


def test_texts_with_too_many_lines_report_how_many_were_not_compared():
    text_a = "\n".join(["same", *(f"a{n}" for n in range(MAX_LINES + 10)), "end"])
    text_b = "same\nb\nend"

    difference = diff_texts(text_a, text_b)

    assert [f"{line.sign}{line.text}" for line in difference.lines] == [
        " same",
        "-a0",
        "+b",
    ]
    assert difference.uncompared == (MAX_LINES + 9, 0)


def test_a_long_text_with_a_small_change_is_compared():
    lines = [f"line {n}" for n in range(5 * MAX_LINES)]

    difference = diff_texts("\n".join(lines), "\n".join([*lines[:700], *lines[701:]]))

    assert [line.text for line in difference.lines if line.sign == "-"] == ["line 700"]
    assert difference.uncompared == (0, 0)


def test_texts_that_differ_very_much_are_not_compared_word_by_word():
    line = "a red fox " * 20
    text = "\n".join(f"{line}{n}" for n in range(MAX_CHANGED_CHARACTERS // len(line)))

    difference = diff_texts(text, text.replace("red", "blue"))

    assert difference.is_coarse
    assert all(len(line.marks) == 1 for line in difference.lines)


def test_all_lines_of_an_unpaired_entry_are_listed():
    entry = EntryDifference(status="only_b", a=None, b=make_placed(make_record("a\nb")))

    assert diff_entry(entry).lines == (TextDiffLine("+", "a"), TextDiffLine("+", "b"))


def test_hunks_contain_changes_with_lines_of_context():
    lines = [TextDiffLine(" ", str(n)) for n in range(20)]
    lines[5], lines[7], lines[15] = (
        TextDiffLine("-", "5"),
        TextDiffLine("+", "7"),
        TextDiffLine("+", "15"),
    )

    hunks = list(make_hunks(lines, 1))

    ranges = [(h.start_a, h.count_a, h.start_b, h.count_b) for h in hunks]
    assert ranges == [(5, 4, 5, 4), (14, 2, 14, 3)]
    assert [line.text for line in hunks[1].lines] == ["14", "15", "16"]


def test_hunks_without_context_contain_only_changes():
    lines = diff_texts("a\nb\nc", "a\nx\nc").lines

    (hunk,) = make_hunks(lines, 0)

    assert [line.sign for line in hunk.lines] == ["-", "+"]
