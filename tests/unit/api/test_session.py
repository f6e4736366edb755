"""A session as scripts see it."""

from __future__ import annotations

from leslied.api import open_store
from tests.support.claude import SESSION, ClaudeHome
from tests.support.queries import SECRET, make_home_with_session


def test_a_session_has_units_and_entries(claude: ClaudeHome):
    make_home_with_session(claude)
    with open_store(claude.store_path) as store:
        session = store.session(SESSION)
        numbers = [unit.number for unit in session.units]

        assert session.unit_count == 2
        assert numbers[-2:] == [1, 2]
        assert len(list(session.entries)) >= 6
        assert session.subagents == []


def test_a_redacted_session_contains_no_secret(claude: ClaudeHome):
    make_home_with_session(claude)
    with open_store(claude.store_path, redact=True) as store:
        session = store.session(SESSION)

        assert SECRET not in f"{session} {list(session.units)} {list(session.entries)}"
