"""A store that vanished or was emptied is restored, and nothing is done in silence."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.cli import LesliedRunner
from tests.support.daemon import Daemon, get_store_path
from tests.support.waiting import MAX_WAIT_SECONDS, wait_until

pytestmark = pytest.mark.e2e
FIRST = "11111111-2222-4333-8444-555555555555"
SECOND = "22222222-2222-4333-8444-555555555555"


def remove_store(store: Path) -> None:
    for path in store.parent.glob("store.db*"):
        path.unlink()


def empty_store(store: Path) -> None:
    remove_store(store)
    store.touch()


@pytest.fixture
def leslied(home: Path, claude: ClaudeHome, project: Path) -> LesliedRunner:
    """Two sessions that are archived; the log of the first was deleted afterwards."""
    for session_id in (FIRST, SECOND):
        builder = ClaudeLogBuilder(session_id, cwd=str(project))
        claude.write(
            builder.prompt(f"prompt of {session_id[0]}"),
            builder.answer("answer"),
            name=f"p/{session_id}.jsonl",
        )
    leslied = LesliedRunner(home)
    assert leslied("sync", "--stop-all").code == 0
    (claude.projects / f"p/{FIRST}.jsonl").unlink()
    return leslied


def start_daemon(home: Path) -> Daemon:
    """Start the daemon, and wait until its loop runs."""
    daemon = Daemon(home)
    assert daemon.process.stderr
    next(line for line in daemon.process.stderr if "daemon.start" in line)
    return daemon


def list_ids(leslied: LesliedRunner) -> set[str]:
    sessions = leslied("list", "--json").json["data"]["sessions"]
    return {session["id"] for session in sessions}


def list_transcripts(home: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in home.rglob("transcripts/*.txt")}


@pytest.mark.parametrize("damage", [remove_store, empty_store])
def test_a_lost_store_is_restored_with_what_only_the_archive_has(
    leslied: LesliedRunner, home: Path, damage: Callable[[Path], None]
):
    damage(get_store_path(home))

    result = leslied("sync")

    assert "is gone or empty, but its archive is not" in result.err
    assert list_ids(leslied) == {FIRST, SECOND}


def test_transcripts_keep_their_names_when_a_lost_store_is_restored(
    leslied: LesliedRunner, home: Path
):
    before = list_transcripts(home)
    remove_store(get_store_path(home))

    leslied("sync", "--stop-all")

    assert len(before) == 2
    assert list_transcripts(home) == before


def test_pruned_sessions_stay_pruned_when_a_lost_store_is_restored(
    leslied: LesliedRunner, home: Path
):
    assert leslied("prune", "--keep", "0", "--failed", "--yes").code == 0
    assert leslied("sync", "--stop-all").code == 0
    remove_store(get_store_path(home))

    leslied("sync")

    assert list_ids(leslied) == set()


def test_a_command_that_writes_does_not_replace_a_lost_store(
    leslied: LesliedRunner, home: Path
):
    store = get_store_path(home)
    remove_store(store)

    result = leslied("prune", "--keep", "1", "--yes")

    assert result.code != 0
    assert not store.exists()


@pytest.mark.parametrize("name", ["store.db", "store.db-wal", ""])
def test_a_daemon_whose_files_were_removed_stops_and_the_next_one_restores_them(
    leslied: LesliedRunner, home: Path, name: str
):
    daemon = start_daemon(home)
    data_dir = daemon.store.parent
    wait_until((data_dir / "store.db-wal").exists)
    if name:
        (data_dir / name).unlink()
    else:
        data_dir.rename(home / "elsewhere")
    daemon.process.send_signal(signal.SIGHUP)
    _, log = daemon.process.communicate(timeout=MAX_WAIT_SECONDS)
    leslied("sync")

    assert daemon.process.returncode == 3
    assert "was removed or replaced while leslied was running" in log
    assert SECOND in list_ids(leslied)


def test_a_second_daemon_does_not_start_beside_one_without_a_data_folder(
    leslied: LesliedRunner, home: Path
):
    daemon = start_daemon(home)
    # A daemon that runs on would notice that its folder is gone.
    daemon.process.send_signal(signal.SIGSTOP)
    daemon.store.parent.rename(home / "elsewhere")

    result = leslied("run")
    daemon.end(signal.SIGKILL)

    assert result.code == 4
    assert "Another leslied daemon runs" in result.err
