"""Test that a reader answers every group of questions of its protocol."""

from __future__ import annotations

import inspect
from pathlib import Path

from leslied.store import Store, StoreReader
from leslied.store.read.queries import StoreQueries
from tests.support.clock import FakeClock


def test_a_reader_has_every_group_of_the_protocol(tmp_path: Path, clock: FakeClock):
    Store(tmp_path / "store.db", clock).close()
    groups = [
        name
        for name, value in inspect.getmembers(StoreQueries)
        if isinstance(value, property)
    ]

    with StoreReader(tmp_path / "store.db") as reader:
        found = [name for name in groups if getattr(reader, name) is not None]

    assert found == groups
    assert len(groups) >= 8
