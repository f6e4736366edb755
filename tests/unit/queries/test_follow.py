"""New entries and stops of followed sessions."""

from __future__ import annotations

from typing import Any

import pytest

from leslied.app import App
from leslied.errors import UserError
from leslied.model.query import Filter
from leslied.queries.context import QueryContext
from leslied.queries.follow import Follower, SessionStop
from tests.support.claude import (
    SESSION,
    ClaudeHome,
    ClaudeLogBuilder,
)
from tests.support.clock import FakeClock
from tests.support.queries import SECRET, write_session


def test_the_first_poll_yields_all_entries_without_secrets(queries: QueryContext):
    entries = list(Follower(queries, (), ()).poll())

    assert len(entries) >= 6
    assert SECRET not in repr(entries)


def test_a_session_with_a_secret_in_its_id_can_be_looked_up(
    app: App, claude: ClaudeHome
):
    write_session(claude, f"session {SECRET}")
    claude.sync()
    with app.open_queries() as queries:
        follower = Follower(queries, (), ())
        *_, entry = follower.poll()
        assert not isinstance(entry, SessionStop)
        session = follower.find_session(entry.record.session)
        sequence = follower.add_sequence(entry).sequence

    assert session
    assert session.key == entry.record.session
    assert sequence > 1
    assert SECRET not in repr((entry, session))


def test_a_poll_of_an_unchanged_store_yields_nothing(queries: QueryContext):
    follower = Follower(queries, (), ())
    first_entries = list(follower.poll())

    assert first_entries
    assert list(follower.poll()) == []


def test_after_the_start_only_new_entries_are_yielded(app: App, claude: ClaudeHome):
    with app.open_queries() as queries:
        follower = Follower(queries, (), ())
        last_entries = list(follower.start(2))
        write_session(claude, "another-session")
        claude.sync()
        sessions = {
            event.record.session.session_id
            for event in follower.poll()
            if not isinstance(event, SessionStop)
        }

    assert len(last_entries) == 2
    assert sessions == {"another-session"}


def test_a_stopped_session_is_reported(app: App):
    with app.open_queries() as queries:
        follower = Follower(queries, (SESSION,), ())
        list(follower.poll())
        with app.open_writer() as store:
            store.mark_all_stopped()
        stops = list(follower.poll())

    assert [event.key.session_id for event in stops] == [SESSION]


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ({"type": "cost-state", "sessionId": SESSION, "totalCostUSD": 0.1}, 1),
        (ClaudeLogBuilder().prompt("go on", uuid="next"), 2),
    ],
    ids=["last line", "prompt"],
)
def test_a_session_that_stops_again_is_reported_only_after_a_prompt(
    app: App, claude: ClaudeHome, clock: FakeClock, line: dict[str, Any], count: int
):
    stops: list[SessionStop] = []
    with app.open_queries() as queries:
        follower = Follower(queries, (SESSION,), ())
        for lines in ([], [line]):
            claude.write(*lines)
            claude.sync()
            clock.advance(1)
            with app.open_writer() as store:
                store.mark_all_stopped()
            stops += [e for e in follower.poll() if isinstance(e, SessionStop)]

    assert len(stops) == count


def test_sessions_that_do_not_match_are_not_followed(queries: QueryContext):
    filters = (Filter("project", "/elsewhere"),)

    assert list(Follower(queries, (), filters).poll()) == []


def test_an_unknown_id_is_an_error(queries: QueryContext):
    with pytest.raises(UserError, match="zzz"):
        Follower(queries, ("zzz",), ())


def test_the_sequence_of_an_entry_is_computed_on_request(queries: QueryContext):
    follower = Follower(queries, (), ())
    first = next(follower.poll())

    assert not isinstance(first, SessionStop)
    assert follower.add_sequence(first).sequence == 1
