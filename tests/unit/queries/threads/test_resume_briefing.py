"""The briefing on a thread."""

from __future__ import annotations

import json

from leslied.queries.context import QueryContext
from leslied.queries.threads.resume_briefing import load_briefing
from tests.support.claude import SESSION
from tests.support.queries import SECRET


def test_the_briefing_contains_the_last_prompt_and_answer(queries: QueryContext):
    data = load_briefing(queries, "last").to_dict()

    assert data["session_id"] == SESSION
    assert data["last_unit"]["prompt"] == "And now?"
    assert data["last_unit"]["answer"] == "Nothing is left."
    assert SESSION in data["command"]


def test_the_briefing_contains_no_secret(queries: QueryContext):
    assert SECRET not in json.dumps(load_briefing(queries, "last").to_dict())
