"""Test reading small JSON files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from leslied.errors import SourceError
from leslied.model.source import FileStamp
from leslied.tail.json_files import (
    add_to_stamp,
    list_names,
    load_json,
    load_json_or_error,
)
from leslied.tail.limits import ReadLimits


def test_valid_json_is_returned_without_white_space(tmp_path: Path):
    (tmp_path / "a.json").write_text(' {"a": 1}\n')

    assert load_json(tmp_path / "a.json", tmp_path, ReadLimits()) == b'{"a": 1}'


def test_text_that_is_not_json_becomes_a_json_string(tmp_path: Path):
    (tmp_path / "a.json").write_text('{"a": ')

    assert load_json(tmp_path / "a.json", tmp_path, ReadLimits()) == b'"{\\"a\\":"'


def test_a_file_that_is_too_large_raises_an_error(tmp_path: Path):
    (tmp_path / "a.json").write_text("[1, 2, 3]")

    with pytest.raises(SourceError, match="too large"):
        load_json(tmp_path / "a.json", tmp_path, ReadLimits(line=5))


def test_the_error_of_a_missing_file_becomes_a_json_string(tmp_path: Path):
    data = load_json_or_error(tmp_path / "a.json", tmp_path, ReadLimits())

    assert data == b'"cannot be opened: No such file or directory"'


def test_only_ascii_names_with_the_suffix_are_listed(tmp_path: Path):
    for name in ("a.json", "b.txt", "ü.json"):
        (tmp_path / "folder" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "folder" / name).touch()

    assert list_names(tmp_path / "folder", tmp_path, ".json") == ["a"]
    assert list_names(tmp_path / "missing", tmp_path) == []


def test_files_added_to_a_stamp_count_in_its_size_and_time(tmp_path: Path):
    (tmp_path / "a").write_text("12345")
    os.utime(tmp_path / "a", ns=(7, 7))

    stamp = add_to_stamp(
        FileStamp(1, 2, 3, 4, 5), [tmp_path / "a", tmp_path / "missing"]
    )

    assert (stamp.inode, stamp.size, stamp.mtime_ns) == (2, 8, 7)
