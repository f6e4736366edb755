"""State of the daemon and the store."""

from __future__ import annotations

from leslied.app import App
from leslied.jobs import write_lock_info
from leslied.queries.context import QueryContext
from leslied.queries.operations.status import (
    is_daemon_running,
    load_daemon_state,
    load_status,
)


def test_the_status_counts_what_the_store_holds(queries: QueryContext):
    data = load_status(queries).to_dict()

    assert data["store"]["sessions"] == 1
    assert data["store"]["bytes"] > 0
    assert data["daemon"]["running"] is False
    assert "rejected" not in data


def test_rejected_entries_are_listed_on_request(queries: QueryContext):
    assert load_status(queries, with_rejected=True).to_dict()["rejected"] == []


def test_the_daemon_writes_its_state_into_the_lock(app: App, queries: QueryContext):
    assert not is_daemon_running(queries)
    with app.open_writer() as store:
        write_lock_info(app, store)
        state = load_daemon_state(queries)

        assert is_daemon_running(queries)
    assert state.running
    assert state.pid


def test_a_pause_is_reported(app: App, queries: QueryContext):
    app.paths.pause_file.parent.mkdir(parents=True)
    app.paths.pause_file.touch()

    assert load_daemon_state(queries).paused
