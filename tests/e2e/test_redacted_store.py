"""With `redact.store = true`, no secret enters the store, the index and the archive."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from leslied.archive import ArchiveReader, list_files
from leslied.store import StoreReader
from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.cli import LesliedRunner
from tests.support.golden import FIXTURES, copy_home

pytestmark = [pytest.mark.e2e, pytest.mark.threat("S1")]

SECRET = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
PASSWORD = "xK9mQ2tz"
"""Shorter than any marker."""
SETTING = "[redact]\nstore = true\n"


@pytest.fixture
def config(home: Path) -> Path:
    """Return the config file, with the setting."""
    path = home / ".config/leslied/config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(SETTING)
    return path


@pytest.fixture
def leslied(home: Path, config: Path) -> LesliedRunner:
    return LesliedRunner(home)


@pytest.fixture
def data(home: Path) -> Path:
    return home / ".local/share/leslied"


def write_session(claude: ClaudeHome) -> Path:
    log = ClaudeLogBuilder()
    return claude.write(
        log.prompt(f"Use {SECRET} to log in"),
        log.call("Bash", {"command": f"login --password={PASSWORD}"}, "toolu_1"),
        log.result("toolu_1", f'{{"token": "{SECRET}"}} naïve'),
        log.line("unheard-of", value=SECRET, uuid=None),
        log.answer("Done."),
    )


def read_everything(data: Path) -> bytes:
    """Return the bytes of all files, and of the archive before its compression."""
    parts = [path.read_bytes() for path in data.rglob("*") if path.is_file()]
    for path in list_files(data / "archive"):
        with ArchiveReader(path) as reader:
            for frame in reader.frames:
                parts += [json.dumps(frame.metadata).encode()]
                parts += reader.read_frame(frame)
    return b"".join(parts)


def list_entries(data: Path) -> list[Any]:
    with StoreReader(data / "store.db") as reader:
        return [
            (placed.entry_id, placed.record.content, placed.record.tool_input)
            for session in reader.list_sessions()
            for placed in reader.list_records(session.key)
        ]


def test_no_secret_is_in_any_file(
    leslied: LesliedRunner, claude: ClaudeHome, data: Path
):
    write_session(claude)
    claude.log("-p/broken.jsonl").write_text(f"{{broken {SECRET}\n" * 3)

    result = leslied("sync", "--stop-all")

    assert result.code == 0, result.err
    everything = read_everything(data)
    assert b"log in" in everything
    assert SECRET[4:].encode() not in everything
    assert PASSWORD.encode() not in everything
    assert leslied("secrets", "scan", "--json").json["data"]["total"] == 0
    assert not leslied("search", SECRET, "--json").json["data"]["hits"]


def test_a_marker_shows_the_kind_where_it_fits(
    leslied: LesliedRunner, claude: ClaudeHome, data: Path
):
    write_session(claude)
    leslied("sync", "--stop-all")

    contents = " ".join(f"{content} {call}" for _, content, call in list_entries(data))

    assert "Use [REDACTED:github:" in contents
    assert "--password=********" in contents


def test_archived_lines_are_valid_json_at_the_same_positions(
    leslied: LesliedRunner, claude: ClaudeHome, data: Path
):
    log = write_session(claude).read_bytes()
    leslied("sync", "--stop-all")

    (path,) = list_files(data / "archive")
    with ArchiveReader(path) as reader:
        (frame,) = reader.frames
        archived = b"".join(reader.read_frame(frame))

    assert [*map(len, archived.split(b"\n"))] == [*map(len, log.split(b"\n"))]
    assert all(json.loads(line) for line in archived.splitlines())


def test_a_log_that_grows_is_continued_in_store_and_archive(
    leslied: LesliedRunner, claude: ClaudeHome, data: Path
):
    write_session(claude)
    leslied("sync", "--stop-all")
    claude.write(ClaudeLogBuilder().prompt("Hi", uuid="new"))

    result = leslied("sync", "--stop-all", "--json").json["data"]

    (path,) = list_files(data / "archive")
    with ArchiveReader(path) as reader:
        generations = [frame.generation for frame in reader.frames]
        damage = reader.find_damage()
    assert result["entries_decoded"] == 1
    assert generations == [1, 1]
    assert not damage


@pytest.mark.parametrize("has_log", [True, False], ids=["with log", "archive only"])
def test_a_rebuild_gives_the_same_entries(
    leslied: LesliedRunner, claude: ClaudeHome, data: Path, *, has_log: bool
):
    path = write_session(claude)
    leslied("sync", "--stop-all")
    before = list_entries(data)
    if not has_log:
        path.unlink()

    result = leslied("rebuild", "--json").json

    assert result["success"], result
    assert list_entries(data) == before
    assert leslied("sync", "--json").json["data"]["records_added"] == 0
    assert SECRET[4:].encode() not in read_everything(data)


def test_a_rebuild_cleans_a_store_that_has_secrets(
    leslied: LesliedRunner, claude: ClaudeHome, data: Path, config: Path
):
    config.write_text("")
    write_session(claude)
    leslied("sync", "--stop-all")
    ids = {entry_id for entry_id, *_ in list_entries(data)}
    config.write_text(SETTING)

    result = leslied("rebuild", "--accept-loss", "--json").json

    assert result["success"], result
    assert leslied("secrets", "scan", "--json").json["data"]["total"] == 0
    # Only the entry without an id of its own is identified by its text.
    new_ids = {entry_id for entry_id, *_ in list_entries(data)}
    assert len(ids & new_ids) == len(ids) - 1


@pytest.mark.parametrize("agent", ["codex", "gemini_cli", "copilot_cli", "qwen_code"])
def test_sessions_of_other_agents_are_complete(tmp_path: Path, agent: str):
    counts = []
    for setting in ("false", "true"):
        folder = tmp_path / setting
        copy_home(FIXTURES / agent / "tools", folder)
        config = folder / ".config/leslied/config.toml"
        config.parent.mkdir(parents=True)
        config.write_text(f"[redact]\nstore = {setting}\n")
        leslied = LesliedRunner(folder)
        assert leslied("sync", "--stop-all").code == 0
        sessions = leslied("list", "--json").json["data"]["sessions"]
        titles = Counter(session["title"] for session in sessions)
        counts.append((titles, len(list_entries(folder / ".local/share/leslied"))))

    assert counts[0] == counts[1]
