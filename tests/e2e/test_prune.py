"""`leslied prune` and `leslied disk` on the command line."""

from __future__ import annotations

import json
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from leslied.hooks.respond import respond
from tests.support.claude import AFTER_STORE_CREATION, ClaudeHome, ClaudeLogBuilder
from tests.support.cli import LesliedRunner
from tests.support.golden import FIXTURES, copy_home
from tests.support.prune import list_files_containing
from tests.support.waiting import wait_until

pytestmark = pytest.mark.e2e

FAILPOINTS = (
    "prune.half",
    "prune.before",
    "prune.after",
    "archive.delete",
    "shrink.half",
    "prune.shrunk",
)
SESSION_IDS = [f"{n:08x}-0000-4000-8000-000000000000" for n in range(4)]
"""Newest session first; tests prune the last two."""


class FourSessions:
    """Home with four sessions, one day apart."""

    def __init__(self, claude: ClaudeHome, home: Path) -> None:
        self.leslied = LesliedRunner(home)
        self.project = home / "app"
        (self.project / ".git").mkdir(parents=True)
        self.data = home / ".local" / "share" / "leslied"
        assert self.leslied("sync").code == 0
        for days, session_id in enumerate(SESSION_IDS):
            builder = ClaudeLogBuilder(session_id, str(self.project))
            timestamp = (datetime.now(UTC) - timedelta(days=days, hours=1)).isoformat()
            claude.write(
                builder.prompt(f"marker{days}x {'long ' * 900}", timestamp=timestamp),
                {**builder.answer(f"answer{days}x"), "timestamp": timestamp},
                name=f"-app/{session_id}.jsonl",
            )
        assert self.leslied("sync", "--stop-all").code == 0

    def ids(self) -> set[str]:
        return {
            s["id"] for s in self.leslied("list", "--json").json["data"]["sessions"]
        }

    def transcripts(self) -> list[Path]:
        return [*self.data.rglob("*.txt"), *self.project.rglob("*.txt")]


@pytest.fixture
def four_sessions(claude: ClaudeHome, home: Path) -> FourSessions:
    return FourSessions(claude, home)


def test_prune_is_a_dry_run_without_yes(four_sessions: FourSessions):
    result = four_sessions.leslied("prune", "--keep", "2")

    assert result.code == 0
    assert "2 sessions would be deleted" in result.out
    assert "leslied prune --keep 2 --yes" in result.out
    assert four_sessions.ids() == set(SESSION_IDS)


def test_the_dry_run_suggests_an_export_with_the_same_filter(
    four_sessions: FourSessions,
):
    output = four_sessions.leslied("prune", "--keep", "2", "--project", "app").out
    (line,) = [line for line in output.splitlines() if "To export first" in line]

    assert line.endswith("leslied export --all --project app -f jsonl -o FOLDER")


def test_pruned_sessions_do_not_come_back(four_sessions: FourSessions):
    result = four_sessions.leslied("prune", "--keep", "2", "--yes", "--json")
    report = result.json["data"]

    assert {session["id"] for session in report["sessions"]} == set(SESSION_IDS[2:])
    assert report["archive_files_removed"] == 2
    assert four_sessions.ids() == set(SESSION_IDS[:2])
    assert four_sessions.leslied("sync").code == 0
    assert four_sessions.ids() == set(SESSION_IDS[:2])
    assert four_sessions.leslied("rebuild").code == 0
    assert four_sessions.ids() == set(SESSION_IDS[:2])
    assert len(four_sessions.transcripts()) == 4


def test_the_next_sync_updates_the_projects_index(four_sessions: FourSessions):
    index = next(four_sessions.data.rglob("INDEX.md"))
    before = index.read_text()
    four_sessions.leslied("prune", "--keep", "1", "--yes")
    four_sessions.leslied("sync")

    assert "marker1x" in before
    assert "marker0x" in index.read_text()
    assert "marker1x" not in index.read_text()


def test_one_session_of_a_database_can_be_pruned(home: Path):
    """Its rows stay in the agent's database, but are not read again."""
    copy_home(FIXTURES / "opencode" / "fork", home)
    leslied = LesliedRunner(home)
    leslied("sync", "--stop-all")
    report = leslied("prune", "--keep", "1", "--failed", "--yes", "--json").json["data"]
    (remaining,) = leslied("list", "--json").json["data"]["sessions"]

    assert report["count"] == 1
    for command in ("sync", "rebuild"):
        leslied(command)
        (session,) = leslied("list", "--json").json["data"]["sessions"]
        assert session["id"] == remaining["id"], command


def test_transcripts_are_removed_on_request_unless_modified(
    four_sessions: FourSessions,
):
    (modified,) = [
        path for path in four_sessions.transcripts() if "marker3x" in path.name
    ]
    modified.write_text("mine")
    result = four_sessions.leslied(
        "prune", "--keep", "2", "--transcripts", "--yes", "--json"
    ).json

    assert result["data"]["transcripts_removed"] == 1
    assert modified.name in result["warnings"][0]
    assert modified.read_text() == "mine"
    assert len(four_sessions.transcripts()) == 3


def test_nothing_is_removed_without_a_criterion(four_sessions: FourSessions):
    result = four_sessions.leslied("prune", "--yes")

    assert result.code == 2
    assert "--older-than 90d" in result.err


def test_prune_refuses_to_run_next_to_another_writer(four_sessions: FourSessions):
    daemon = four_sessions.leslied.start("run")
    try:
        # Only read the file: taking the lock could block the daemon.
        lock = four_sessions.data / "writer.lock"
        wait_until(lambda: str(daemon.pid) in lock.read_text())
        result = four_sessions.leslied("prune", "--keep", "0", "--yes")
    finally:
        daemon.terminate()
        daemon.wait()

    assert result.code == 4
    assert "Stop it first" in result.err
    assert four_sessions.ids() == set(SESSION_IDS)


@pytest.mark.heavy
@pytest.mark.parametrize("failpoint", FAILPOINTS)
def test_after_a_crash_sessions_are_complete_or_gone_and_a_second_run_finishes(
    four_sessions: FourSessions, failpoint: str
):
    crashed = four_sessions.leslied(
        "prune", "--keep", "2", "--yes", LESLIED_CRASH_AT=failpoint
    )
    db = sqlite3.connect(four_sessions.data / "store.db")
    integrity = db.execute("PRAGMA integrity_check").fetchall()
    db.close()
    searches = [
        four_sessions.leslied("search", f"marker{number}x", "--json").json["data"]
        for number in range(len(SESSION_IDS))
    ]
    found_ids = {
        session_id
        for session_id, search in zip(SESSION_IDS, searches, strict=True)
        if search["hits"]
    }

    assert f"crash at {failpoint}" in crashed.err
    assert integrity == [("ok",)]
    assert found_ids == four_sessions.ids()
    assert four_sessions.leslied("prune", "--keep", "2", "--yes").code == 0
    assert four_sessions.ids() == set(SESSION_IDS[:2])
    assert list_files_containing(four_sessions.data / "archive", "marker3x") == []
    assert "marker3x" not in _read_store_as_text(four_sessions.data / "store.db")


def _read_store_as_text(path: Path) -> str:
    """Return the bytes of the store and its WAL, each byte as one character."""
    paths = [path, *(path.with_name(path.name + suffix) for suffix in ("-wal", "-shm"))]
    return "".join(p.read_bytes().decode("latin-1") for p in paths if p.exists())


def test_disk_shows_the_size_of_store_archive_and_sessions(four_sessions: FourSessions):
    usage = four_sessions.leslied("disk", "--json").json["data"]
    result = four_sessions.leslied("disk")

    assert usage["bytes"]["store"] == (four_sessions.data / "store.db").stat().st_size
    assert usage["bytes"]["archive"] > 0
    assert {session["id"] for session in usage["sessions"]} == set(SESSION_IDS)
    assert result.code == 0
    assert SESSION_IDS[0][:8] in result.out


class CanarySession:
    """A session whose title, prompt, answer and plan contain a canary."""

    def __init__(self, claude: ClaudeHome, home: Path) -> None:
        self.home, self.claude = home, claude
        self.leslied = LesliedRunner(home)
        self.project = home / "app"
        (self.project / ".git").mkdir(parents=True)
        self.data = home / ".local/share/leslied"
        config = home / ".config/leslied/config.toml"
        config.parent.mkdir(parents=True)
        config.write_text('[output]\nformats = ["html", "devflow"]\n')
        self.write(SESSION_IDS[0], "quietword", AFTER_STORE_CREATION)
        before = AFTER_STORE_CREATION - timedelta(days=1)
        self.log = self.write(SESSION_IDS[1], "canaryword", before)
        assert self.leslied("sync", "--stop-all").code == 0
        self.call_hook()

    def write(self, session_id: str, word: str, started_at: datetime) -> Path:
        builder = ClaudeLogBuilder(session_id, str(self.project), started_at)
        todos = [{"content": f"{word} to do", "status": "pending"}]
        return self.claude.write(
            builder.prompt(f"{word} in the title"),
            builder.call("TodoWrite", {"todos": todos}, "toolu_1"),
            builder.result("toolu_1", f"{word} result"),
            builder.answer(f"{word} answer"),
            name=f"-app/{session_id}.jsonl",
        )

    def call_hook(self) -> None:
        """Have a hook save the context, which names the transcripts."""
        event = {
            "hook_event_name": "SessionStart",
            "session_id": SESSION_IDS[1],
            "transcript_path": str(self.log),
            "cwd": str(self.project),
        }
        respond(str(self.data), json.dumps(event).encode(), 1)

    def list_holders(self, word: str) -> set[str]:
        """Return the files of leslied with the word in their name or content."""
        return {
            name
            for folder in (self.data, self.project, self.home / ".local/state")
            for name in (
                *list_files_containing(folder, word),
                *(path.name for path in folder.rglob("*") if word in path.name),
            )
        }


@pytest.fixture
def canary_session(claude: ClaudeHome, home: Path) -> CanarySession:
    return CanarySession(claude, home)


@pytest.mark.threat("S10")
def test_pruning_a_session_and_its_transcripts_leaves_no_text(
    canary_session: CanarySession,
):
    before = canary_session.list_holders("canaryword")
    result = canary_session.leslied("prune", "--keep", "1", "--transcripts", "--yes")

    assert result.code == 0
    assert before >= {
        "INDEX.md",
        "index.json",
        "assets.json",
        "progress.md",
        "thread_relations.json",
        "store.db",
    }
    assert not canary_session.list_holders("canaryword")
    assert "quietword" in (canary_session.project / ".leslie/INDEX.md").read_text()
    canary_session.leslied("sync", "--stop-all")
    assert not canary_session.list_holders("canaryword")


@pytest.mark.threat("S10")
def test_nothing_remains_of_the_last_session(canary_session: CanarySession):
    canary_session.leslied("prune", "--keep", "0", "--transcripts", "--yes")

    assert not canary_session.list_holders("canaryword")
    assert not canary_session.list_holders("quietword")
    assert not (canary_session.project / ".leslie/INDEX.md").exists()


def test_pruned_text_stays_only_in_files_of_the_thread_if_transcripts_stay(
    canary_session: CanarySession,
):
    canary_session.leslied("prune", "--keep", "1", "--yes")
    holders = canary_session.list_holders("canaryword")

    assert not holders & {"INDEX.md", "index.json"}
    assert holders >= {"thread_relations.json", "assets.json"}
    assert any(name.endswith(".txt") for name in holders)
    assert not list_files_containing(canary_session.data, "canaryword")
