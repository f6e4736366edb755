"""Test stop detection: the store knows which sessions are live or stopped."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from leslied.api import open_store
from leslied.model.query import Filter, Selection
from leslied.model.record import SessionKey
from leslied.pipeline import StopDetection
from leslied.pipeline.stage import Budget
from leslied.sessions.status import compute_status, compute_stop_cutoff_us
from leslied.store import Store, StoreReader
from tests.support.claude import (
    ADAPTER,
    SESSION,
    START_TIME,
    ClaudeHome,
    ClaudeLogBuilder,
)
from tests.support.clock import FakeClock
from tests.support.golden import make_environment
from tests.support.work import count_work


@pytest.fixture
def stop_detection(claude: ClaudeHome, clock: FakeClock):
    """Return the stage over a session that has been silent for 15 minutes."""
    builder = ClaudeLogBuilder()
    clock.at = datetime(2026, 11, 16, 10, 15, tzinfo=UTC)
    claude.write(builder.prompt("run the long tests"))
    claude.sync()
    registries = [
        (ADAPTER, list(ADAPTER.live_registries(make_environment(claude.home), [])))
    ]
    with Store(claude.store_path, clock) as store:
        yield StopDetection(store=store, clock=clock, registries=registries)


@pytest.fixture
def registry_file(claude: ClaudeHome) -> Path:
    """Write Claude Code's registry file for a running process: this one."""
    file = claude.home / ".claude" / "sessions" / "1.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"sessionId": SESSION, "pid": os.getpid()}))
    return file


def read_status(claude: ClaudeHome) -> str:
    with StoreReader(claude.store_path) as reader:
        session = reader.find_session(SessionKey("claude-code", SESSION))
        assert session is not None
        return compute_status(session, claude.clock.now())


def count_matches(claude: ClaudeHome, status: str) -> int:
    """Return the number of sessions that the SQL of `list --status` selects."""
    selection = Selection(
        filters=(Filter("status", status),),
        stop_cutoff_us=compute_stop_cutoff_us(claude.clock.now()),
    )
    with StoreReader(claude.store_path) as reader:
        return len(reader.select_sessions(selection))


@pytest.mark.usefixtures("registry_file")
def test_a_silent_session_with_a_live_process_is_active(
    claude: ClaudeHome, stop_detection: StopDetection
):
    stop_detection.run()

    assert read_status(claude) == "active"
    assert (count_matches(claude, "active"), count_matches(claude, "stopped")) == (1, 0)


@pytest.mark.usefixtures("claude", "registry_file")
def test_agents_without_processes_cost_no_statement(stop_detection: StopDetection):
    statements = []
    for agents in (1, 40):
        stop_detection.registries = [*stop_detection.registries[:1]] + [
            (ADAPTER, ())
        ] * (agents - 1)
        stop_detection.run()
        with count_work(stop_detection.store) as work:
            stop_detection.run()
        statements.append(work.statements)

    assert statements[1] == statements[0]


@pytest.mark.fault("G9")
def test_a_silent_session_without_a_process_is_stopped(
    claude: ClaudeHome, stop_detection: StopDetection
):
    stop_detection.run()

    assert read_status(claude) == "stopped"
    assert count_matches(claude, "stopped") == 1


@pytest.mark.fault("G9")
def test_a_session_whose_process_is_gone_is_stopped(
    claude: ClaudeHome, stop_detection: StopDetection, registry_file: Path
):
    stop_detection.run()
    registry_file.unlink()
    stop_detection.run()

    assert read_status(claude) == "stopped"


def test_a_session_whose_last_entries_are_read_late_is_stopped(
    claude: ClaudeHome, stop_detection: StopDetection, registry_file: Path
):
    stop_detection.run()
    registry_file.unlink()
    for _ in range(2):
        stop_detection.run()
    builder = ClaudeLogBuilder(started_at=START_TIME + timedelta(minutes=14))
    claude.write(builder.prompt("run the long tests"), builder.answer("Done."))
    claude.sync(stop_detection.store)
    status_before = read_status(claude)
    stop_detection.run()

    assert (status_before, read_status(claude)) == ("idle", "stopped")


@pytest.mark.usefixtures("registry_file")
def test_the_api_returns_active_while_the_process_exists(
    claude: ClaudeHome, stop_detection: StopDetection
):
    stop_detection.run()

    with open_store(claude.store_path) as store:
        (session,) = store.sessions()
    assert session.status == "active"


@pytest.mark.usefixtures("claude", "registry_file")
def test_a_second_run_writes_nothing(stop_detection: StopDetection):
    stop_detection.run()
    before = stop_detection.store._db.total_changes
    stop_detection.run()

    assert stop_detection.store._db.total_changes == before


@pytest.mark.usefixtures("registry_file")
def test_a_daemon_that_stops_marks_no_session_as_live(
    claude: ClaudeHome, stop_detection: StopDetection
):
    stop_detection.run()
    stop_detection.close()

    assert read_status(claude) == "stopped"


def read_waiting_for(claude: ClaudeHome) -> str | None:
    with StoreReader(claude.store_path) as reader:
        session = reader.find_session(SessionKey("claude-code", SESSION))
        assert session is not None
        return session.waiting_for


def write_registry(file: Path, **fields: object) -> None:
    fields = {"sessionId": SESSION, "pid": os.getpid(), **fields}
    file.write_text(json.dumps(fields))


@pytest.mark.parametrize(
    ("waiting_for", "expected"),
    [("permission prompt", "permission"), ("input needed", "question")],
)
def test_a_session_whose_process_says_so_waits_for_the_user(
    claude: ClaudeHome,
    stop_detection: StopDetection,
    registry_file: Path,
    waiting_for: str,
    expected: str,
):
    write_registry(registry_file, status="waiting", waitingFor=waiting_for)

    stop_detection.run()

    assert read_waiting_for(claude) == expected


@pytest.mark.usefixtures("claude")
def test_a_session_that_waits_is_written_once(
    stop_detection: StopDetection, registry_file: Path, clock: FakeClock
):
    write_registry(registry_file, status="waiting", waitingFor="permission prompt")
    stop_detection.run()
    before = stop_detection.store._db.total_changes
    clock.at += timedelta(seconds=30)
    stop_detection.run()

    assert stop_detection.store._db.total_changes == before


def test_a_session_waits_no_longer_when_its_process_works_again(
    claude: ClaudeHome,
    stop_detection: StopDetection,
    registry_file: Path,
    clock: FakeClock,
):
    write_registry(registry_file, status="waiting", waitingFor="permission prompt")
    stop_detection.run()
    later_ms = int(clock.now().timestamp() * 1000) + 1000
    write_registry(registry_file, status="busy", statusUpdatedAt=later_ms)
    stop_detection.run()

    assert read_waiting_for(claude) is None


def test_a_session_waits_no_longer_when_its_process_is_gone(
    claude: ClaudeHome, stop_detection: StopDetection, registry_file: Path
):
    write_registry(registry_file, status="waiting", waitingFor="permission prompt")
    stop_detection.run()
    registry_file.unlink()
    stop_detection.run()

    assert read_waiting_for(claude) is None


@pytest.mark.usefixtures("registry_file")
def test_an_open_question_in_the_log_waits_for_the_user(
    claude: ClaudeHome, stop_detection: StopDetection
):
    builder = ClaudeLogBuilder()
    builder.prompt("run the long tests")
    claude.write(builder.call("AskUserQuestion", {"questions": []}, "c1"))
    claude.sync(stop_detection.store)
    stop_detection.run()
    asked = read_waiting_for(claude)
    claude.write(builder.result("c1", "blue"))
    claude.sync(stop_detection.store)
    stop_detection.run()

    assert asked == "question"
    assert read_waiting_for(claude) is None


def test_the_registry_of_processes_that_say_what_they_do_is_watched(
    stop_detection: StopDetection, registry_file: Path
):
    assert registry_file.parent in [root.path for root in stop_detection.watched_roots]


HEADLESS = {"entrypoint": "sdk-cli"}


def end_turn(claude: ClaudeHome, store: Store, **fields: Any) -> None:
    """Write and ingest a session whose turn ends now."""
    started_at = claude.clock.now().replace(tzinfo=None) - timedelta(seconds=2)
    builder = ClaudeLogBuilder("22222222", started_at=started_at)
    claude.write(
        builder.prompt("say hello", **fields),
        builder.answer("Hello."),
        name="-home-dev-app/22222222.jsonl",
    )
    claude.sync(store)


def count_stopped(claude: ClaudeHome) -> int:
    """Return the number of sessions that are marked as stopped."""
    with StoreReader(claude.store_path) as reader:
        return sum(session.is_stopped for session in reader.list_sessions())


@pytest.fixture
def registry(claude: ClaudeHome) -> Path:
    """Create the folder of the registry, without any process."""
    folder = claude.home / ".claude" / "sessions"
    folder.mkdir(parents=True)
    return folder


@pytest.mark.usefixtures("registry")
def test_a_headless_run_that_was_never_seen_alive_is_stopped_once_quiet(
    claude: ClaudeHome, clock: FakeClock, stop_detection: StopDetection
):
    end_turn(claude, stop_detection.store, **HEADLESS)
    stop_detection.run()
    before = count_stopped(claude)
    clock.advance(2)
    stop_detection.run()

    assert before == 0
    assert count_stopped(claude) == 1


@pytest.mark.usefixtures("registry")
def test_a_settled_headless_run_is_stopped_by_the_next_scan(
    claude: ClaudeHome, clock: FakeClock, stop_detection: StopDetection
):
    store = stop_detection.store
    end_turn(claude, store, **HEADLESS)
    with store.transcripts() as ledger:
        ledger.mark_settled("claude-code", "22222222")
    clock.advance(2)
    stop_detection.run(Budget(changed_paths=()))
    before = count_stopped(claude)
    stop_detection.run()

    assert before == 0
    assert count_stopped(claude) == 1


def test_a_headless_run_that_is_registered_is_not_stopped(
    claude: ClaudeHome, clock: FakeClock, stop_detection: StopDetection, registry: Path
):
    fields = {"sessionId": "22222222", "pid": os.getpid()}
    (registry / "1.json").write_text(json.dumps(fields))
    end_turn(claude, stop_detection.store, **HEADLESS)
    clock.advance(2)
    stop_detection.run()

    assert count_stopped(claude) == 0


@pytest.mark.parametrize("fields", [{"entrypoint": "cli"}, {}], ids=["cli", "none"])
@pytest.mark.usefixtures("registry")
def test_a_session_that_need_not_be_registered_is_not_stopped(
    claude: ClaudeHome,
    clock: FakeClock,
    stop_detection: StopDetection,
    fields: dict[str, str],
):
    end_turn(claude, stop_detection.store, **fields)
    clock.advance(2)
    stop_detection.run()

    assert count_stopped(claude) == 0


def test_without_a_registry_a_headless_run_is_not_stopped(
    claude: ClaudeHome, clock: FakeClock, stop_detection: StopDetection
):
    end_turn(claude, stop_detection.store, **HEADLESS)
    clock.advance(2)
    stop_detection.run()

    assert count_stopped(claude) == 0


def test_a_session_is_active_while_a_subagent_works_in_the_background(
    claude: ClaudeHome, clock: FakeClock
):
    clock.at = datetime(2026, 11, 16, 10, 0, 30, tzinfo=UTC)
    builder = ClaudeLogBuilder()
    subagent_log = f"-home-dev-app/{SESSION}/subagents/agent-a1.jsonl"
    fields = {"isSidechain": True, "agentId": "a1"}
    claude.write(builder.prompt("start it"), builder.answer("Started."))
    claude.write(builder.prompt("count files", **fields), name=subagent_log)
    claude.sync()
    during = (read_status(claude), count_matches(claude, "active"))
    claude.write(builder.answer("Seven.") | fields, name=subagent_log)
    claude.sync()

    assert during == ("active", 1)
    assert (read_status(claude), count_matches(claude, "idle")) == ("idle", 1)


def test_a_subagent_whose_result_came_does_not_work(
    claude: ClaudeHome, clock: FakeClock
):
    clock.at = datetime(2026, 11, 16, 10, 0, 30, tzinfo=UTC)
    builder = ClaudeLogBuilder()
    subagent_log = f"-home-dev-app/{SESSION}/subagents/agent-a1.jsonl"
    outcome = {"status": "completed", "agentId": "a1"}
    claude.write(
        builder.prompt("count the files", isSidechain=True, agentId="a1"),
        name=subagent_log,
    )
    claude.write(
        builder.prompt("start it"),
        builder.call("Task", {"prompt": "count the files"}, "toolu_1"),
        builder.result("toolu_1", "Seven.", toolUseResult=outcome),
        builder.answer("It has seven files."),
    )
    claude.sync()

    assert read_status(claude) == "idle"
