"""A kill while transcripts are written leaves whole files, one for each unit."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from leslied.sinks.leslie import parse_document
from tests.support.claude import AFTER_STORE_CREATION, ClaudeHome, ClaudeLogBuilder
from tests.support.cli import LesliedRunner

pytestmark = pytest.mark.e2e

PROMPTS = ["first", "second", "third"]


@pytest.fixture
def project_with_session(claude: ClaudeHome, project: Path) -> Path:
    """Return a project with a session of three units, each with a long answer."""
    builder = ClaudeLogBuilder(cwd=str(project), started_at=AFTER_STORE_CREATION)
    for prompt in PROMPTS:
        claude.write(builder.prompt(prompt), builder.answer(f"{prompt} " * 2_000))
    return project


def list_transcripts(project: Path) -> list[Path]:
    return sorted(project.glob(".leslie/threads/*/.meta/transcripts/*.txt"))


@pytest.mark.fault("E1")
@pytest.mark.parametrize("point", ["write.half", "write.before", "write.after"])
def test_a_killed_sync_leaves_whole_transcripts_and_the_next_completes_them(
    home: Path, project_with_session: Path, point: str
):
    leslied, project = LesliedRunner(home), project_with_session
    killed = leslied("sync", "--stop-all", LESLIED_CRASH_AT=f"{point}:4")
    left_by_kill = [path.read_text() for path in list_transcripts(project)]
    leslied("sync", "--stop-all")
    names = [path.stem.rpartition("-")[2] for path in list_transcripts(project)]
    texts = [path.read_text() for path in list_transcripts(project)]

    assert killed.code == -signal.SIGKILL
    assert names == PROMPTS
    assert set(left_by_kill) <= set(texts)
    assert all(parse_document(text).blocks for text in texts)
