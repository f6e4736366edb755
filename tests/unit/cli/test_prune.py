"""Sizes as people type them, and the room that pruning takes."""

from __future__ import annotations

import random
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from leslied.cli import leslied
from leslied.cli.prune_command import parse_size
from leslied.errors import UserError
from leslied.store import StoreReader
from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.prune import list_session_ids, sync_and_archive

SLACK = 32_000_000
OLD, NEW = (f"{letter * 8}-0000-4000-8000-000000000000" for letter in "ab")


@pytest.fixture
def archived(claude: ClaudeHome, monkeypatch: pytest.MonkeyPatch) -> ClaudeHome:
    """Two sessions; the new one's log says much that only the archive keeps."""
    monkeypatch.setenv("LESLIED_DATA_DIR", str(claude.store_path.parent))
    old, new = ClaudeLogBuilder(OLD), ClaudeLogBuilder(NEW)
    claude.write(old.prompt("hello"), old.answer("hi"), name=f"-app/{OLD}.jsonl")
    noise = random.Random(1).randbytes(10**6).hex()
    claude.write(
        new.prompt("hello"),
        new.answer("hi"),
        {"type": "file-history-snapshot", "snapshot": noise},
        name=f"-app/{NEW}.jsonl",
    )
    sync_and_archive(claude)
    return claude


def fake_free_space(monkeypatch: pytest.MonkeyPatch, free: int) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=free))


def prune_old() -> None:
    words = ["prune", "--keep", "1", "--yes"]
    CliRunner().invoke(leslied, words, catch_exceptions=False)


def test_only_the_store_is_written_anew_not_the_archive(
    archived: ClaudeHome, monkeypatch: pytest.MonkeyPatch
):
    with StoreReader(archived.store_path) as reader:
        store, archive = reader.sizes.get_used_bytes(), reader.sizes.get_archive_bytes()
    fake_free_space(monkeypatch, 2 * store + SLACK)
    prune_old()

    assert archive > store
    assert list_session_ids(archived) == {NEW}


def test_a_store_that_has_no_room_to_be_written_anew_stays(
    archived: ClaudeHome, monkeypatch: pytest.MonkeyPatch
):
    fake_free_space(monkeypatch, SLACK)
    with pytest.raises(UserError, match="nothing was removed"):
        prune_old()

    assert list_session_ids(archived) == {OLD, NEW}


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("2GB", 2_000_000_000),
        ("500 mb", 500_000_000),
        ("1.5G", 1_500_000_000),
        ("10k", 10_000),
        ("7", 7),
        ("0", 0),
    ],
)
def test_a_size_is_understood(text: str, size: int):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "GB", "-1GB", "2 EB", "two", "1e9", "２GB"])
def test_what_is_no_size_is_told(text: str):
    with pytest.raises(UserError, match="is no size"):
        parse_size(text)
