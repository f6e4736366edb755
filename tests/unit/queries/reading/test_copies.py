"""A session or unit as text to copy."""

from __future__ import annotations

import pytest

from leslied.errors import UserError
from leslied.queries.context import QueryContext
from leslied.queries.reading.copies import render_copy
from tests.support.claude import SESSION
from tests.support.queries import SECRET


@pytest.mark.parametrize("format_name", ["leslie", "markdown"])
def test_a_copy_has_the_session_without_secrets(
    queries: QueryContext, format_name: str
):
    text = render_copy(queries, SESSION, format_name, None)

    assert "Done." in text
    assert "Nothing is left." in text
    assert SECRET not in text


def test_a_copy_can_be_one_unit(queries: QueryContext):
    text = render_copy(queries, SESSION, "leslie", 2)

    assert "Nothing is left." in text
    assert "Done." not in text


def test_a_unit_that_does_not_exist_is_an_error(queries: QueryContext):
    with pytest.raises(UserError, match="no unit 9"):
        render_copy(queries, SESSION, "markdown", 9)
