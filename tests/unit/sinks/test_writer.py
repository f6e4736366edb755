"""A file is whole under its name, and nobody else's file is harmed for it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from leslied.sinks import write_file
from tests.support.waiting import PATIENCE_SECONDS


def test_what_a_crash_left_is_written_over(tmp_path: Path):
    (tmp_path / ".leslied-new").write_text("half")

    write_file(tmp_path, "a.txt", b"whole")

    assert (tmp_path / "a.txt").read_bytes() == b"whole"
    assert not (tmp_path / ".leslied-new").exists()


@pytest.mark.timeout(PATIENCE_SECONDS)
def test_a_pipe_in_the_way_is_not_waited_for(tmp_path: Path):
    """B13."""
    os.mkfifo(tmp_path / ".leslied-new")

    write_file(tmp_path, "a.txt", b"whole")

    assert (tmp_path / "a.txt").read_bytes() == b"whole"


@pytest.mark.parametrize("is_hard", [True, False])
def test_another_name_of_a_file_is_not_written_through(tmp_path: Path, is_hard: bool):  # noqa: FBT001
    victim = tmp_path / "victim"
    victim.write_text("mine")
    link = os.link if is_hard else os.symlink
    link(victim, tmp_path / ".leslied-new")

    write_file(tmp_path, "a.txt", b"whole")

    assert victim.read_text() == "mine"
