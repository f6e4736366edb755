"""Tombstones recognize pruned entries, stream by stream."""

from __future__ import annotations

import sqlite3

import pytest

from leslied.store.schema import MIGRATIONS
from leslied.store.write.tombstones import Tombstones
from tests.support.records import make_key

FIRST_ID, SECOND_ID = b"1" * 16, b"2" * 16


@pytest.fixture
def db():
    db = sqlite3.connect(":memory:", isolation_level=None)
    dict(MIGRATIONS)["pruned"](db)
    yield db
    db.close()


def test_an_entry_is_pruned_only_in_its_own_stream(db: sqlite3.Connection):
    Tombstones(db).add(make_key("a"), [FIRST_ID])
    tombstones = Tombstones(db)

    assert tombstones.has(make_key("a"), FIRST_ID)
    assert not tombstones.has(make_key("a"), SECOND_ID)
    assert not tombstones.has(make_key("b"), FIRST_ID)
    assert not tombstones.has(make_key("a", "subagent:x"), FIRST_ID)


def test_new_tombstones_are_added_to_those_of_the_stream(db: sqlite3.Connection):
    for entry_id in (FIRST_ID, SECOND_ID, FIRST_ID):
        Tombstones(db).add(make_key("a"), [entry_id])

    assert list(Tombstones(db).iter_all()) == [(*make_key("a"), b"1" * 8 + b"2" * 8)]


def test_tombstones_are_empty_until_an_entry_is_pruned(db: sqlite3.Connection):
    assert not Tombstones(db)

    Tombstones(db).add(make_key("a"), [FIRST_ID])

    assert Tombstones(db)


def test_tombstones_can_be_restored_in_another_store(db: sqlite3.Connection):
    tombstones = [(*make_key("a"), b"1" * 8)]
    Tombstones(db).restore(tombstones)

    assert list(Tombstones(db).iter_all()) == tombstones
