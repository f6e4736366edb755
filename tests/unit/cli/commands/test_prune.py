"""Tests of `leslied prune`: sizes, and the free space it needs."""

from __future__ import annotations

import random
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from leslied.cli import leslied
from leslied.cli.commands.prune import parse_size
from leslied.errors import UserError
from leslied.store import StoreReader
from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.prune import list_session_ids, sync_and_archive

SLACK_BYTES = 32_000_000
OLD, NEW = (f"{letter * 8}-0000-4000-8000-000000000000" for letter in "ab")


@pytest.fixture
def archived_home(claude: ClaudeHome, monkeypatch: pytest.MonkeyPatch) -> ClaudeHome:
    """Return a home with two archived sessions, the new one with a lot of noise.

    Noise takes space in the archive, but not in the store.
    """
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


def prune_old_session() -> None:
    args = ["prune", "--keep", "1", "--yes"]
    CliRunner().invoke(leslied, args, catch_exceptions=False)


def test_pruning_needs_space_for_the_store_but_not_for_the_archive(
    archived_home: ClaudeHome, monkeypatch: pytest.MonkeyPatch
):
    with StoreReader(archived_home.store_path) as reader:
        store, archive = reader.sizes.get_used_bytes(), reader.sizes.get_archive_bytes()
    fake_free_space(monkeypatch, 2 * store + SLACK_BYTES)
    prune_old_session()

    assert archive > store
    assert list_session_ids(archived_home) == {NEW}


def test_nothing_is_pruned_without_enough_free_space(
    archived_home: ClaudeHome, monkeypatch: pytest.MonkeyPatch
):
    fake_free_space(monkeypatch, SLACK_BYTES)
    with pytest.raises(UserError, match="Nothing was deleted"):
        prune_old_session()

    assert list_session_ids(archived_home) == {OLD, NEW}


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
def test_a_size_is_parsed(text: str, size: int):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "GB", "-1GB", "2 EB", "two", "1e9", "２GB"])
def test_other_text_is_not_a_size(text: str):
    with pytest.raises(UserError, match="is not a size"):
        parse_size(text)
