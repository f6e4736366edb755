"""Hooks, inbox and resume, as a person uses them."""

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
def talk(claude: ClaudeHome, project: Path) -> ClaudeLogBuilder:
    talk = ClaudeLogBuilder(cwd=str(project), started_at=AFTER_STORE_CREATION)
    claude.write(
        talk.prompt("fix the login bug"),
        talk.answer("I look at it.", stop_reason="tool_use"),
        talk.call("Bash", {"command": "make test"}, "toolu_1"),
    )
    return talk


def call_hook(home: Path, name: str, **fields: Any) -> str:
    """What the agent does with our entry in its settings."""
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
    done = subprocess.run(
        ["/bin/sh", "-c", group["hooks"][0]["command"]],
        input=json.dumps(event).encode(),
        env={"HOME": str(home), "PATH": os.environ["PATH"]},
        capture_output=True,
        check=True,
    )
    assert done.stderr == b""
    if not done.stdout:
        return ""
    return json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]


def test_hooks_come_and_go_without_a_trace(leslied: LesliedRunner, home: Path):
    file = home / ".claude/settings.json"
    file.parent.mkdir()
    before = b'\xef\xbb\xbf{\r\n   "model" : "opus" ,\r\n   "x": [ ]\r\n}'
    file.write_bytes(before)

    assert "hooks are in ~/.claude/settings.json" in leslied("hooks", "install").out
    assert "already" in leslied("hooks", "install").out
    status = leslied("hooks", "status", "--json").json["data"]["settings"]
    assert status[0] == {
        "scope": "user",
        "path": str(file),
        "installed": True,
        "trouble": None,
    }
    told = json.loads(file.read_bytes().decode("utf-8-sig"))
    assert set(told["hooks"]) == set(EVENTS)

    assert "gone" in leslied("hooks", "uninstall").out
    assert file.read_bytes() == before
    assert "no hooks" in leslied("hooks", "uninstall").out


def test_settings_that_are_no_json_are_left_alone(leslied: LesliedRunner, home: Path):
    file = home / ".claude/settings.json"
    file.parent.mkdir()
    file.write_text('{"model": }')

    done = leslied("hooks", "install")

    assert done.code == 2
    assert "not valid JSON (line 1)" in done.err
    assert f"Mend it first: {file}" in done.err
    assert file.read_text() == '{"model": }'


def test_a_message_is_queued_claimed_and_delivered(
    leslied: LesliedRunner, home: Path, claude: ClaudeHome, talk: ClaudeLogBuilder
):
    leslied("hooks", "install")
    leslied("sync")

    sent = leslied("inject", "last", "Mind the gap.", "--json").json["data"]
    assert sent["thread_id"] == THREAD
    states = []
    for _ in range(2):
        told = leslied("inbox", THREAD[:9], "--json").json["data"]["messages"]
        states.append(told[0]["state"])
        said = call_hook(home, "UserPromptSubmit", prompt="go on", prompt_id="p1")
        if len(states) == 1:
            assert "Mind the gap." in said
    claude.write(talk.line("attachment", attachment={"content": [sent["id"]]}))

    assert states == ["queued", "claimed"]
    (row,) = leslied("inbox").out.split("\n")[1:2]
    assert row.split()[:3] == [sent["id"], THREAD, "delivered"]


def test_a_message_that_no_hook_can_bring_is_told(
    leslied: LesliedRunner, talk: ClaudeLogBuilder
):
    leslied("sync")

    warned = leslied("inject", "last", "hello").err
    leslied("hooks", "install")

    assert "leslied hooks install" in warned
    assert leslied("inject", "last", "hello").err == ""


@pytest.mark.parametrize("text", ["", "  ", "x" * 8001])
def test_a_message_has_a_measure(
    leslied: LesliedRunner, talk: ClaudeLogBuilder, text: str
):
    leslied("sync")

    done = leslied("inject", "last", text)

    assert (done.code, "characters" in done.err) == (2, True)


def test_an_unknown_thread_is_a_sentence(
    leslied: LesliedRunner, talk: ClaudeLogBuilder
):
    leslied("sync")

    for words in (("inject", "nobody", "x"), ("inbox", "nobody"), ("resume", "nobody")):
        done = leslied(*words)
        assert (done.code, "nobody" in done.err) == (2, True)


def test_resume_tells_the_next_agent_where_it_stands(
    leslied: LesliedRunner, talk: ClaudeLogBuilder, project: Path
):
    folder = project / ".leslie/threads" / THREAD
    folder.mkdir(parents=True)
    (folder / "progress.md").write_text("# Progress\n- [x] read\n- [ ] write tests\n")
    leslied("sync", "--stop-all")

    brief = leslied("resume", "last")

    assert brief.code == 0
    shown = [line for line in brief.out.split("\n") if "The last answer" not in line]
    assert shown[0] == f"# Go on with {THREAD}: fix the login bug"
    assert (
        f'  <asset type="progress" path=".leslie/threads/{THREAD}/progress.md" />'
        in (shown)
    )
    assert '- Bash {"command":"make test"}' in brief.out.replace('": "', '":"')
    assert "- write tests" in shown
    assert f"- cd {project} && claude --resume {SESSION}" in shown
    plain = leslied("resume", "last", "--json").json["data"]
    assert plain["last_unit"]["prompt"] == "fix the login bug"
    assert plain["last_unit"]["answer"] == "I look at it."
    assert [each["tool_name"] for each in plain["unanswered"]] == ["Bash"]


def test_a_daemon_hears_what_hooks_tell(
    leslied: LesliedRunner, home: Path, claude: ClaudeHome, project: Path
):
    leslied("hooks", "install")
    talk = ClaudeLogBuilder(cwd=str(project), started_at=AFTER_STORE_CREATION)
    claude.write(talk.prompt("one"), talk.answer("two"))
    daemon = Daemon(home)
    try:
        wait_until(lambda: daemon.prompts() == ["one"])
        call_hook(home, "SessionEnd", reason="other")
        status = lambda: leslied("list", "--json").json["data"]["sessions"][0]["status"]  # noqa: E731
        # Without the hook it would count as stopped after ten quiet minutes.
        wait_until(lambda: status() == "stopped")
    finally:
        daemon.end(signal.SIGTERM)
    assert not list((home / ".local/share/leslied/hooks/spool").iterdir())
