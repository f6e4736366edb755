"""`leslied forget` on the command line."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.cli import LesliedRunner
from tests.support.forget import list_holders
from tests.support.golden import FIXTURES, copy_home
from tests.support.waiting import wait_until

pytestmark = pytest.mark.e2e

SESSION_FAILPOINTS = (
    "forget.tombstones",
    "forget.files",
    "forget.removed",
    "archive.delete",
    "shrink.half",
    "prune.shrunk",
)
TEXT_FAILPOINTS = (
    "forget.sealed",
    "archive.erase",
    "forget.archive",
    "forget.half",
    "forget.rendered",
)
OLD, NEW, FORK = (f"{n:08x}-0000-4000-8000-000000000000" for n in (1, 2, 3))
TEXT = 'zanzi"bar é'
"""JSON has escapes for two of its characters."""


class Forgettable:
    """Home with a session with a subagent, and another session, in one project."""

    def __init__(self, claude: ClaudeHome, home: Path) -> None:
        self.claude, self.home = claude, home
        self.leslied = LesliedRunner(home)
        self.project = home / "app"
        (self.project / ".git").mkdir(parents=True)
        self.data = home / ".local" / "share" / "leslied"
        config = home / ".config" / "leslied" / "config.toml"
        config.parent.mkdir(parents=True)
        config.write_text('[output]\nformats = ["markdown"]\n')
        assert self.leslied("sync").code == 0
        # Sessions that are older than the store are not written to the project.
        started_at = (datetime.now(UTC) + timedelta(seconds=5)).replace(tzinfo=None)
        self.old, self.new = (
            ClaudeLogBuilder(session_id, str(self.project), started_at)
            for session_id in (OLD, NEW)
        )
        self.old_lines = [
            self.old.prompt("first question"),
            self.old.answer("first answer"),
            self.old.prompt(f"onlyold {TEXT}"),
            {"type": "api-request", "body": f"noise {TEXT}"},
            self.old.think(f"thinking {TEXT}"),
            self.old.call("Task", {"prompt": f"{TEXT}", "description": TEXT}, "c1"),
            self.old.result("c1", json.dumps({"nested": TEXT})),
            self.old.answer("second answer"),
            {"type": "ai-title", "aiTitle": f"title {TEXT}", "sessionId": OLD},
        ]
        self.write(OLD, *self.old_lines)
        with self.log(OLD).open("ab") as log:
            log.write(b"{ " + TEXT.encode() + b" is no JSON }\n")
        child = ClaudeLogBuilder(f"{OLD}/a1", str(self.project), started_at)
        child_lines = [
            child.prompt(f"child {TEXT}", isSidechain=True, agentId="a1"),
            child.answer("child onlyold answer"),
        ]
        claude.write(
            *({**line, "sessionId": OLD} for line in child_lines),
            name=f"-app/{OLD}/subagents/agent-a1.jsonl",
        )
        self.write(NEW, self.new.prompt("remaining"), self.new.answer("remains"))
        self.sync()

    def log(self, session_id: str) -> Path:
        return self.claude.log(f"-app/{session_id}.jsonl")

    def write(self, session_id: str, *lines: dict[str, Any]) -> None:
        self.claude.write(*lines, name=f"-app/{session_id}.jsonl")

    def sync(self) -> None:
        assert self.leslied("sync", "--stop-all").code == 0

    def ids(self) -> set[str]:
        return {
            s["id"] for s in self.leslied("list", "--json").json["data"]["sessions"]
        }

    def show(self, session_id: str) -> str:
        return self.leslied("export", session_id, "-f", "jsonl").out

    def holders(self, text: str = TEXT) -> list[str]:
        """Return leslied's files that hold the text."""
        return list_holders(
            text, self.home / ".local", self.home / ".config", self.project
        )


@pytest.fixture
def home_to_forget(claude: ClaudeHome, home: Path) -> Forgettable:
    return Forgettable(claude, home)


def test_without_yes_nothing_is_forgotten(home_to_forget: Forgettable):
    before = home_to_forget.holders()
    result = home_to_forget.leslied("forget", OLD)
    found = home_to_forget.leslied("forget", "--text", TEXT, "--json").json["data"]

    assert result.code == 0
    assert "cannot be undone" in result.out
    assert f"{OLD}.jsonl" in result.out
    assert found["done"] is False
    assert [session["id"] for session in found["sessions"]] == [OLD]
    assert home_to_forget.holders() == before
    assert not (home_to_forget.data / "forgotten.json").exists()


@pytest.mark.threat("S10")
def test_no_file_contains_a_forgotten_session(home_to_forget: Forgettable):
    before = home_to_forget.holders("onlyold")
    result = home_to_forget.leslied("forget", OLD[:8], "--yes", "--json").json
    log = str(home_to_forget.log(OLD))

    assert {Path(path).suffix for path in before} >= {".db", ".zst", ".txt", ".md"}
    assert result["data"]["sessions"][0]["whole"]
    assert {"kind": "log", "path": log} in result["data"]["unreachable"]
    for text in ("onlyold", TEXT, "first question"):
        assert home_to_forget.holders(text) == []
    assert home_to_forget.ids() == {NEW}


@pytest.mark.threat("S10")
def test_no_file_contains_a_forgotten_text(home_to_forget: Forgettable):
    before = home_to_forget.holders()
    result = home_to_forget.leslied("forget", "--text", TEXT, "--yes", "--json").json

    assert {Path(path).suffix for path in before} >= {".db", ".zst", ".txt", ".md"}
    assert result["warnings"] == []
    assert result["data"]["done"]
    assert result["data"]["rejected"] == 1
    assert not result["data"]["sessions"][0]["whole"]
    assert home_to_forget.holders() == []


def test_entries_without_the_text_stay(home_to_forget: Forgettable):
    home_to_forget.leslied("forget", "--text", TEXT, "--yes")
    entries = home_to_forget.show(OLD)

    assert home_to_forget.ids() == {OLD, NEW}
    for text in ("first question", "first answer", "second answer", "child onlyold"):
        assert text in entries
    transcripts = [path.read_text() for path in home_to_forget.project.rglob("*.txt")]
    assert sum("first question" in text for text in transcripts) == 1


def test_what_other_sessions_have_is_unchanged(home_to_forget: Forgettable):
    def read_other() -> list[str]:
        files = sorted(home_to_forget.project.rglob(f"*{NEW[:8]}*/**/*.txt"))
        return [home_to_forget.show(NEW), *(path.read_text() for path in files)]

    before = read_other()
    home_to_forget.leslied("forget", "--text", TEXT, "--yes")
    after_text = read_other()
    home_to_forget.leslied("forget", OLD, "--yes")

    assert len(before) == 2
    assert before == after_text == read_other()


@pytest.mark.threat("S10")
@pytest.mark.parametrize("args", [(OLD,), ("--text", TEXT)])
def test_forgotten_entries_do_not_come_back(
    home_to_forget: Forgettable, args: tuple[str, ...]
):
    home_to_forget.leslied("forget", *args, "--yes")
    expected = home_to_forget.show(OLD), home_to_forget.ids()
    copy = home_to_forget.claude.log(f"-renamed/{OLD}.jsonl")
    shutil.copy(home_to_forget.log(OLD), copy)
    home_to_forget.sync()
    after_copy = home_to_forget.show(OLD), home_to_forget.ids()
    rebuilt = home_to_forget.leslied("rebuild")
    home_to_forget.sync()

    assert after_copy == expected
    assert rebuilt.code == 0, rebuilt.err
    assert (home_to_forget.show(OLD), home_to_forget.ids()) == expected
    assert home_to_forget.holders() == []


@pytest.mark.threat("S10")
def test_a_forgotten_session_does_not_come_back_in_a_new_store(
    home_to_forget: Forgettable,
):
    home_to_forget.leslied("forget", OLD, "--yes")
    for path in home_to_forget.data.glob("store.db*"):
        path.unlink()
    shutil.rmtree(home_to_forget.data / "archive")
    home_to_forget.sync()

    assert home_to_forget.ids() == {NEW}
    assert home_to_forget.holders() == []


@pytest.mark.threat("S10")
def test_a_forgotten_session_that_goes_on_stays_forgotten(home_to_forget: Forgettable):
    home_to_forget.leslied("forget", OLD, "--yes")
    home_to_forget.write(OLD, home_to_forget.old.prompt(f"again {TEXT}"))
    with home_to_forget.log(OLD).open("ab") as log:
        log.write(b"{ again " + TEXT.encode() + b" no JSON }\n")
    home_to_forget.sync()

    assert home_to_forget.ids() == {NEW}
    assert home_to_forget.holders() == []


def test_new_entries_of_a_session_with_a_forgotten_text_are_read(
    home_to_forget: Forgettable,
):
    home_to_forget.leslied("forget", "--text", TEXT, "--yes")
    home_to_forget.write(OLD, home_to_forget.old.prompt("third question"))
    home_to_forget.sync()

    assert "third question" in home_to_forget.show(OLD)
    assert home_to_forget.holders() == []


@pytest.mark.threat("S10")
@pytest.mark.parametrize("args", [(OLD,), ("--text", TEXT)])
@pytest.mark.parametrize("is_older", [True, False])
def test_a_fork_does_not_bring_forgotten_entries_back(
    home_to_forget: Forgettable, args: tuple[str, ...], *, is_older: bool
):
    fork = ClaudeLogBuilder(FORK, str(home_to_forget.project))
    lines = [
        *({**line, "sessionId": FORK} for line in home_to_forget.old_lines),
        fork.prompt("of the fork"),
    ]
    if is_older:
        home_to_forget.write(FORK, *lines)
        home_to_forget.sync()
    result = home_to_forget.leslied("forget", *args, "--yes", "--json").json["data"]
    if not is_older:
        home_to_forget.write(FORK, *lines)
        home_to_forget.sync()

    assert result["count"] == 1 + is_older
    assert "of the fork" in home_to_forget.show(FORK)
    assert home_to_forget.holders() == []


@pytest.mark.threat("S10")
def test_a_fork_does_not_bring_back_what_a_forgotten_session_added(
    home_to_forget: Forgettable,
):
    home_to_forget.leslied("forget", OLD, "--yes")
    later = [home_to_forget.old.prompt(f"later {TEXT}")]
    home_to_forget.write(OLD, *later)
    home_to_forget.sync()
    fork = ClaudeLogBuilder(FORK, str(home_to_forget.project))
    copied = [
        {**line, "sessionId": FORK} for line in (*home_to_forget.old_lines, *later)
    ]
    home_to_forget.write(FORK, *copied, fork.prompt("of the fork"))
    home_to_forget.sync()
    (session,) = [
        session
        for session in home_to_forget.leslied("list", "--json").json["data"]["sessions"]
        if session["id"] == FORK
    ]

    assert session["project"] == str(home_to_forget.project)
    assert session["title"] == "of the fork"
    assert home_to_forget.holders() == []


def test_the_text_can_be_read_from_standard_input(home_to_forget: Forgettable):
    process = home_to_forget.leslied.start(
        "forget", "--text", "-", "--yes", stdin=-1, stdout=-1, text=True
    )
    output, _ = process.communicate(TEXT + "\n")

    assert process.returncode == 0
    assert "Forgot" in output
    assert home_to_forget.holders() == []


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (("--text", "abc"), "too short"),
        ((), "one of the two"),
        ((OLD, "--text", TEXT), "one of the two"),
        (("ffffffff",), "No session"),
    ],
)
def test_a_wrong_request_is_refused(
    home_to_forget: Forgettable, args: tuple[str, ...], sentence: str
):
    result = home_to_forget.leslied("forget", *args, "--yes")

    assert result.code == 2
    assert sentence in result.err


def test_a_text_that_no_entry_holds_is_reported(home_to_forget: Forgettable):
    result = home_to_forget.leslied("forget", "--text", "not there", "--yes")

    assert result.code == 0
    assert "No entry contains the text." in result.out


def test_forget_refuses_to_run_next_to_the_daemon(home_to_forget: Forgettable):
    daemon = home_to_forget.leslied.start("run")
    try:
        # Only read the file: taking the lock could block the daemon.
        lock = home_to_forget.data / "writer.lock"
        wait_until(lambda: str(daemon.pid) in lock.read_text())
        planned = home_to_forget.leslied("forget", OLD)
        refused = home_to_forget.leslied("forget", OLD, "--yes")
    finally:
        daemon.terminate()
        daemon.wait()

    assert planned.code == 0
    assert refused.code == 4
    assert "Stop it first" in refused.err
    assert home_to_forget.ids() == {OLD, NEW}


@pytest.mark.heavy
@pytest.mark.threat("S10")
@pytest.mark.parametrize("failpoint", SESSION_FAILPOINTS)
def test_after_a_crash_a_second_run_forgets_the_session(
    home_to_forget: Forgettable, failpoint: str
):
    crashed = home_to_forget.leslied("forget", OLD, "--yes", LESLIED_CRASH_AT=failpoint)
    home_to_forget.sync()
    result = home_to_forget.leslied("forget", OLD, "--yes")

    assert f"crash at {failpoint}" in crashed.err
    assert result.code == 0, result.err
    assert home_to_forget.ids() == {NEW}
    assert home_to_forget.holders("onlyold") == []


@pytest.mark.heavy
@pytest.mark.threat("S10")
@pytest.mark.parametrize("failpoint", TEXT_FAILPOINTS)
def test_after_a_crash_a_second_run_forgets_the_text(
    home_to_forget: Forgettable, failpoint: str
):
    args = ("forget", "--text", TEXT, "--yes")
    crashed = home_to_forget.leslied(*args, LESLIED_CRASH_AT=failpoint)
    home_to_forget.sync()
    result = home_to_forget.leslied(*args)

    assert f"crash at {failpoint}" in crashed.err
    assert result.code == 0, result.err
    assert home_to_forget.ids() == {OLD, NEW}
    assert home_to_forget.holders() == []


@pytest.mark.threat("S10")
def test_hook_files_and_messages_are_forgotten(home_to_forget: Forgettable):
    hooks = home_to_forget.data / "hooks"
    (hooks / "given").mkdir(parents=True, exist_ok=True)
    (hooks / "spool").mkdir(exist_ok=True)
    (hooks / "given" / f"{OLD}.json").write_text('{"context": "onlyold plan"}')
    other = hooks / "given" / f"{NEW}.json"
    other.write_text('{"context": "new plan"}')
    thread = f"thread-{OLD[:8]}"
    assert home_to_forget.leslied("inject", thread, "onlyold message").code == 0
    home_to_forget.leslied("forget", OLD, "--yes")

    assert home_to_forget.holders("onlyold") == []
    assert other.exists()


def test_a_session_of_a_database_is_forgotten(home: Path):
    copy_home(FIXTURES / "opencode" / "fork", home)
    leslied = LesliedRunner(home)
    leslied("sync", "--stop-all")
    first, *others = leslied("list", "--json").json["data"]["sessions"]
    assert leslied("forget", first["id"], "--yes").code == 0

    for command in ("sync", "rebuild", "sync"):
        assert leslied(command).code == 0
        sessions = leslied("list", "--json").json["data"]["sessions"]
        assert [s["id"] for s in sessions] == [s["id"] for s in others], command


def test_files_of_agents_and_people_stay(home_to_forget: Forgettable):
    folder = home_to_forget.project / ".leslie" / "threads" / f"thread-{OLD[:8]}"
    plan = folder / "plan.md"
    plan.write_text(f"# {TEXT}\n")
    home_to_forget.sync()
    result = home_to_forget.leslied("forget", "--text", TEXT, "--yes", "--json").json

    assert plan.exists()
    remaining = [
        e["path"] for e in result["data"]["unreachable"] if e["kind"] == "asset"
    ]
    assert str(plan) in remaining
