"""Hooks, inbox and resume on the command line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from leslied.hooks.settings import EVENTS
from tests.support.claude import (
    AFTER_STORE_CREATION,
    SESSION,
    ClaudeHome,
    ClaudeLogBuilder,
)
from tests.support.cli import LesliedRunner
from tests.support.daemon import Daemon
from tests.support.hooks import THREAD
from tests.support.waiting import wait_until

pytestmark = pytest.mark.e2e


@pytest.fixture
def leslied(home: Path) -> LesliedRunner:
    return LesliedRunner(home)


@pytest.fixture
def project(home: Path) -> Path:
    folder = home / "app"
    (folder / ".git").mkdir(parents=True)
    return folder


@pytest.fixture
def written_session(claude: ClaudeHome, project: Path) -> ClaudeLogBuilder:
    """Write a session whose last tool call has no result; return its builder."""
    builder = ClaudeLogBuilder(cwd=str(project), started_at=AFTER_STORE_CREATION)
    claude.write(
        builder.prompt("fix the login bug"),
        builder.answer("I look at it.", stop_reason="tool_use"),
        builder.call("Bash", {"command": "make test"}, "toolu_1"),
    )
    return builder


def call_hook(home: Path, name: str, **fields: Any) -> str:
    """Run a hook from the agent's settings and return the injected context."""
    settings = json.loads((home / ".claude/settings.json").read_text())
    (group,) = settings["hooks"][name]
    log = home / f".claude/projects/-home-dev-app/{SESSION}.jsonl"
    event = {
        "hook_event_name": name,
        "session_id": SESSION,
        "transcript_path": str(log),
        "cwd": str(home / "app"),
        **fields,
    }
    result = subprocess.run(
        ["/bin/sh", "-c", group["hooks"][0]["command"]],
        input=json.dumps(event).encode(),
        env={"HOME": str(home), "PATH": os.environ["PATH"]},
        capture_output=True,
        check=True,
    )
    assert result.stderr == b""
    if not result.stdout:
        return ""
    return json.loads(result.stdout)["hookSpecificOutput"]["additionalContext"]


def get_message_state(leslied: LesliedRunner) -> str:
    """Return the state of the first message in the thread's inbox."""
    messages = leslied("inbox", THREAD[:9], "--json").json["data"]["messages"]
    return str(messages[0]["state"])


def test_hooks_installed_in_the_home_folder_are_not_reported_twice(
    leslied: LesliedRunner, home: Path
):
    leslied.cwd = home

    result = leslied("hooks", "install")

    assert "twice" not in result.out + result.err


def test_uninstalling_hooks_restores_the_settings_file(
    leslied: LesliedRunner, home: Path
):
    settings_file = home / ".claude/settings.json"
    settings_file.parent.mkdir()
    before = b'\xef\xbb\xbf{\r\n   "model" : "opus" ,\r\n   "x": [ ]\r\n}'
    settings_file.write_bytes(before)

    assert "installed in ~/.claude/settings.json" in leslied("hooks", "install").out
    assert "already" in leslied("hooks", "install").out
    status = leslied("hooks", "status", "--json").json["data"]["settings"]
    assert status[0] == {
        "scope": "user",
        "path": str(settings_file),
        "installed": True,
        "trouble": None,
    }
    settings = json.loads(settings_file.read_bytes().decode("utf-8-sig"))
    assert set(settings["hooks"]) == set(EVENTS)

    assert "were removed" in leslied("hooks", "uninstall").out
    assert settings_file.read_bytes() == before
    assert "No hooks" in leslied("hooks", "uninstall").out


def test_invalid_settings_are_not_modified(leslied: LesliedRunner, home: Path):
    settings_file = home / ".claude/settings.json"
    settings_file.parent.mkdir()
    settings_file.write_text('{"model": }')

    result = leslied("hooks", "install")

    assert result.code == 2
    assert "not valid JSON (line 1)" in result.err
    assert f"Correct the file first: {settings_file}" in result.err
    assert settings_file.read_text() == '{"model": }'


def test_a_message_is_queued_claimed_and_delivered(
    leslied: LesliedRunner,
    home: Path,
    claude: ClaudeHome,
    written_session: ClaudeLogBuilder,
):
    leslied("hooks", "install")
    leslied("sync")

    sent = leslied("inject", "last", "Mind the gap.", "--json").json["data"]
    assert sent["thread_id"] == THREAD
    assert get_message_state(leslied) == "queued"
    context = call_hook(home, "UserPromptSubmit", prompt="go on", prompt_id="p1")
    assert "Mind the gap." in context
    assert get_message_state(leslied) == "claimed"
    call_hook(home, "UserPromptSubmit", prompt="go on", prompt_id="p1")
    claude.write(
        written_session.line("attachment", attachment={"content": [sent["id"]]})
    )

    (row,) = leslied("inbox").out.split("\n")[1:2]
    assert row.split()[:3] == [sent["id"], THREAD, "delivered"]


def test_inject_warns_for_a_session_outside_of_a_project(
    leslied: LesliedRunner, claude: ClaudeHome
):
    builder = ClaudeLogBuilder(cwd=str(leslied.home / "nowhere"))
    claude.write(builder.prompt("Go."), name=f"-nowhere/{SESSION}.jsonl")
    leslied("sync")

    result = leslied("inject", "last", "hello")

    assert result.code == 0
    assert "leslied hooks install" in result.err


@pytest.mark.usefixtures("written_session")
def test_inject_warns_when_no_hook_is_installed(leslied: LesliedRunner):
    leslied("sync")

    warning = leslied("inject", "last", "hello").err
    leslied("hooks", "install")

    assert "leslied hooks install" in warning
    assert leslied("inject", "last", "hello").err == ""


@pytest.mark.parametrize("text", ["", "  ", "x" * 8001])
@pytest.mark.usefixtures("written_session")
def test_an_empty_or_too_long_message_is_refused(leslied: LesliedRunner, text: str):
    leslied("sync")

    result = leslied("inject", "last", text)

    assert result.code == 2
    assert "characters" in result.err


@pytest.mark.usefixtures("written_session")
def test_an_unknown_thread_is_reported(leslied: LesliedRunner):
    leslied("sync")

    for args in (("inject", "nobody", "x"), ("inbox", "nobody"), ("resume", "nobody")):
        result = leslied(*args)
        assert result.code == 2
        assert "nobody" in result.err


@pytest.mark.usefixtures("written_session")
def test_resume_prints_a_brief_for_the_next_agent(
    leslied: LesliedRunner, project: Path
):
    folder = project / ".leslie/threads" / THREAD
    folder.mkdir(parents=True)
    (folder / "progress.md").write_text("# Progress\n- [x] read\n- [ ] write tests\n")
    leslied("sync", "--stop-all")

    brief = leslied("resume", "last")

    assert brief.code == 0
    lines = [line for line in brief.out.split("\n") if "Last answer" not in line]
    assert lines[0] == f"# Continue {THREAD}"
    assert "> fix the login bug" in lines
    assert (
        f'  <asset type="progress" path=".leslie/threads/{THREAD}/progress.md" />'
        in lines
    )
    assert '> - Bash {"command":"make test"}' in brief.out.replace('": "', '":"')
    assert "> - write tests" in lines
    assert f"> cd {project} && claude --resume {SESSION}" in lines
    data = leslied("resume", "last", "--json").json["data"]
    assert data["last_unit"]["prompt"] == "fix the login bug"
    assert data["last_unit"]["answer"] == "I look at it."
    assert [call["tool_name"] for call in data["unanswered"]] == ["Bash"]


def get_session_status(leslied: LesliedRunner) -> str:
    sessions = leslied("list", "--json").json["data"]["sessions"]
    return str(sessions[0]["status"])


def test_the_daemon_processes_hook_events(
    leslied: LesliedRunner, home: Path, claude: ClaudeHome, project: Path
):
    leslied("hooks", "install")
    builder = ClaudeLogBuilder(cwd=str(project), started_at=AFTER_STORE_CREATION)
    claude.write(builder.prompt("one"), builder.answer("two"))
    daemon = Daemon(home)
    try:
        wait_until(lambda: daemon.prompts() == ["one"])
        call_hook(home, "SessionEnd", reason="other")
        # Without the hook, the session would stop after ten minutes of silence.
        wait_until(lambda: get_session_status(leslied) == "stopped")
    finally:
        daemon.end(signal.SIGTERM)
    assert not list((home / ".local/share/leslied/hooks/spool").iterdir())
