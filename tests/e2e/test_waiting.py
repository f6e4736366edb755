"""Agents that wait for the user, as commands and the page learn of it."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from leslied.model.session import Activity
from leslied.store import Store
from leslied.web.live import ChangeFinder
from tests.support.claude import SESSION, ClaudeHome, ClaudeLogBuilder
from tests.support.cli import LesliedRunner
from tests.support.daemon import Daemon
from tests.support.queries import make_home_with_session
from tests.support.waiting import wait_until

pytestmark = pytest.mark.e2e


def test_a_dialog_that_opens_while_the_daemon_runs_is_shown(
    home: Path, claude: ClaudeHome
):
    """The folder of the registry need not exist when the daemon starts."""
    builder = ClaudeLogBuilder()
    claude.write(builder.prompt("remove it"), builder.call("Bash", {}, "c1"))
    leslied = LesliedRunner(home)
    assert leslied("sync").code == 0
    daemon = Daemon(home)
    fields = {"sessionId": SESSION, "pid": os.getpid(), "status": "waiting"}
    file = home / ".claude/sessions/1.json"
    file.parent.mkdir()
    file.write_text(json.dumps(fields | {"waitingFor": "permission prompt"}))

    def list_waiting() -> list[str]:
        waiting = leslied("status", "--json").json["data"]["waiting"]
        return [session["waiting_for"] for session in waiting]

    wait_until(lambda: list_waiting() == ["permission"])
    assert "waits: permission" in leslied("list").out
    assert "waits for your permission: remove it" in leslied("status").out
    (session,) = leslied("list", "--json").json["data"]["sessions"]
    assert (session["status"], session["waiting_for"]) == ("active", "permission")
    file.unlink()
    wait_until(lambda: list_waiting() == [])
    daemon.end(signal.SIGTERM)


def test_open_pages_learn_that_a_session_waits(claude: ClaudeHome):
    changes = ChangeFinder()
    with make_home_with_session(claude).open_queries() as queries:
        changes.find(queries)
        with Store(claude.store_path, claude.clock) as store:
            store.mark_waiting({("claude-code", SESSION): Activity("question", 2**52)})

        events = changes.find(queries)

    assert events == [{"type": "sessions", "ids": [SESSION]}]
