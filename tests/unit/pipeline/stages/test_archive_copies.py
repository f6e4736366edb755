"""Sources are copied into their archive files by one process or by two."""

from __future__ import annotations

import os
import zlib
from pathlib import Path

import pytest

from leslied.archive import ArchiveReader
from leslied.errors import SourceError
from leslied.model.source import Cursor
from leslied.pipeline.stages import archive_copies
from leslied.pipeline.stages.archive_copies import SourceCopy, run_copies
from leslied.store.ledgers.archive import DueSource
from leslied.tail import ReadLimits
from tests.support.records import make_source


@pytest.fixture
def copies(tmp_path: Path) -> list[SourceCopy]:
    """Return the copies of four logs, of which the third is missing."""
    return [make_copy(tmp_path, number) for number in range(4)]


def make_copy(folder: Path, number: int) -> SourceCopy:
    log = folder / f"{number}.jsonl"
    data = b"line\n" * (number + 1)
    if number != 2:
        log.write_bytes(data)
    cursor = Cursor(offset=len(data), crc=zlib.crc32(data))
    due = DueSource(number, "claude-code", os.fsencode(log), 1, cursor, None)
    source = make_source(log)
    return SourceCopy(due, source, folder, f"{number}.zst", newest=1, spills=[])


@pytest.mark.parametrize("min_forked_bytes", [0, 10**9])
def test_one_process_copies_the_same_as_two(
    min_forked_bytes: int, copies: list[SourceCopy], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(archive_copies, "_MIN_FORKED_BYTES", min_forked_bytes)

    outcomes = {c.due.source: o for c, o in run_copies(copies, ReadLimits(), None)}

    assert isinstance(outcomes.pop(2).error, SourceError)
    assert {n: outcome.bytes_read for n, outcome in outcomes.items()} == {
        0: 5,
        1: 10,
        3: 20,
    }
    for number in outcomes:
        with ArchiveReader(copies[0].folder / f"{number}.zst") as reader:
            assert [frame.length for frame in reader.frames] == [5 * (number + 1)]


def test_an_unexpected_error_is_named_by_its_place(
    copies: list[SourceCopy], monkeypatch: pytest.MonkeyPatch
):
    def fail(*_: object) -> None:
        raise ZeroDivisionError("text of a session")

    monkeypatch.setattr(SourceCopy, "append_to", fail)

    outcomes = [outcome for _, outcome in run_copies(copies, ReadLimits(), None)]

    for outcome in outcomes:
        assert str(outcome.error).startswith("unexpected ZeroDivisionError")
