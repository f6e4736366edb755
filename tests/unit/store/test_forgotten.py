"""Forgotten items are recognized by hashes that reveal nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from leslied.errors import StoreUnusable
from leslied.store.forgotten import Forgotten, ForgottenItems, digest_line
from tests.support.records import list_modes

ITEMS = ForgottenItems(
    sessions=[("claude-code", "s1")],
    changed_sessions=[("claude-code", "s2")],
    entry_ids=[b"entry"],
    rejected=[b"digest"],
    titles=["Zanzibar"],
    line_digests=[digest_line(b"a line\n")],
)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "data" / "store.db"


def test_items_are_recognized_after_a_restart(store: Path):
    Forgotten(store).add(ITEMS)
    forgotten = Forgotten(store)

    assert forgotten
    assert forgotten.has_session("claude-code", "s1")
    assert forgotten.has_part_of("claude-code", "s2")
    assert forgotten.has_entry(b"entry")
    assert forgotten.has_rejected(b"digest")
    assert forgotten.has_title("Zanzibar")
    assert forgotten.has_line(b"a line")


def test_other_items_are_not_recognized(store: Path):
    Forgotten(store).add(ITEMS)
    forgotten = Forgotten(store)

    assert not forgotten.has_session("claude-code", "s2")
    assert not forgotten.has_session("codex", "s1")
    assert not forgotten.has_entry(b"digest")
    assert not forgotten.has_rejected(b"")
    assert not forgotten.has_title("")
    assert not forgotten.has_line(b"another line")


def test_items_are_added_to_earlier_ones(store: Path):
    Forgotten(store).add(ITEMS)
    Forgotten(store).add(ForgottenItems(entry_ids=[b"other"]))
    forgotten = Forgotten(store)

    assert forgotten.has_entry(b"entry")
    assert forgotten.has_entry(b"other")
    assert forgotten.has_lines


def test_a_session_that_was_looked_up_before_is_recognized(store: Path):
    forgotten = Forgotten(store)

    assert not forgotten.has_session("claude-code", "s1")
    forgotten.add(ITEMS)
    assert forgotten.has_session("claude-code", "s1")


def test_nothing_is_forgotten_without_a_file(store: Path):
    forgotten = Forgotten(store)

    assert not forgotten
    assert not forgotten.has_entry(b"entry")
    assert not forgotten.has_line(b"a line")


@pytest.mark.threat("S10")
def test_the_file_contains_no_text_and_is_private(store: Path):
    Forgotten(store).add(ITEMS)
    (path,) = store.parent.iterdir()
    content = path.read_bytes()

    for text in (b"Zanzibar", b"a line", b"claude"):
        assert text not in content
    assert list_modes([path]) == {0o600}


def test_two_machines_have_different_hashes(tmp_path: Path):
    contents = []
    for name in ("a", "b"):
        store = tmp_path / name / "store.db"
        Forgotten(store).add(ITEMS)
        contents.append(store.with_name("forgotten.json").read_bytes())

    assert contents[0] != contents[1]


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"key": "zz"}', b'{"form": 2}', b'{"key": "00"}']
)
def test_a_damaged_file_is_not_ignored(store: Path, content: bytes):
    store.parent.mkdir()
    store.with_name("forgotten.json").write_bytes(content)

    with pytest.raises(StoreUnusable, match="forgotten"):
        Forgotten(store)
