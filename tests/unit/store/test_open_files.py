"""Test the check of an open store's files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from leslied.errors import StoreLost
from leslied.store import Store
from tests.support.clock import FakeClock

NAMES = ("store.db", "store.db-wal", "writer.lock")


@pytest.fixture
def store(tmp_path: Path, clock: FakeClock) -> Iterator[Store]:
    with Store(tmp_path / "store.db", clock) as store:
        store.mark_all_stopped()
        yield store


def test_files_that_nobody_touched_are_fine(store: Store):
    store.files.check()
    store.files.check()


@pytest.mark.parametrize("name", NAMES)
def test_a_removed_file_is_noticed(store: Store, tmp_path: Path, name: str):
    store.files.check()

    (tmp_path / name).unlink()

    with pytest.raises(StoreLost, match=f"{name} was removed or replaced"):
        store.files.check()


@pytest.mark.parametrize("name", NAMES)
def test_a_replaced_file_is_noticed(store: Store, tmp_path: Path, name: str):
    store.files.check()

    copy = tmp_path / "copy"
    copy.write_bytes((tmp_path / name).read_bytes())
    copy.replace(tmp_path / name)

    with pytest.raises(StoreLost, match=f"{name} was removed or replaced"):
        store.files.check()


def test_a_removed_folder_is_noticed(store: Store, tmp_path: Path):
    tmp_path.rename(tmp_path.with_name("elsewhere"))

    with pytest.raises(StoreLost):
        store.files.check()
