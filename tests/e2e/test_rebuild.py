"""The store made anew: the same records, the same names, the same bytes."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from leslied.store import StoreReader
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


@pytest.fixture
def leslied(home: Path) -> LesliedRunner:
    return LesliedRunner(home)


@pytest.fixture
def data(home: Path) -> Path:
    return home / ".local" / "share" / "leslied"


@pytest.fixture
def talk() -> ClaudeLogBuilder:
    return ClaudeLogBuilder()


def all_records(data: Path) -> list[Any]:
    """Everything a reader can see, but for the store's own row numbers."""
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
                    for p in reader.list_records(session.row)
                ],
            )
            for session in sorted(reader.list_sessions(), key=lambda s: s.key)
        ]


def all_names(data: Path) -> list[Any]:
    db = sqlite3.connect(data / "store.db")
    rows = db.execute(
        "SELECT s.agent, s.session_id, s.source, t.unit, t.chat_id, t.folder, t.file, "
        "t.utc_offset, t.digest, t.is_removed FROM transcript t "
        "JOIN session s ON s.id = t.session ORDER BY 1, 2, 3, 4"
    ).fetchall()
    db.close()
    return rows


def all_files(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*.txt")}


def sync(leslied: LesliedRunner) -> None:
    ran = leslied("sync", "--stop-all", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["warnings"] == []


def delete_logs(home: Path) -> None:
    for folder in AGENTS.values():
        shutil.rmtree(home / folder, ignore_errors=True)


def rebuild(leslied: LesliedRunner, *words: str) -> dict[str, Any]:
    ran = leslied("rebuild", "--json", *words)
    assert ran.code == 0, ran.out + ran.err
    return ran.json["data"]


@pytest.fixture
def full(home: Path, leslied: LesliedRunner) -> Path:
    """A home with every fixture in it, read and archived."""
    for case in CASES:
        copy_home(case, home)
    sync(leslied)
    return home


@pytest.mark.parametrize("store", ["whole", "damaged", "gone"])
def test_the_archive_alone_gives_back_everything(
    full: Path, leslied: LesliedRunner, data: Path, store: str
):
    """E4, E6, G11."""
    records, names, files = all_records(data), all_names(data), all_files(data)
    delete_logs(full)
    if store == "gone":
        (data / "store.db").unlink()
    elif store == "damaged":
        path = data / "store.db"
        path.write_bytes(path.read_bytes()[:20000] + b"rubbish" * 9000)

    told = rebuild(leslied)

    assert told["names_from"] == ("store" if store == "whole" else "manifest")
    assert len(records) > 40
    if store != "whole":
        records, again = map(without_observation, (records, all_records(data)))
        assert again == records
    assert (all_names(data), all_files(data)) == (names, files)
    assert told["transcripts_written"] == 0


def without_observation(records: list[Any]) -> list[Any]:
    """When a line was first seen is known to the old store alone."""
    return [
        (*head, [(*entry[:3], *entry[4:]) for entry in entries])
        for *head, entries in records
    ]


def test_a_whole_store_gives_back_even_when_a_line_was_seen(
    full: Path, leslied: LesliedRunner, data: Path
):
    records = all_records(data)
    delete_logs(full)

    told = rebuild(leslied)

    assert all_records(data) == records
    assert told["sessions_changed"] == told["sessions_lost"] == []
    assert told["sessions_same"] >= len(records)
    assert told["sessions_new"] == 0


def test_logs_that_are_still_there_go_on(
    claude: ClaudeHome, leslied: LesliedRunner, talk: ClaudeLogBuilder, data: Path
):
    claude.write(talk.prompt("one"), talk.answer("1"))
    sync(leslied)
    claude.write(talk.prompt("two"), talk.answer("2"))

    rebuild(leslied)

    contents = [entry[4].content for entry in all_records(data)[0][-1]]
    assert contents == ["", "one", "1", "two", "2"]
    again = leslied("sync", "--json").json["data"]
    assert (again["entries_decoded"], again["bytes_read"]) == (0, 0)


def test_every_generation_of_a_rewritten_log_comes_back(
    claude: ClaudeHome, leslied: LesliedRunner, talk: ClaudeLogBuilder, data: Path
):
    log = claude.write(talk.prompt("one"), talk.answer("1"))
    sync(leslied)
    log.write_bytes(encode_json_lines(talk.prompt("all new")))
    sync(leslied)
    records = all_records(data)
    log.unlink()

    rebuild(leslied)

    assert all_records(data) == records
    assert {entry[6] for entry in records[0][-1]} == {1, 2}


def test_entries_that_came_between_stay_between(
    claude: ClaudeHome, leslied: LesliedRunner, talk: ClaudeLogBuilder, data: Path
):
    """A subagent's side file is read while its log grows."""
    folder = f"-home-dev-app/{SESSION}/subagents"
    name = f"{folder}/agent-a1.jsonl"
    claude.write(talk.prompt("go"))
    claude.write(talk.prompt("task", agentId="a1", isSidechain=True), name=name)
    leslied("sync")
    claude.log(f"{folder}/agent-a1.meta.json").write_text('{"agentType": "Explore"}')
    leslied("sync")
    claude.write(talk.answer("done"), name=name)
    sync(leslied)
    records = all_records(data)
    delete_logs(claude.home)

    rebuild(leslied)
    by_store = all_records(data)
    (data / "store.db").unlink()
    rebuild(leslied)

    assert by_store == records
    assert without_observation(all_records(data)) == without_observation(records)


def test_what_only_the_old_store_has_is_not_given_up_unasked(
    claude: ClaudeHome, leslied: LesliedRunner, talk: ClaudeLogBuilder, data: Path
):
    claude.write(talk.prompt("one"), talk.answer("1"))
    sync(leslied)
    shutil.rmtree(data / "archive")
    delete_logs(claude.home)
    before = (data / "store.db").read_bytes()

    ran = leslied("rebuild")

    assert ran.code == 2
    assert "--accept-loss" in ran.err
    assert (data / "store.db").read_bytes() == before
    assert not (data / "store.db.new").exists()
    assert rebuild(leslied, "--accept-loss")["entries_lost"] == 3


def test_the_old_store_is_kept_beside_the_new(
    claude: ClaudeHome, leslied: LesliedRunner, talk: ClaudeLogBuilder, data: Path
):
    claude.write(talk.prompt("one"), talk.answer("1"))
    sync(leslied)

    rebuild(leslied)
    rebuild(leslied)

    old = data / "store.db.before-rebuild"
    with StoreReader(old) as reader:
        assert len(reader.list_sessions()) == 1
    assert list_modes([old, data / "store.db"]) == {0o600}
    assert not list(data.glob("store.db.new*"))


def test_a_damaged_archive_is_named_and_the_log_is_read_instead(
    claude: ClaudeHome, leslied: LesliedRunner, talk: ClaudeLogBuilder, data: Path
):
    """E4."""
    claude.write(talk.prompt("one"), talk.answer("1"))
    sync(leslied)
    records = all_records(data)
    (path,) = (data / "archive").glob("*/??/*.zst")
    flipped = bytearray(path.read_bytes())
    flipped[-9] ^= 1
    path.write_bytes(flipped)

    ran = leslied("rebuild", "--json")

    assert ran.code == 0
    assert any(str(path) in warning for warning in ran.json["warnings"])
    assert all_records(data) == records


def test_a_newer_archive_or_store_is_refused(
    claude: ClaudeHome, leslied: LesliedRunner, talk: ClaudeLogBuilder, data: Path
):
    """E6, E7."""
    claude.write(talk.prompt("one"), talk.answer("1"))
    sync(leslied)
    (path,) = (data / "archive").glob("*/??/*.zst")
    newer = bytearray(path.read_bytes())
    newer[5] = 9
    path.write_bytes(newer)
    before = (data / "store.db").read_bytes()

    ran = leslied("rebuild")

    assert ran.code == 3
    assert "newer leslied" in ran.err
    assert (data / "store.db").read_bytes() == before


def test_an_excluded_project_stays_out(
    home: Path,
    claude: ClaudeHome,
    leslied: LesliedRunner,
    talk: ClaudeLogBuilder,
    data: Path,
):
    config = home / ".config" / "leslied" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[projects]\nexclude = ["/home/dev/app"]\n')
    claude.write(talk.prompt("secret work"), talk.answer("1"))
    sync(leslied)

    rebuild(leslied)

    assert all_records(data) == []
    assert not list((data / "archive").rglob("*.zst"))


def test_a_spilled_result_outlives_its_file(
    claude: ClaudeHome, leslied: LesliedRunner, talk: ClaudeLogBuilder, data: Path
):
    spill = claude.log(f"-home-dev-app/{SESSION}/tool-results/big.txt")
    spill.write_text("the whole text")
    told = f"<persisted-output>\nOutput too large. Full output saved to: {spill}\n"
    claude.write(
        talk.prompt("run"),
        talk.call("Bash", {"command": "make"}, "t1"),
        talk.result("t1", told),
    )
    sync(leslied)
    delete_logs(claude.home)
    (data / "store.db").unlink()

    rebuild(leslied)

    spilled = [entry[4].spilled for entry in all_records(data)[0][-1]]
    assert "the whole text" in spilled
