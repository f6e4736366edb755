"""Which sessions a process works on is one stored fact that everybody reads."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from leslied.api import open_store
from leslied.model.query import Filter, Selection
from leslied.model.record import SessionKey
from leslied.pipeline import StopDetection
from leslied.sessions import compute_status, stopped_before_us
from leslied.store import Store, StoreReader
from tests.support.claude import ADAPTER, SESSION, ClaudeHome, ClaudeLogBuilder
from tests.support.clock import FakeClock
from tests.support.golden import make_environment


@pytest.fixture
def stops(claude: ClaudeHome, clock: FakeClock):
    """A session that has been silent for a quarter of an hour."""
    talk = ClaudeLogBuilder()
    clock.at = datetime(2026, 11, 16, 10, 15, tzinfo=UTC)
    claude.write(talk.prompt("run the long tests"))
    claude.sync()
    registries = [
        (ADAPTER, list(ADAPTER.live_registries(make_environment(claude.home), [])))
    ]
    with Store(claude.store_path, clock) as store:
        yield StopDetection(store=store, registries=registries)


@pytest.fixture
def process(claude: ClaudeHome) -> Path:
    """Claude Code's file about a process that lives: this one."""
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
    """How many sessions the SQL of `list --status` finds."""
    selection = Selection(
        filters=(Filter("status", status),),
        quiet_us=stopped_before_us(claude.clock.now()),
    )
    with StoreReader(claude.store_path) as reader:
        return len(reader.select_sessions(selection))


def test_a_silent_session_with_a_live_process_is_active(
    claude: ClaudeHome, stops: StopDetection, process: Path
):
    stops.run()

    assert read_status(claude) == "active"
    assert (count_matches(claude, "active"), count_matches(claude, "stopped")) == (1, 0)


def test_a_silent_session_without_a_process_is_stopped(
    claude: ClaudeHome, stops: StopDetection
):
    stops.run()

    assert read_status(claude) == "stopped"
    assert count_matches(claude, "stopped") == 1


def test_a_session_whose_process_is_gone_is_stopped(
    claude: ClaudeHome, stops: StopDetection, process: Path
):
    stops.run()
    process.unlink()
    stops.run()

    assert read_status(claude) == "stopped"


def test_the_api_tells_the_same_status(
    claude: ClaudeHome, stops: StopDetection, process: Path, clock: FakeClock
):
    stops.run()

    with open_store(claude.store_path) as store:
        (session,) = store.sessions()
    assert session.status == "active"


def test_looking_again_writes_nothing(
    claude: ClaudeHome, stops: StopDetection, process: Path
):
    stops.run()
    before = stops.store._db.total_changes
    stops.run()

    assert stops.store._db.total_changes == before


def test_a_daemon_that_stops_leaves_no_session_live(
    claude: ClaudeHome, stops: StopDetection, process: Path
):
    stops.run()
    stops.forget_live()

    assert read_status(claude) == "stopped"
