"""A session that is being read."""

from __future__ import annotations

import pytest

from leslied.errors import UserError
from leslied.queries.context import QueryContext
from leslied.queries.reading.session import open_session
from tests.support.claude import SESSION


def test_a_session_knows_the_subagents_of_its_units(sample: QueryContext):
    session = open_session(sample, SESSION)

    (child,) = session.list_spawned_subagents(session.summary.key, 1)
    assert child.summary.subagent_id == "a5c0041"
    assert session.list_spawned_subagents(session.summary.key, 2) == ()
    assert session.list_ancestors(child.summary.key) == ["a5c0041"]
    assert session.get_stream("a5c0041") == child.summary


def test_an_unknown_subagent_is_an_error(queries: QueryContext):
    session = open_session(queries, SESSION)

    assert session.get_stream("") == session.summary
    with pytest.raises(UserError, match="no subagent"):
        session.get_stream("a5c0041")
