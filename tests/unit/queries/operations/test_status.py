"""State of the daemon, the store and each agent."""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from msgspec import structs

from leslied.app import App
from leslied.jobs import write_lock_info
from leslied.queries.context import QueryContext
from leslied.queries.operations.agents import AgentState, list_agents
from leslied.queries.operations.status import (
    DaemonState,
    ReadState,
    describe_agents_behind,
    is_daemon_running,
    judge_agent,
    load_daemon_state,
    load_status,
)
from leslied.tail.watch import WatchProblem
from tests.support.claude import ADAPTER, ClaudeHome
from tests.support.clock import FakeClock


def test_the_status_counts_what_the_store_holds(queries: QueryContext):
    data = load_status(queries).to_dict()

    assert data["store"]["sessions"] == 1
    assert data["store"]["bytes"] > 0
    assert data["daemon"]["running"] is False
    assert "rejected" not in data


def test_rejected_entries_are_listed_on_request(
    queries: QueryContext, claude: ClaudeHome
):
    (log,) = claude.projects.rglob("*.jsonl")
    append(log, "not JSON\n")
    claude.sync()

    (entry,) = load_status(queries, with_rejected=True).to_dict()["rejected"]

    assert (entry["path"], entry["length"]) == (str(log), len("not JSON"))


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


def test_a_daemon_that_reported_nothing_has_no_problem_and_no_scan_time(
    app: App, queries: QueryContext
):
    with app.open_writer() as store:
        write_lock_info(app, store)
        state = load_daemon_state(queries)

    assert (state.watch_problem, state.watch_hint, state.scanned_at) == (None,) * 3


def test_missing_file_events_and_the_last_scan_are_reported(
    app: App, queries: QueryContext, clock: FakeClock
):
    started_at = clock.now()
    clock.advance(60)
    problem = WatchProblem("no file events: limit reached", "Raise the limit.")
    with app.open_writer() as store:
        write_lock_info(app, store, started_at, problem, clock.now())
        state = load_daemon_state(queries)

    assert (state.watch_problem, state.watch_hint) == problem
    assert state.since == started_at.isoformat()
    assert state.scanned_at == clock.now().isoformat(timespec="milliseconds")


@pytest.mark.parametrize("length", [1, 100_000])
def test_a_problem_that_ends_leaves_nothing_in_the_lock(
    app: App, queries: QueryContext, length: int
):
    with app.open_writer() as store:
        write_lock_info(app, store, problem=WatchProblem("x" * length, "hint"))
        had_problem = load_daemon_state(queries).watch_problem
        write_lock_info(app, store)
        state = load_daemon_state(queries)

    assert had_problem
    assert state.running
    assert not state.watch_problem


def test_a_killed_daemon_is_not_running_even_while_another_command_writes(
    app: App, queries: QueryContext
):
    """A daemon that was killed leaves its state in the lock file."""
    with app.open_writer() as store:
        write_lock_info(app, store)
    with app.open_writer():
        state = load_daemon_state(queries)

    assert not state.running


NOW = datetime.fromisoformat("2026-11-16T12:00:00+00:00")
SCANNED_AT = NOW - timedelta(seconds=20)


@pytest.fixture
def agent(queries: QueryContext) -> AgentState:
    (agent,) = (a for a in list_agents(queries).agents if a.name == ADAPTER.name)
    return agent


def make_daemon(
    scanned_at: datetime | None = SCANNED_AT,
    *,
    running: bool = True,
    paused: bool = False,
) -> DaemonState:
    return DaemonState(
        running=running,
        pid=1,
        since=None,
        version="",
        paused=paused,
        scanned_at=scanned_at.isoformat() if scanned_at else None,
    )


def test_an_agent_without_unread_changes_is_up_to_date(agent: AgentState):
    assert judge_agent(agent, make_daemon(running=False), NOW) == "up-to-date"


def test_an_agent_without_logs_is_not_judged(agent: AgentState):
    agent = structs.replace(agent, newest_source_at=None)

    assert judge_agent(agent, make_daemon(), NOW) is None


@pytest.mark.parametrize(
    ("daemon", "unread_seconds", "state"),
    [
        pytest.param(make_daemon(), 5, "reading", id="newer than the last scan"),
        pytest.param(make_daemon(), 21, "reading", id="about as old as the last scan"),
        pytest.param(make_daemon(), 60, "behind", id="older than the last scan"),
        pytest.param(make_daemon(None), 999, "reading", id="the first scan runs"),
        pytest.param(make_daemon(running=False), 5, "behind", id="not running"),
        pytest.param(make_daemon(paused=True), 5, "behind", id="paused"),
        pytest.param(
            make_daemon(NOW - timedelta(minutes=3)), 5, "behind", id="no scans any more"
        ),
    ],
)
def test_unread_changes_are_judged_by_the_daemon_and_its_last_scan(
    agent: AgentState, daemon: DaemonState, unread_seconds: int, state: ReadState
):
    unread_at = NOW - timedelta(seconds=unread_seconds)
    agent = structs.replace(agent, unread=1, oldest_unread_at=unread_at)

    assert judge_agent(agent, daemon, NOW) == state


def test_an_agent_that_is_behind_is_described_with_both_times(agent: AgentState):
    agent = structs.replace(
        agent,
        unread=3,
        oldest_unread_at=NOW - timedelta(hours=1),
        newest_source_at=NOW - timedelta(minutes=14),
        newest_ingested_at=NOW - timedelta(hours=2),
    )

    (text,) = describe_agents_behind([agent], make_daemon(), NOW)

    assert text == (
        "claude-code is behind: newest log change 14 min ago, newest that was read "
        "2 h ago, 3 logs with unread changes"
    )


def change_log(claude: ClaudeHome) -> None:
    """Change the log of the session after it was read."""
    (log,) = claude.projects.rglob("*.jsonl")
    append(log, "{}\n")
    os.utime(log, ns=(10**18, 2 * 10**18))


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def test_a_log_that_changed_makes_its_agent_behind_without_a_daemon(
    queries: QueryContext, claude: ClaudeHome
):
    change_log(claude)

    agents = load_status(queries).to_dict()["agents"]

    states = {agent["name"]: (agent["state"], agent["unread"]) for agent in agents}
    assert states.pop(ADAPTER.name) == ("behind", 1)
    assert set(states.values()) == {(None, 0)}
