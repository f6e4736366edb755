"""A text is found in the raw lines of logs and archive files."""

from __future__ import annotations

import os

import pytest

from leslied.literal_text import LiteralText
from leslied.pipeline.maintenance.raw_search import RawMatches, RawSearch
from leslied.store.read.forget_queries import ForgetReader
from tests.support.claude import ADAPTER, ClaudeHome, ClaudeLogBuilder
from tests.support.golden import make_environment
from tests.support.prune import sync_and_archive


def search(claude: ClaudeHome, text: str) -> RawMatches:
    roots = tuple(ADAPTER.roots(make_environment(claude.home), []))
    archive_dir = claude.store_path.parent / "archive"
    raw_search = RawSearch(
        text=LiteralText(text), roots={ADAPTER.name: roots}, archive_dir=archive_dir
    )
    with ForgetReader(claude.store_path) as reader:
        return raw_search.run(reader.list_read_sources())


@pytest.fixture
def archived_home(claude: ClaudeHome) -> ClaudeHome:
    builder = ClaudeLogBuilder()
    claude.write(builder.prompt("needle"), {"type": "api-request", "body": "noise"})
    sync_and_archive(claude)
    return claude


def test_lines_of_a_log_and_its_archive_file_are_found(archived_home: ClaudeHome):
    matches = search(archived_home, "needle")
    end = archived_home.log().read_bytes().index(b"\n") + 1
    key = (ADAPTER.name, os.fsencode(archived_home.log()), 1)

    assert matches.lines == {key: [(0, end)]}
    assert matches.logs == [str(archived_home.log())]
    assert len(matches.archive_files) == len(matches.line_digests) == 1
    assert matches.errors == []


def test_lines_that_exist_only_in_the_archive_are_found(archived_home: ClaudeHome):
    log = archived_home.log()
    log.unlink()
    matches = search(archived_home, "needle")

    assert list(matches.lines) == [(ADAPTER.name, os.fsencode(log), 1)]
    assert matches.logs == []


def test_noise_is_found(archived_home: ClaudeHome):
    assert (
        search(archived_home, "noise").sources
        == search(archived_home, "needle").sources
    )


def test_nothing_is_found_without_the_text(archived_home: ClaudeHome):
    assert search(archived_home, "missing") == RawMatches()


def test_a_damaged_archive_file_is_reported(archived_home: ClaudeHome):
    (path,) = search(archived_home, "needle").archive_files
    data = bytearray(path.read_bytes())
    data[-10] ^= 0xFF
    path.write_bytes(data)
    matches = search(archived_home, "needle")

    assert matches.archive_files == []
    assert "damaged" in matches.errors[0]
