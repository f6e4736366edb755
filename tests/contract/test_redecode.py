"""Test that decoding again gives the same store as decoding for the first time."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from pathlib import Path

import pytest
from msgspec import structs

from leslied.agents import AgentAdapter
from leslied.model.record import Record
from leslied.pipeline import Budget, RedecodeStage
from leslied.store import Store
from tests.support import golden
from tests.support.clock import FakeClock
from tests.support.redecode import UpgradedAdapter, keep, make_ingest

CASES = golden.list_all_cases()
over_cases = pytest.mark.parametrize(
    ("adapter", "case"), CASES, ids=golden.format_case_id
)
_AGENTS_THAT_DELETE_ENTRIES = (
    *("crush", "goose", "hermes", "kilo", "openclaw", "opencode", "openhands", "vibe"),
)
"""Agents of whose entries a missing one is not removed."""


def change(record: Record) -> Iterable[Record]:
    """Change the text of some records, split others, drop others."""
    text = f"{record.type}{record.content}{record.tool_input}"
    match zlib.crc32(text.encode()) % 6:
        case 0:
            return [structs.replace(record, content=f"{record.content} (new)")]
        case 1:
            return [record, structs.replace(record, block=record.block + 10**6)]
        case 2 if record.session.agent not in _AGENTS_THAT_DELETE_ENTRIES:
            return []
        case 3:
            return [structs.replace(record, model="new", usage=None)]
    return [record]


def redecode(adapter: AgentAdapter, home: Path, path: Path, clock: FakeClock) -> None:
    with Store(path, clock) as store:
        stage = RedecodeStage(
            store=store,
            ingests=[make_ingest(home, store, adapter)],
            archive_dir=path.parent / "archive",
        )
        report = stage.run(Budget(max_redecoded_bytes=10**9))
    assert report.errors == {}
    assert report.impossible == 0


@over_cases
def test_decoding_again_changes_nothing_if_the_decoder_yields_the_same(
    adapter: AgentAdapter, case: Path, home: Path, tmp_path: Path, clock: FakeClock
):
    golden.copy_home(case, home)
    path = tmp_path / "store" / "store.db"
    golden.sync_home(adapter, home, path, clock)
    before = golden.describe_store(path)

    redecode(UpgradedAdapter(adapter, keep), home, path, clock)

    assert golden.describe_store(path) == before


@over_cases
def test_decoding_again_equals_the_first_decoding_by_the_same_decoder(
    adapter: AgentAdapter, case: Path, home: Path, tmp_path: Path, clock: FakeClock
):
    golden.copy_home(case, home)
    upgraded = UpgradedAdapter(adapter, change)
    old, new = tmp_path / "old" / "store.db", tmp_path / "new" / "store.db"
    golden.sync_home(adapter, home, old, clock)
    golden.sync_home(upgraded, home, new, clock)

    redecode(upgraded, home, old, clock)

    assert golden.describe_store(old) == golden.describe_store(new)
