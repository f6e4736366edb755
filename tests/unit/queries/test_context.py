"""The context of all questions: lazy store and redaction."""

from __future__ import annotations

import pytest

from leslied.app import App
from leslied.errors import LesliedError
from leslied.queries.context import QueryContext
from tests.support.claude import ClaudeHome
from tests.support.queries import SECRET, make_app


def test_a_context_does_not_open_the_store_before_it_is_asked(claude: ClaudeHome):
    with make_app(claude).open_queries() as queries:
        assert queries.paths.store_file == claude.store_path
        with pytest.raises(LesliedError):
            _ = queries.reader


def test_the_store_is_closed_at_the_end(app: App):
    with app.open_queries() as queries:
        reader = queries.reader

    with pytest.raises(Exception, match="closed"):
        reader.count_rows()


def test_texts_are_redacted(queries: QueryContext):
    (summary,) = queries.reader.list_sessions()

    assert SECRET in summary.title
    assert SECRET not in queries.redact_summary(summary).title
    assert SECRET not in queries.redact(f"a {SECRET}")


def test_revealed_objects_are_not_copied(app: App):
    with app.open_queries(reveal=True) as queries:
        (summary,) = queries.reader.list_sessions()

        assert queries.redact_summary(summary) is summary
        assert queries.redact(SECRET) == SECRET
