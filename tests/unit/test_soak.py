"""A soak names what went wrong, and shows no figures of code that was changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.soak import __main__ as soak
from tests.soak.faults import format_failure
from tests.soak.progress import Code, Progress

CODE = Code("1234abcd", "tree")


def test_a_failed_system_call_is_named_with_its_problems():
    item = {
        "scenario": "later run",
        "syscall": "fsync",
        "number": 3,
        "fault": "EIO",
        "is_hit": True,
        "problems": ["cursors", "sessions"],
    }

    assert format_failure(item) == (
        "faults: later run, fsync 3, EIO: cursors; sessions"
    )


def test_no_figures_are_saved_if_leslied_was_changed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(soak, "read_code", lambda: Code("1234abcd+", "tree+"))

    with pytest.raises(SystemExit, match="changed during the soak"):
        soak.check_code(CODE)


def test_figures_are_saved_after_a_commit_that_does_not_change_leslied(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(soak, "read_code", lambda: Code("5678abcd", "tree"))

    soak.check_code(CODE)


def test_work_of_another_version_does_not_count(tmp_path: Path):
    path = tmp_path / "kills.jsonl"
    Progress(path, CODE).add(round=1)
    Progress(path, Code("5678abcd", "other")).add(round=2)

    assert [item["round"] for item in Progress(path, CODE).items] == [1]
    assert len(Progress(path, CODE, keeps_all=True).items) == 2


def test_a_line_that_a_kill_has_torn_is_left_out(tmp_path: Path):
    path = tmp_path / "kills.jsonl"
    Progress(path, CODE).add(round=1)
    path.write_bytes(path.read_bytes() + b'{"round": 2, "tr')
    Progress(path, CODE).add(round=3)

    assert [item["round"] for item in Progress(path, CODE).items] == [1, 3]
