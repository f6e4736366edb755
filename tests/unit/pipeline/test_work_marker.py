"""What was in progress when the process died is known at the next start."""

from __future__ import annotations

from pathlib import Path

import pytest

from leslied.pipeline.work_marker import WorkMarker


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "in-progress"


def test_work_in_progress_is_left_to_the_next_process(path: Path):
    marker = WorkMarker(path)
    marker.add("source", "/a\nb.jsonl")
    marker.add("source", "/c.jsonl")

    assert WorkMarker(path).take() == [
        ("source", "/a\nb.jsonl"),
        ("source", "/c.jsonl"),
    ]
    assert WorkMarker(path).take() == []


def test_cleared_work_is_not_left_to_the_next_process(path: Path):
    marker = WorkMarker(path)
    marker.add("source", "/a.jsonl")
    marker.clear()

    assert WorkMarker(path).take() == []


def test_the_same_work_is_written_once(path: Path):
    marker = WorkMarker(path)
    for _ in range(3):
        marker.add("source", "/a.jsonl")

    assert len(path.read_bytes().splitlines()) == 1


def test_an_incomplete_line_is_ignored(path: Path):
    path.write_bytes(b'["source","/a.jsonl"]\n["sour')

    assert WorkMarker(path).take() == [("source", "/a.jsonl")]


def test_only_the_user_can_read_the_names(path: Path):
    WorkMarker(path).add("source", "/a.jsonl")

    assert path.stat().st_mode & 0o777 == 0o600


def test_a_folder_that_cannot_be_written_stops_no_work(tmp_path: Path):
    marker = WorkMarker(tmp_path / "missing" / "in-progress")

    marker.add("source", "/a.jsonl")
    marker.clear()

    assert marker.take() == []
