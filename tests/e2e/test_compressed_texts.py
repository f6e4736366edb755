"""What agents compress is masked and forgotten like what they do not."""

from __future__ import annotations

import gzip
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import zstandard

from leslied.archive import ArchiveReader
from tests.support.cli import LesliedRunner
from tests.support.forget import list_holders
from tests.support.golden import FIXTURES, copy_home

pytestmark = pytest.mark.e2e

SECRET = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
TEXT = "zanzibar"
PROMPT = f"Use {SECRET} in {TEXT}"
DATABASE = ".openclaw/agents/main/agent/openclaw-agent.sqlite"
SOURCES = ["openclaw", "devflow"]


@pytest.fixture
def leslied(home: Path) -> LesliedRunner:
    return LesliedRunner(home)


@pytest.fixture
def data(home: Path) -> Path:
    return home / ".local/share/leslied"


def write_config(home: Path, *, is_masked: bool) -> None:
    path = home / ".config/leslied/config.toml"
    path.parent.mkdir(parents=True)
    setting = "[redact]\nstore = true\n" if is_masked else ""
    path.write_text(f'{setting}[agents.devflow]\nroots = ["{home}/runs"]\n')


def write_session(home: Path, agent: str) -> None:
    """Write a session with a compressed prompt."""
    if agent == "openclaw":
        copy_home(FIXTURES / "openclaw/hello", home)
        write_event(home / DATABASE)
        return
    turns = [{"role": "user", "content": PROMPT}, {"role": "user", "content": "Bye"}]
    path = home / "runs/runs/r/transcript.json.gz"
    path.parent.mkdir(parents=True)
    path.write_bytes(gzip.compress(json.dumps({"runId": "r", "turns": turns}).encode()))


def write_event(database: Path) -> None:
    message = {"role": "user", "content": PROMPT}
    event = json.dumps({"type": "message", "id": "new", "message": message}).encode()
    packed = zstandard.ZstdCompressor().compress(event)
    with closing(sqlite3.connect(database)) as db:
        # SQLite before 3.43 lacks a function that checks of the table use.
        db.execute("PRAGMA ignore_check_constraints = ON")
        db.create_function("octet_length", 1, len)
        db.execute(
            "INSERT INTO transcript_events (session_id, seq, event_zstd, "
            "event_utf8_bytes, created_at) SELECT session_id, 6, ?, ?, 0 "
            "FROM transcript_events WHERE seq = 4",
            (packed, len(event)),
        )
        db.commit()


def list_archived_gzip(data: Path) -> list[Path]:
    """Return the archive files with documents that are still compressed."""
    return [path for path in data.rglob("*.zst") if has_gzip(path)]


def has_gzip(path: Path) -> bool:
    with ArchiveReader(path) as reader:
        return any(
            b"".join(reader.read_frame(frame)).startswith(b"\x1f\x8b")
            for frame in reader.frames
        )


@pytest.mark.threat("S1")
@pytest.mark.parametrize("agent", SOURCES)
def test_secrets_are_masked_before_they_are_stored(
    leslied: LesliedRunner, home: Path, data: Path, agent: str
):
    write_config(home, is_masked=True)
    write_session(home, agent)

    result = leslied("sync", "--stop-all")

    assert result.code == 0, result.err
    assert list_holders(TEXT, data)
    assert list_holders(SECRET[4:], data) == []
    assert list_archived_gzip(data) == []


@pytest.mark.threat("S1")
@pytest.mark.parametrize("agent", SOURCES)
def test_secrets_are_counted(leslied: LesliedRunner, home: Path, agent: str):
    write_config(home, is_masked=False)
    write_session(home, agent)
    leslied("sync", "--stop-all")

    assert leslied("secrets", "scan", "--json").json["data"]["total"] > 0


@pytest.mark.threat("S10")
@pytest.mark.parametrize("agent", SOURCES)
def test_a_text_is_forgotten(
    leslied: LesliedRunner, home: Path, data: Path, agent: str
):
    write_config(home, is_masked=False)
    write_session(home, agent)
    leslied("sync", "--stop-all")
    assert list_holders(TEXT, data)

    result = leslied("forget", "--text", TEXT, "--yes", "--json").json["data"]

    assert result["entries"] == 1
    assert list_holders(TEXT, data) == []
    assert list_archived_gzip(data) == []


def test_a_rebuild_restores_a_compressed_run_from_the_archive(
    leslied: LesliedRunner, home: Path
):
    write_config(home, is_masked=False)
    write_session(home, "devflow")
    leslied("sync", "--stop-all")
    before = leslied("list", "--json").json["data"]["sessions"]
    (home / "runs/runs/r/transcript.json.gz").unlink()

    result = leslied("rebuild")

    after = leslied("list", "--json").json["data"]["sessions"]
    assert result.code == 0, result.err
    assert [each["id"] for each in before] == [each["id"] for each in after] == ["r"]
