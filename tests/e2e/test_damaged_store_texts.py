"""No error message, log line or bug report quotes the texts of a damaged store."""

from __future__ import annotations

import signal
import sqlite3
import zipfile
from pathlib import Path

import pytest

from tests.support.claude import SESSION, ClaudeHome, ClaudeLogBuilder
from tests.support.cli import LesliedRunner
from tests.support.daemon import get_store_path
from tests.support.waiting import MAX_WAIT_SECONDS, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.fault("E4")]

CANARY = "canarytext"
COMMANDS = [
    ("sync", "--stop-all"),
    ("list", "--json"),
    ("show", SESSION),
    ("search", "word"),
    ("status", "--rejected"),
    ("doctor",),
    ("sql", "SELECT * FROM entries"),
    ("stats",),
]


@pytest.fixture
def leslied(home: Path, claude: ClaudeHome) -> LesliedRunner:
    """A session with the canary in every text."""
    builder = ClaudeLogBuilder()
    texts = [f"{CANARY} word {number} " + "x" * 900 for number in range(40)]
    claude.write(*(builder.prompt(text) for text in texts), builder.answer(CANARY))
    leslied = LesliedRunner(home)
    assert leslied("sync", "--stop-all").code == 0
    return leslied


@pytest.fixture
def store(home: Path, leslied: LesliedRunner) -> Path:
    return get_store_path(home)


def damage_texts(path: Path, pages: slice) -> int:
    """Make texts invalid UTF-8 on some of the pages with the canary.

    Return the number of texts.
    """
    data = bytearray(path.read_bytes())
    page_bytes = int.from_bytes(data[16:18], "big")
    starts = range(0, len(data), page_bytes)
    marked = [s for s in starts if CANARY.encode() in data[s : s + page_bytes]]
    count = 0
    for start in marked[pages]:
        page = bytes(data[start : start + page_bytes])
        at = page.find(CANARY.encode())
        while at >= 0:
            # The byte after the canary, so that the message would quote the canary.
            data[start + at + len(CANARY)] = 0xFF
            count += 1
            at = page.find(CANARY.encode(), at + 1)
    path.write_bytes(data)
    return count


def damage_columns(path: Path) -> None:
    """Put texts where numbers, JSON and names are expected."""
    db = sqlite3.connect(path)
    for column in ("type", "metadata", "usage", "model"):
        names = [row[1] for row in db.execute("PRAGMA table_info(record)")]
        if column in names:
            db.execute(f"UPDATE record SET {column} = ?", (f"{CANARY} {column}",))
    db.execute("UPDATE session SET units = ?, started_us = ?", (CANARY, CANARY))
    db.commit()
    db.close()


def check_commands(leslied: LesliedRunner) -> list[int]:
    """Check that no command quotes damaged texts; return the exit codes."""
    codes = []
    for command in COMMANDS:
        result = leslied(*command)
        assert CANARY not in result.err, (command, result.err)
        if command[0] in ("status", "doctor"):
            assert CANARY not in result.out, (command, result.out)
        codes.append(result.code)
    return codes


@pytest.mark.parametrize(
    "pages", [slice(0, 1), slice(1, 2), slice(2, None), slice(None)]
)
def test_commands_on_damaged_texts_do_not_quote_them(
    leslied: LesliedRunner, store: Path, pages: slice
):
    assert damage_texts(store, pages)

    codes = check_commands(leslied)

    assert any(codes)


def test_commands_on_values_of_other_types_do_not_quote_them(
    leslied: LesliedRunner, store: Path
):
    damage_columns(store)

    codes = check_commands(leslied)

    assert any(codes)


def test_the_daemon_and_the_bug_report_do_not_quote_damaged_texts(
    leslied: LesliedRunner, store: Path, claude: ClaudeHome, tmp_path: Path
):
    assert damage_texts(store, slice(None))
    other = "22222222-2222-4333-8444-555555555555"
    claude.write(ClaudeLogBuilder(other).prompt(CANARY), name=f"p/{other}.jsonl")
    log = tmp_path / "daemon.log"
    with log.open("w") as file:
        daemon = leslied.start("run", "--log-json", stderr=file)
        wait_until(lambda: daemon.poll() is not None or has_read(log))
        daemon.send_signal(signal.SIGTERM)
        daemon.wait(timeout=MAX_WAIT_SECONDS)
    bundle = leslied("bundle", "--output", str(tmp_path / "bundle.zip"))

    assert CANARY not in log.read_text()
    assert CANARY not in bundle.out + bundle.err
    if bundle.code == 0:
        with zipfile.ZipFile(tmp_path / "bundle.zip") as archive:
            texts = [archive.read(name) for name in archive.namelist()]
        assert not any(CANARY.encode() in text for text in texts)


def has_read(log: Path) -> bool:
    """Return whether the daemon has read the new session or has failed."""
    events = ("ingest.", "daemon.retry", "stage.fail", "transcripts.")
    return any(event in log.read_text() for event in events)
