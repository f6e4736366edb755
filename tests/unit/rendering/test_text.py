"""Text that is safe to show."""

from __future__ import annotations

from leslied.rendering.text import first_line, replace_controls


def test_control_characters_become_visible_and_line_ends_are_unified():
    assert replace_controls("a\r\nb\x1b[0m\tc") == "a\nb␛[0m\tc"


def test_the_first_line_that_is_not_blank_is_returned_with_single_spaces():
    assert first_line("\n  a   b \nc") == "a b"


def test_a_long_first_line_is_shortened():
    assert first_line("abcdef", 4) == "abc…"
