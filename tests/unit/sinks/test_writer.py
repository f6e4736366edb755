"""Files are written atomically, and other files stay unharmed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from leslied import sinks
from leslied.sinks import write_file
from tests.support.waiting import MAX_WAIT_SECONDS


def test_a_temporary_file_left_by_a_crash_is_replaced(tmp_path: Path):
    (tmp_path / ".leslied-new").write_text("half")

    write_file(tmp_path, "a.txt", b"whole")

    assert (tmp_path / "a.txt").read_bytes() == b"whole"
    assert not (tmp_path / ".leslied-new").exists()


@pytest.mark.fault("B13")
@pytest.mark.threat("P6")
@pytest.mark.timeout(MAX_WAIT_SECONDS)
def test_a_pipe_with_the_temporary_name_does_not_block(tmp_path: Path):
    os.mkfifo(tmp_path / ".leslied-new")

    write_file(tmp_path, "a.txt", b"whole")

    assert (tmp_path / "a.txt").read_bytes() == b"whole"


@pytest.mark.threat("P2", "P6")
@pytest.mark.parametrize("is_hard", [True, False])
def test_a_link_with_the_temporary_name_is_not_followed(tmp_path: Path, is_hard: bool):  # noqa: FBT001
    victim = tmp_path / "victim"
    victim.write_text("mine")
    link = os.link if is_hard else os.symlink
    link(victim, tmp_path / ".leslied-new")

    write_file(tmp_path, "a.txt", b"whole")

    assert victim.read_text() == "mine"


@pytest.mark.threat("P6")
def test_a_file_that_is_replaced_keeps_its_other_names(tmp_path: Path):
    (tmp_path / "victim").write_text("mine")
    (tmp_path / "a.txt").hardlink_to(tmp_path / "victim")

    write_file(tmp_path, "a.txt", b"whole")

    assert (tmp_path / "victim").read_text() == "mine"


def test_of_a_sparse_file_of_any_size_only_the_first_bytes_are_read(tmp_path: Path):
    (tmp_path / "large").touch()
    os.truncate(tmp_path / "large", 2**40)

    data = sinks.read_file(tmp_path, "large")

    assert data is not None
    assert len(data) == sinks.MAX_READ_BYTES + 1
