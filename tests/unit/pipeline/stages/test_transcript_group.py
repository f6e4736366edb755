"""Test groups of transcripts that are written together."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from leslied.folders import FileBatch
from leslied.pipeline.stages import transcript_group
from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.unit.pipeline.stages.test_transcripts import SettleHarness

SESSIONS = 10


@pytest.fixture
def settle(claude: ClaudeHome, project: Path) -> SettleHarness:
    """Return a harness for some sessions of two units."""
    for number in range(SESSIONS):
        session_id = f"{number:08x}-0000-4333-8444-555555555555"
        builder = ClaudeLogBuilder(session_id, cwd=str(project))
        claude.write(
            builder.prompt(f"first of {number}"),
            builder.answer("Done."),
            builder.prompt("second"),
            builder.answer("Done, too."),
            name=f"-app/{session_id}.jsonl",
        )
    return SettleHarness(claude)


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> list[FileBatch]:
    """Return the batches of files; more are added while the test runs."""
    batches: list[FileBatch] = []

    def make_batch() -> FileBatch:
        batches.append(FileBatch())
        return batches[-1]

    monkeypatch.setattr(transcript_group, "FileBatch", make_batch)
    return batches


def test_units_of_many_sessions_are_written_together(
    settle: SettleHarness, batches: list[FileBatch]
):
    report = settle()

    assert report.files_written == 2 * SESSIONS
    assert len(batches) == 1


@pytest.mark.parametrize(
    ("limit", "value"), [("_MAX_UNITS", 2), ("_MAX_CHARACTERS", 1)]
)
def test_a_group_is_written_when_it_is_large(
    limit: str,
    value: int,
    settle: SettleHarness,
    batches: list[FileBatch],
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(transcript_group, limit, value)

    report = settle()

    assert report.files_written == 2 * SESSIONS
    assert len(batches) > SESSIONS
    assert settle().files_written == 0


def test_a_session_that_cannot_be_written_does_not_stop_the_others(
    settle: SettleHarness, project: Path
):
    threads = project / ".leslie" / "threads"
    threads.mkdir(parents=True)
    (threads / "thread-00000003").write_text("in the way")

    report = settle()

    # The transcripts of the other sessions are in the project, those of this one in
    # the central tree.
    assert report.files_written == 2 * SESSIONS
    transcripts = list(threads.glob("*/.meta/transcripts/*.txt"))
    assert len(transcripts) == 2 * (SESSIONS - 1)


def test_transcripts_that_could_not_get_their_names_are_written_by_the_next_run(
    settle: SettleHarness, home: Path, monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", fail_for_transcripts)
        failed = settle()
    repeated = settle()

    assert (failed.files_written, len(failed.errors)) == (0, SESSIONS)
    assert repeated.files_written == 2 * SESSIONS
    assert len(list(home.parent.rglob("transcripts/*.txt"))) == 2 * SESSIONS


def fail_for_transcripts(source: str, target: str, **folders: int) -> None:
    """Rename a file, such as .gitignore, but fail for a transcript."""
    if target.endswith(".txt"):
        raise OSError(errno.ENOSPC, "No space left on device")
    os.replace(source, target, **folders)  # noqa: PTH105 - below open folders
