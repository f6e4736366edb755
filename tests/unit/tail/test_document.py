"""Test reading documents: files that an agent rewrites as a whole."""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path

import pytest

from leslied import tail
from leslied.errors import SourceError
from leslied.model.source import Cursor, Shape
from leslied.store import StoreReader
from leslied.tail import ReadLimits
from tests.support.claude import SESSION, ClaudeHome, ClaudeLogBuilder
from tests.support.records import bump_mtime, make_source, rewrite_in_place

FOLDER = f"-home-dev-app/{SESSION}/subagents"


class DocumentHarness:
    """Read one document repeatedly, as the daemon does."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.cursor = Cursor()

    def read_new(self, **limits: int) -> list[bytes]:
        """Return the document as an entry if it has changed since the last call."""
        source = make_source(self.path, Shape.DOCUMENT)
        if tail.is_unchanged(source, self.cursor):
            return []
        (chunk,) = tail.read(source, self.cursor, ReadLimits(**limits))
        self.cursor = chunk.cursor
        return [entry.data for entry in chunk.entries]


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "a.meta.json"
    path.write_bytes(b'{"a": 1}')
    return path


def write_meta(claude: ClaudeHome, **fields: object) -> Path:
    """Write or rewrite the side file of the subagent `x`; return its path."""
    path = claude.log(f"{FOLDER}/agent-x.meta.json")
    if path.exists():
        rewrite_in_place(path, json.dumps(fields).encode())
    else:
        path.write_text(json.dumps(fields))
    return path


def write_subagent(claude: ClaudeHome) -> None:
    task = ClaudeLogBuilder().prompt("Look around", isSidechain=True, agentId="x")
    claude.write(task, name=f"{FOLDER}/agent-x.jsonl")


def list_descriptions(claude: ClaudeHome) -> list[str]:
    with StoreReader(claude.store_path) as reader:
        return [s.description for s in reader.list_sessions() if s.is_subagent]


def test_a_document_is_one_entry(document: Path):
    assert DocumentHarness(document).read_new() == [b'{"a": 1}']


@pytest.mark.fault("A14")
def test_a_document_rewritten_with_the_same_bytes_yields_no_entry(document: Path):
    harness = DocumentHarness(document)
    harness.read_new()
    bump_mtime(document)

    assert harness.read_new() == []
    assert harness.cursor.generation == 1


@pytest.mark.fault("B3")
def test_a_changed_document_is_a_new_generation(document: Path):
    harness = DocumentHarness(document)
    harness.read_new()
    rewrite_in_place(document, b'{"a": 2}')

    assert harness.read_new() == [b'{"a": 2}']
    assert harness.cursor.generation == 2


@pytest.mark.fault("B5")
def test_a_document_replaced_by_rename_is_read(document: Path):
    harness = DocumentHarness(document)
    harness.read_new()
    replacement = document.with_name("other")
    replacement.write_bytes(b'{"a": 2}')
    replacement.rename(document)

    assert harness.read_new() == [b'{"a": 2}']


@pytest.mark.fault("A14")
@pytest.mark.parametrize("data", [b"", b" \n\t\n"])
def test_an_empty_document_yields_no_entry(document: Path, data: bytes):
    document.write_bytes(data)

    assert DocumentHarness(document).read_new() == []


@pytest.mark.fault("A8")
def test_a_document_that_is_too_large_raises_an_error(document: Path):
    with pytest.raises(SourceError, match="too large"):
        DocumentHarness(document).read_new(line=4)


@pytest.mark.fault("A8")
def test_a_large_document_does_not_stop_the_others(claude: ClaudeHome):
    claude.limits = ReadLimits(line=1000)
    path = write_meta(claude, description="x" * 2000)
    write_subagent(claude)

    report = claude.sync()

    assert list(report.unreadable) == [path]
    assert report.entries == 1


def test_a_side_file_alone_is_not_a_session(claude: ClaudeHome):
    write_meta(claude, description="Look around")

    claude.sync()

    with StoreReader(claude.store_path) as reader:
        assert reader.list_sessions() == []


@pytest.mark.fault("G5")
@pytest.mark.parametrize("first_file", ["side file", "log"])
def test_a_side_file_describes_its_subagent_in_either_order(
    claude: ClaudeHome, first_file: str
):
    if first_file == "log":
        write_subagent(claude)
        claude.sync()
    write_meta(claude, description="Look")
    claude.sync()
    if first_file == "side file":
        write_subagent(claude)
        claude.sync()

    assert list_descriptions(claude) == ["Look"]


def test_a_changed_description_replaces_the_old_one(claude: ClaudeHome):
    write_subagent(claude)
    for text in ("first", "other"):
        write_meta(claude, description=text)
        claude.sync()

    assert list_descriptions(claude) == ["other"]


@pytest.mark.fault("G7")
def test_a_description_that_is_changed_back_is_stored(claude: ClaudeHome):
    write_subagent(claude)
    for text in ("first", "other", "first"):
        write_meta(claude, description=text)
        claude.sync()

    assert list_descriptions(claude) == ["first"]


@pytest.mark.fault("G10")
def test_a_torn_document_is_rejected_until_it_is_complete(claude: ClaudeHome):
    write_subagent(claude)
    path = claude.log(f"{FOLDER}/agent-x.meta.json")
    path.write_bytes(b'{"description": "Lo')
    report_of_torn_document = claude.sync()
    rewrite_in_place(path, b'{"description": "Look"}')

    claude.sync()

    with StoreReader(claude.store_path) as reader:
        assert reader.count_rows()["rejected"] == 0
    assert report_of_torn_document.rejected == 1
    assert list_descriptions(claude) == ["Look"]


@pytest.mark.fault("G10")
def test_a_torn_document_does_not_delete_the_description(claude: ClaudeHome):
    write_subagent(claude)
    path = write_meta(claude, description="Look")
    claude.sync()
    rewrite_in_place(path, b'{"descr')

    claude.sync()

    assert list_descriptions(claude) == ["Look"]


def test_a_compressed_document_is_read_as_its_text(tmp_path: Path):
    path = tmp_path / "a.json.gz"
    path.write_bytes(gzip.compress(b'{"a": 1}'))
    harness = DocumentHarness(path)

    assert harness.read_new() == [b'{"a": 1}']
    assert (harness.cursor.offset, harness.cursor.crc) == (8, zlib.crc32(b'{"a": 1}'))


@pytest.mark.parametrize(
    "data",
    [gzip.compress(b"text")[:-9], gzip.compress(b" " * 9)],
    ids=["damaged", "too large"],
)
def test_a_compressed_document_that_is_damaged_or_too_large_is_an_error(
    tmp_path: Path, data: bytes
):
    path = tmp_path / "a.json.gz"
    path.write_bytes(data)

    with pytest.raises(SourceError, match="cannot be decompressed, or is too large"):
        DocumentHarness(path).read_new(unpacked=8)
