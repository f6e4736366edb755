"""How the columns of a view are redacted."""

from __future__ import annotations

import re

from leslied.store import VIEWS
from leslied.store.read.view import Column, View, make_plain


def test_a_column_is_redacted_unless_it_says_otherwise():
    view = View("v", "", (Column("a", "", "x"), make_plain("b", "", "y")), "FROM t")

    assert re.fullmatch(
        r"SELECT redact_text\(substr\(x, 1, \d+\)\) AS a, y AS b FROM t",
        view.make_select(is_redacted=True),
    )
    assert view.make_select(is_redacted=False) == "SELECT x AS a, y AS b FROM t"


def test_text_of_records_is_redacted():
    columns = [column for view in VIEWS for column in view.columns]

    for column in columns:
        has_text = re.search(
            r"\b[rax]\.(content|spilled|tool_input|tool_name)", column.sql
        )
        assert not has_text or column.redact or "redact_start" in column.sql, column
