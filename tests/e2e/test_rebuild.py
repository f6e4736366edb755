"""A rebuilt store has the same records, file names and transcript bytes."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from leslied.store import StoreReader
from tests.support import old_stores
from tests.support.archives import write_newer_format
from tests.support.claude import (
    SESSION,
    ClaudeHome,
    ClaudeLogBuilder,
    encode_json_lines,
)
from tests.support.cli import LesliedRunner
from tests.support.golden import FIXTURES, copy_home
from tests.support.records import list_modes

pytestmark = pytest.mark.e2e

AGENTS = {"claude_code": ".claude", "gemini_cli": ".gemini"}
CASES = sorted(
    path.parent for agent in AGENTS for path in FIXTURES.glob(f"{agent}/*/case.toml")
)
RECORD, GENERATION = 4, 6
"""Indexes into the entry tuples that `list_sessions_with_entries` returns."""


@pytest.fixture
def leslied(home: Path) -> LesliedRunner:
    return LesliedRunner(home)


@pytest.fixture
def data(home: Path) -> Path:
    return home / ".local" / "share" / "leslied"


@pytest.fixture
def builder() -> ClaudeLogBuilder:
    return ClaudeLogBuilder()


def list_sessions_with_entries(data: Path) -> list[Any]:
    """Return a tuple per session, without row ids; its last item lists the entries."""
    with StoreReader(data / "store.db") as reader:
        return [
            (
                session.key,
                session.thread_id,
                session.title,
                session.units,
                session.is_stopped,
                session.seen_at,
                session.usage,
                [
                    (
                        *(p.entry_id, p.sequence, p.unit, p.observed_at, p.record),
                        *(p.path, p.generation, p.offset, p.length),
                    )
                    for p in reader.list_records(session.key)
                ],
            )
            for session in sorted(reader.list_sessions(), key=lambda s: s.key)
        ]


def list_transcript_rows(data: Path) -> list[Any]:
    db = sqlite3.connect(data / "store.db")
    rows = db.execute(
        "SELECT s.agent, s.session_id, s.source, t.unit, t.chat_id, t.folder, t.file, "
        "t.utc_offset, t.digest, t.is_removed FROM transcript t "
        "JOIN session s ON s.id = t.session ORDER BY 1, 2, 3, 4"
    ).fetchall()
    db.close()
    return rows


def read_transcripts(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*.txt")}


def sync(leslied: LesliedRunner) -> None:
    """Sync, stop and archive all sessions; fail on errors and warnings."""
    result = leslied("sync", "--stop-all", "--json")
    assert result.code == 0, result.err
    assert result.json["warnings"] == []


def delete_logs(home: Path) -> None:
    for folder in AGENTS.values():
        shutil.rmtree(home / folder, ignore_errors=True)


def rebuild(leslied: LesliedRunner, *args: str) -> dict[str, Any]:
    """Rebuild the store and return the report; fail on errors."""
    result = leslied("rebuild", "--json", *args)
    assert result.code == 0, result.out + result.err
    return result.json["data"]


@pytest.fixture
def archived_home(home: Path, leslied: LesliedRunner) -> Path:
    """Sync and archive a home with all fixtures, and return it."""
    for case in CASES:
        copy_home(case, home)
    sync(leslied)
    return home


@pytest.mark.fault("E4", "E6", "G11")
@pytest.mark.parametrize("store", ["whole", "damaged", "gone"])
def test_the_archive_alone_restores_everything(
    archived_home: Path, leslied: LesliedRunner, data: Path, store: str
):
    sessions = list_sessions_with_entries(data)
    transcript_rows = list_transcript_rows(data)
    transcripts = read_transcripts(data)
    delete_logs(archived_home)
    if store == "gone":
        (data / "store.db").unlink()
    elif store == "damaged":
        path = data / "store.db"
        path.write_bytes(path.read_bytes()[:20000] + b"rubbish" * 9000)

    report = rebuild(leslied)

    assert report["names_from"] == ("store" if store == "whole" else "manifest")
    assert len(sessions) > 40
    if store != "whole":
        rebuilt_sessions = list_sessions_with_entries(data)
        assert without_observed_at(rebuilt_sessions) == without_observed_at(sessions)
    assert list_transcript_rows(data) == transcript_rows
    assert read_transcripts(data) == transcripts
    assert report["transcripts_written"] == 0


def without_observed_at(sessions: list[Any]) -> list[Any]:
    """Return the sessions without `observed_at`, which only the old store contains."""
    return [
        (*session_fields, [(*entry[:3], *entry[4:]) for entry in entries])
        for *session_fields, entries in sessions
    ]


def test_an_intact_store_also_restores_observation_times(
    archived_home: Path, leslied: LesliedRunner, data: Path
):
    sessions = list_sessions_with_entries(data)
    delete_logs(archived_home)

    report = rebuild(leslied)

    assert list_sessions_with_entries(data) == sessions
    assert report["sessions_changed"] == report["sessions_lost"] == []
    # A session and its subagents count once.
    assert report["sessions_same"] == len({key[:2] for key, *_ in sessions})
    assert report["sessions_new"] == 0


def test_a_rebuild_reads_existing_logs_to_their_end(
    claude: ClaudeHome, leslied: LesliedRunner, builder: ClaudeLogBuilder, data: Path
):
    claude.write(builder.prompt("one"), builder.answer("1"))
    sync(leslied)
    claude.write(builder.prompt("two"), builder.answer("2"))

    rebuild(leslied)

    contents = [
        entry[RECORD].content for entry in list_sessions_with_entries(data)[0][-1]
    ]
    assert contents == ["", "one", "1", "two", "2"]
    second_sync = leslied("sync", "--json").json["data"]
    assert (second_sync["entries_decoded"], second_sync["bytes_read"]) == (0, 0)


def test_every_generation_of_a_rewritten_log_is_restored(
    claude: ClaudeHome, leslied: LesliedRunner, builder: ClaudeLogBuilder, data: Path
):
    log = claude.write(builder.prompt("one"), builder.answer("1"))
    sync(leslied)
    log.write_bytes(encode_json_lines(builder.prompt("all new")))
    sync(leslied)
    sessions = list_sessions_with_entries(data)
    log.unlink()

    rebuild(leslied)

    assert list_sessions_with_entries(data) == sessions
    assert {entry[GENERATION] for entry in sessions[0][-1]} == {1, 2}


def test_interleaved_entries_keep_their_order(
    claude: ClaudeHome, leslied: LesliedRunner, builder: ClaudeLogBuilder, data: Path
):
    """Read a subagent's side file between two parts of its log."""
    folder = f"-home-dev-app/{SESSION}/subagents"
    name = f"{folder}/agent-a1.jsonl"
    claude.write(builder.prompt("go"))
    claude.write(builder.prompt("task", agentId="a1", isSidechain=True), name=name)
    leslied("sync")
    claude.log(f"{folder}/agent-a1.meta.json").write_text('{"agentType": "Explore"}')
    leslied("sync")
    claude.write(builder.answer("done"), name=name)
    sync(leslied)
    sessions = list_sessions_with_entries(data)
    delete_logs(claude.home)

    rebuild(leslied)
    rebuilt_from_store = list_sessions_with_entries(data)
    (data / "store.db").unlink()
    rebuild(leslied)
    rebuilt_from_manifest = list_sessions_with_entries(data)

    assert rebuilt_from_store == sessions
    assert without_observed_at(rebuilt_from_manifest) == without_observed_at(sessions)


def test_entries_only_in_the_old_store_are_lost_only_with_accept_loss(
    claude: ClaudeHome, leslied: LesliedRunner, builder: ClaudeLogBuilder, data: Path
):
    claude.write(builder.prompt("one"), builder.answer("1"))
    sync(leslied)
    shutil.rmtree(data / "archive")
    delete_logs(claude.home)
    before = (data / "store.db").read_bytes()

    result = leslied("rebuild")

    assert result.code == 2
    assert "--accept-loss" in result.err
    assert (data / "store.db").read_bytes() == before
    assert not (data / "store.db.new").exists()
    assert rebuild(leslied, "--accept-loss")["entries_lost"] == 3


def test_the_old_store_is_kept_next_to_the_new_one(
    claude: ClaudeHome, leslied: LesliedRunner, builder: ClaudeLogBuilder, data: Path
):
    claude.write(builder.prompt("one"), builder.answer("1"))
    sync(leslied)

    rebuild(leslied)
    rebuild(leslied)

    old = data / "store.db.before-rebuild"
    with StoreReader(old) as reader:
        assert len(reader.list_sessions()) == 1
    assert list_modes([old, data / "store.db"]) == {0o600}
    assert not list(data.glob("store.db.new*"))


@pytest.mark.fault("E4")
def test_a_damaged_archive_is_reported_and_the_log_is_read(
    claude: ClaudeHome, leslied: LesliedRunner, builder: ClaudeLogBuilder, data: Path
):
    claude.write(builder.prompt("one"), builder.answer("1"))
    sync(leslied)
    sessions = list_sessions_with_entries(data)
    (path,) = (data / "archive").glob("*/??/*.zst")
    archive_bytes = bytearray(path.read_bytes())
    # Flip one bit near the end of the compressed data.
    archive_bytes[-9] ^= 1
    path.write_bytes(archive_bytes)

    result = leslied("rebuild", "--json")

    assert result.code == 0
    assert any(str(path) in warning for warning in result.json["warnings"])
    assert list_sessions_with_entries(data) == sessions


@pytest.mark.fault("E6", "E7")
def test_an_archive_of_a_newer_leslied_is_refused(
    claude: ClaudeHome, leslied: LesliedRunner, builder: ClaudeLogBuilder, data: Path
):
    claude.write(builder.prompt("one"), builder.answer("1"))
    sync(leslied)
    (path,) = (data / "archive").glob("*/??/*.zst")
    write_newer_format(path)
    before = (data / "store.db").read_bytes()

    result = leslied("rebuild")

    assert result.code == 3
    assert "newer leslied" in result.err
    assert (data / "store.db").read_bytes() == before


def test_an_excluded_project_is_not_restored(
    home: Path,
    claude: ClaudeHome,
    leslied: LesliedRunner,
    builder: ClaudeLogBuilder,
    data: Path,
):
    config = home / ".config" / "leslied" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[projects]\nexclude = ["/home/dev/app"]\n')
    claude.write(builder.prompt("secret work"), builder.answer("1"))
    sync(leslied)

    rebuild(leslied)

    assert list_sessions_with_entries(data) == []
    assert not list((data / "archive").rglob("*.zst"))


def test_a_spilled_result_is_restored_without_its_file(
    claude: ClaudeHome, leslied: LesliedRunner, builder: ClaudeLogBuilder, data: Path
):
    spill = claude.log(f"-home-dev-app/{SESSION}/tool-results/big.txt")
    spill.write_text("the whole text")
    output = f"<persisted-output>\nOutput too large. Full output saved to: {spill}\n"
    claude.write(
        builder.prompt("run"),
        builder.call("Bash", {"command": "make"}, "t1"),
        builder.result("t1", output),
    )
    sync(leslied)
    delete_logs(claude.home)
    (data / "store.db").unlink()

    rebuild(leslied)

    spilled = [
        entry[RECORD].spilled for entry in list_sessions_with_entries(data)[0][-1]
    ]
    assert "the whole text" in spilled


@pytest.mark.fault("E6")
def test_sync_rebuilds_a_store_that_cannot_be_migrated(
    leslied: LesliedRunner, home: Path, data: Path
):
    copy_home(old_stores.SESSION_CASE, home)
    old_stores.unpack("04", data / "store.db")

    result = leslied("sync")

    assert result.code == 0
    assert "cannot be migrated" in result.err
    (session,) = leslied("list", "--json").json["data"]["sessions"]
    assert session["id"] == old_stores.SESSION_ID
