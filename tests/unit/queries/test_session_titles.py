"""Sessions by words in their title."""

from __future__ import annotations

import pytest

from leslied.queries.context import QueryContext
from leslied.queries.session_titles import find_sessions_by_title
from tests.support.claude import SESSION
from tests.support.queries import SECRET


@pytest.mark.parametrize("text", ["", "use", "LOG use", SESSION[:8]])
def test_a_session_is_found_by_words_or_its_id(queries: QueryContext, text: str):
    (session,) = find_sessions_by_title(queries, text, 8).sessions

    assert session.session_id == SESSION
    assert session.resume_command.endswith(f"claude --resume {SESSION}")


@pytest.mark.parametrize("text", ["nothing", "use nothing", "%"])
def test_other_words_find_nothing(queries: QueryContext, text: str):
    assert find_sessions_by_title(queries, text, 8).sessions == ()


@pytest.mark.threat("S2")
def test_a_title_has_no_secrets(queries: QueryContext):
    data = find_sessions_by_title(queries, "use", 8).to_dict()

    assert data["sessions"][0]["title"].startswith("Use [REDACTED")
    assert SECRET not in str(data)
