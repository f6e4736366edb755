"""`leslied prune` and `leslied disk`, as people and scripts use them."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.cli import LesliedRunner
from tests.support.golden import FIXTURES, copy_home
from tests.support.prune import list_files_containing
from tests.support.waiting import wait_until

pytestmark = pytest.mark.e2e

POINTS = (
    "prune.half",
    "prune.before",
    "prune.after",
    "sweep.half",
    "shrink.half",
    "prune.shrunk",
)
ALL = [f"{n:08x}-0000-4000-8000-000000000000" for n in range(4)]
"""The first is the newest; the last two will go."""


class FourSessions:
    """Four sessions, a day apart."""

    def __init__(self, claude: ClaudeHome, home: Path) -> None:
        self.leslied = LesliedRunner(home)
        self.project = home / "app"
        (self.project / ".git").mkdir(parents=True)
        self.data = home / ".local" / "share" / "leslied"
        assert self.leslied("sync").code == 0
        for days, session_id in enumerate(ALL):
            talk = ClaudeLogBuilder(session_id, str(self.project))
            at = (datetime.now(UTC) - timedelta(days=days, hours=1)).isoformat()
            claude.write(
                talk.prompt(f"marker{days}x {'long ' * 900}", timestamp=at),
                {**talk.answer(f"answer{days}x"), "timestamp": at},
                name=f"-app/{session_id}.jsonl",
            )
        assert self.leslied("sync", "--stop-all").code == 0

    def ids(self) -> set[str]:
        return {
            s["id"] for s in self.leslied("list", "--json").json["data"]["sessions"]
        }

    def transcripts(self) -> list[str]:
        found = self.data.rglob("*.txt"), self.project.rglob("*.txt")
        return sorted(path.name for files in found for path in files)


@pytest.fixture
def four(claude: ClaudeHome, home: Path) -> FourSessions:
    return FourSessions(claude, home)


def test_it_is_only_shown_until_somebody_says_yes(four: FourSessions):
    shown = four.leslied("prune", "--keep", "2")

    assert shown.code == 0
    assert "2 sessions would go" in shown.out
    assert "leslied prune --keep 2 --yes" in shown.out
    assert four.ids() == set(ALL)


def test_those_of_a_project_can_be_had_elsewhere_first(four: FourSessions):
    shown = four.leslied("prune", "--keep", "2", "--project", "app").out
    (line,) = [line for line in shown.splitlines() if "elsewhere" in line]

    assert line.endswith("leslied export --all --project app -f jsonl -o FOLDER")


def test_with_yes_it_is_done_and_stays_done(four: FourSessions):
    done = four.leslied("prune", "--keep", "2", "--yes", "--json").json["data"]

    assert {each["id"] for each in done["sessions"]} == set(ALL[2:])
    assert done["archive_files_removed"] == 2
    assert four.ids() == set(ALL[:2])
    assert four.leslied("sync").code == 0
    assert four.ids() == set(ALL[:2])
    assert four.leslied("rebuild").code == 0
    assert four.ids() == set(ALL[:2])
    assert len(four.transcripts()) == 4


def test_the_projects_index_follows_at_the_next_sync(four: FourSessions):
    index = next(four.data.rglob("INDEX.md"))
    before = index.read_text()
    four.leslied("prune", "--keep", "1", "--yes")
    four.leslied("sync")

    assert "marker1x" in before
    assert "marker0x" in index.read_text()
    assert "marker1x" not in index.read_text()


def test_one_session_of_a_database_can_go(home: Path):
    """Its rows still stand in the agent's own database."""
    copy_home(FIXTURES / "opencode" / "fork", home)
    leslied = LesliedRunner(home)
    leslied("sync", "--stop-all")
    done = leslied("prune", "--keep", "1", "--failed", "--yes", "--json").json["data"]
    left = [leslied("list", "--json").json["data"]["sessions"]]
    for again in ("sync", "rebuild"):
        leslied(again)
        left.append(leslied("list", "--json").json["data"]["sessions"])

    assert done["count"] == 1
    assert [[each["id"] for each in found] for found in left] == [
        [left[0][0]["id"]]
    ] * 3


def test_transcripts_go_when_asked_for_unless_somebody_changed_them(four: FourSessions):
    found = [*four.project.rglob("*.txt"), *four.data.rglob("*.txt")]
    (changed,) = [path for path in found if "marker3x" in path.name]
    changed.write_text("mine")
    told = four.leslied("prune", "--keep", "2", "--transcripts", "--yes", "--json").json

    assert told["data"]["transcripts_removed"] == 1
    assert changed.name in told["warnings"][0]
    assert changed.read_text() == "mine"
    assert len(four.transcripts()) == 3


def test_nothing_is_removed_without_a_criterion(four: FourSessions):
    told = four.leslied("prune", "--yes")

    assert told.code == 2
    assert "--older-than 90d" in told.err


def test_another_writer_is_told_and_nothing_is_removed(four: FourSessions):
    daemon = four.leslied.start("run")
    try:
        # To read is enough: whoever tried the lock could be in the daemon's way.
        lock = four.data / "writer.lock"
        wait_until(lambda: str(daemon.pid) in lock.read_text())
        told = four.leslied("prune", "--keep", "0", "--yes")
    finally:
        daemon.terminate()
        daemon.wait()

    assert told.code == 4
    assert "Stop it first" in told.err
    assert four.ids() == set(ALL)


@pytest.mark.parametrize("point", POINTS)
def test_a_crash_leaves_each_session_there_or_gone_and_the_next_run_ends_it(
    four: FourSessions, point: str
):
    crashed = four.leslied("prune", "--keep", "2", "--yes", LESLIED_CRASH_AT=point)
    db = sqlite3.connect(four.data / "store.db")
    sound = db.execute("PRAGMA integrity_check").fetchall()
    db.close()
    found = {
        each: bool(four.leslied("search", f"marker{n}x", "--json").json["data"]["hits"])
        for n, each in enumerate(ALL)
    }

    assert f"crash at {point}" in crashed.err
    assert sound == [("ok",)]
    assert {each for each, is_found in found.items() if is_found} == four.ids()
    assert four.leslied("prune", "--keep", "2", "--yes").code == 0
    assert four.ids() == set(ALL[:2])
    assert list_files_containing(four.data / "archive", "marker3x") == []
    assert "marker3x" not in _raw(four.data / "store.db")


def _raw(path: Path) -> str:
    sides = [path, *(path.with_name(path.name + side) for side in ("-wal", "-shm"))]
    return "".join(p.read_bytes().decode("latin-1") for p in sides if p.exists())


def test_disk_tells_where_the_room_goes(four: FourSessions):
    told = four.leslied("disk", "--json").json["data"]
    shown = four.leslied("disk")

    assert told["bytes"]["store"] == (four.data / "store.db").stat().st_size
    assert told["bytes"]["archive"] > 0
    assert {each["id"] for each in told["sessions"]} == set(ALL)
    assert shown.code == 0
    assert ALL[0][:8] in shown.out
