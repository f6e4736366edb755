"""Kill a first sync that uses three processes: the next one completes it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from leslied.pipeline.ingest.prefetch import MIN_PREFETCH_BYTES
from tests.support.claude import ClaudeLogBuilder, encode_json_lines
from tests.support.cli import LesliedRunner

pytestmark = [pytest.mark.e2e, pytest.mark.heavy]

ANSWER = "apple " * 10_000
KILLS = (
    "commit.half:1",
    "commit.before:2",
    "commit.after:1",
    "commit.after:2",
    "index.before:1",
    "index.half:1",
    "index.after:1",
)


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with logs that are read ahead, in more than one batch."""
    folder = tmp_path_factory.mktemp("logs")
    for number in range(2 * MIN_PREFETCH_BYTES // len(ANSWER) // 20):
        builder = ClaudeLogBuilder(f"{number:08x}-0000-4000-8000-000000000000")
        lines = [builder.prompt(f"do {number}")]
        lines += [builder.answer(ANSWER) for _ in range(20)]
        log = folder / "projects" / "-app" / f"{builder.session_id}.jsonl"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_bytes(encode_json_lines(*lines))
    return folder


def sync(home: Path, logs: Path, crash_at: str = "") -> str:
    environ = {"LESLIED_CRASH_AT": crash_at, "CLAUDE_CONFIG_DIR": str(logs)}
    return LesliedRunner(home)("sync", **environ).err


def read_store(home: Path) -> dict[str, Any]:
    """Check the store; return its records, and which of them are in the index."""
    (path,) = home.rglob("store.db")
    with closing(sqlite3.connect(path)) as db:
        db.execute("INSERT INTO record_text (record_text) VALUES ('integrity-check')")
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        queries = {
            "entries": "SELECT hex(entry_id), digest FROM record ORDER BY 1",
            "placements": "SELECT session, unit, count(*) FROM placement GROUP BY 1, 2",
            "indexed": "SELECT count(*), count(DISTINCT rowid) FROM record_text "
            "WHERE record_text MATCH 'apple'",
        }
        return {name: db.execute(sql).fetchall() for name, sql in queries.items()}


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory, logs: Path) -> dict[str, Any]:
    home = tmp_path_factory.mktemp("home")
    sync(home, logs)
    return read_store(home)


@pytest.mark.fault("F7")
@pytest.mark.parametrize("crash_at", KILLS)
def test_a_killed_first_sync_is_completed(
    tmp_path: Path, logs: Path, expected: dict[str, Any], crash_at: str
):
    error = sync(tmp_path, logs, crash_at)

    sync(tmp_path, logs)

    assert f"crash at {crash_at.partition(':')[0]}" in error
    assert read_store(tmp_path) == expected
    assert not [*tmp_path.rglob("store.db.*")]
