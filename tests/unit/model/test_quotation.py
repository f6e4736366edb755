"""Text of a session is quoted line by line."""

from __future__ import annotations

import pytest

from leslied.model.quotation import quote_lines, unquote_lines


@pytest.mark.parametrize("text", ["", "one", "one\n\n two ", "> one", "#\n---\n```"])
def test_quoted_lines_have_the_same_text(text: str):
    lines = quote_lines(text)

    assert unquote_lines(lines) == text
    assert all(line.startswith(">") for line in lines)


def test_a_carriage_return_cannot_start_a_line():
    assert quote_lines("one\r\ntwo\rthree\u2028four") == [
        "> one",
        "> two␍three<U+2028>four",
    ]
