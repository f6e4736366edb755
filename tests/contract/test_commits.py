"""Test that units do not depend on which entries are committed together."""

from __future__ import annotations

import contextlib
import random
import sqlite3
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from leslied import tail
from leslied.agents import AgentAdapter
from leslied.model.decoded_chunk import DecodedChunk
from leslied.model.source import Cursor, Shape
from leslied.pipeline import Budget, Ingest, RedecodeStage
from leslied.sessions.totals import SessionTotals
from leslied.store import Store
from leslied.store.sql import list_columns
from tests.support import golden
from tests.support.clock import FakeClock
from tests.support.redecode import UpgradedAdapter, make_ingest

over_cases = pytest.mark.parametrize(
    ("adapter", "case"), golden.list_all_cases(), ids=golden.format_case_id
)


def decode_home(ingest: Ingest) -> list[DecodedChunk]:
    """Return the chunks of all sources, in the order in which a scan reads them."""
    discovered = tail.discover(ingest.adapter.name, ingest.roots).sources
    sources = sorted(discovered, key=lambda source: source.shape is Shape.DOCUMENT)
    batches = ingest.make_source_reader().read((s, Cursor()) for s in sources)
    return [chunk for batch in batches for chunk in batch.chunks]


def divide(chunk: DecodedChunk, chance: random.Random) -> Iterator[DecodedChunk]:
    """Divide a chunk at random entries; the last part has noise and rejections."""
    entries, max_size = chunk.entries, chance.choice([1, 3, 20])
    while len(entries) > 1:
        size = chance.randint(1, max_size)
        yield replace(chunk, entries=entries[:size], noise=(), rejected=())
        entries = entries[size:]
    yield replace(chunk, entries=entries)


def describe(path: Path) -> list[tuple[Any, ...]]:
    """Return the totals of all sessions, and the unit of each placement."""
    columns = list_columns([field.name for field in fields(SessionTotals)])
    with contextlib.closing(sqlite3.connect(path)) as db:
        return [
            *db.execute(f"SELECT session_id, {columns} FROM session ORDER BY id"),
            *db.execute("SELECT id, session, entry, unit FROM placement ORDER BY id"),
        ]


@over_cases
def test_commits_of_any_size_and_decoding_again_give_the_same_units(
    adapter: AgentAdapter, case: Path, home: Path, tmp_path: Path, clock: FakeClock
):
    golden.copy_home(case, home)
    chance = random.Random(case.name)
    whole, divided = tmp_path / "whole" / "store.db", tmp_path / "divided" / "store.db"
    with Store(whole, clock) as store:
        chunks = decode_home(make_ingest(home, store, adapter))
        store.commit(chunks)
    with Store(divided, clock) as store:
        for part in (part for chunk in chunks for part in divide(chunk, chance)):
            store.commit([part])
    divided_contents = describe(divided)
    with Store(divided, clock) as store:
        store._db.execute("UPDATE session SET forks = 'unknown'")
        RedecodeStage(
            store=store,
            ingests=[make_ingest(home, store, UpgradedAdapter(adapter))],
            archive_dir=tmp_path / "archive",
        ).run(Budget(max_redecoded_bytes=10**9))

    assert divided_contents == describe(whole)
    assert describe(divided) == describe(whole)
