"""Test reading compressed logs: every line once, and bombs are refused."""

from __future__ import annotations

from pathlib import Path

import pytest
import zstandard
from msgspec.structs import replace

from leslied import tail
from leslied.errors import SourceError
from leslied.model.source import Chunk, Cursor, Shape, SourceRef
from leslied.tail import ReadLimits
from tests.support.records import make_source

LINES = [b"line %d" % number for number in range(10)]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "a.jsonl.zst"


def write(log: Path, data: bytes) -> SourceRef:
    log.write_bytes(zstandard.compress(data))
    return replace(make_source(log), shape=Shape.COMPRESSED_LOG)


def join_lines(lines: list[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


def list_lines(chunks: list[Chunk]) -> list[bytes]:
    return [entry.data for chunk in chunks for entry in chunk.entries]


def test_a_chunk_has_a_limited_number_of_lines(log: Path):
    source = write(log, join_lines(LINES))

    chunks = list(tail.read(source, Cursor(), ReadLimits(entries=3)))

    assert [len(chunk.entries) for chunk in chunks] == [3, 3, 3, 1, 0]
    assert list_lines(chunks) == LINES


@pytest.mark.parametrize("chunk", [1, 7, 1000])
def test_reading_continues_after_any_chunk(log: Path, chunk: int):
    source = write(log, join_lines(LINES))
    limits = ReadLimits(chunk=chunk, entries=3)
    chunks = list(tail.read(source, Cursor(), limits))

    for number, last_chunk in enumerate(chunks[:-1], 1):
        later_chunks = list(tail.read(source, last_chunk.cursor, limits))

        assert list_lines([*chunks[:number], *later_chunks]) == LINES
        assert {each.cursor.generation for each in later_chunks} == {1}


def test_an_unfinished_log_that_changed_is_read_again_as_a_new_generation(log: Path):
    limits = ReadLimits(entries=3)
    first, *_ = tail.read(write(log, join_lines(LINES)), Cursor(), limits)
    source = write(log, join_lines(LINES[::-1]))

    again = list(tail.read(source, first.cursor, limits))

    assert list_lines(again) == LINES[::-1]
    assert {each.cursor.generation for each in again} == {2}


@pytest.mark.fault("A17")
def test_a_bomb_is_refused_before_any_line_is_read(log: Path):
    source = write(log, b"{}\n" * 1_000_000)

    with pytest.raises(SourceError, match="far more bytes than a log does"):
        next(tail.read(source, Cursor(), ReadLimits(unpacked=1_000_000)))


@pytest.mark.fault("A17")
def test_a_log_that_compresses_well_is_read(log: Path):
    source = write(log, join_lines(LINES) * 1000)

    chunks = list(tail.read(source, Cursor(), ReadLimits(unpacked=10)))

    assert len(list_lines(chunks)) == 10_000
