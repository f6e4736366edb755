"""Test the progress callbacks of the stages."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from leslied.app import App
from leslied.paths import get_paths, read_environ
from leslied.pipeline import AssetIndex, Flow, Ingest, TranscriptStage
from leslied.store import Store
from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.clock import FakeClock

ProgressCalls = list[tuple[int, int]]


@pytest.fixture
def progress() -> ProgressCalls:
    return []


@pytest.fixture
def flow(claude: ClaudeHome, clock: FakeClock, progress: ProgressCalls):
    """Return a flow over three sessions that records its progress."""
    for number in range(3):
        builder = ClaudeLogBuilder(f"{number:08d}-2222-4333-8444-555555555555")
        lines = (builder.prompt("fix it"), builder.answer("Done."))
        claude.write(*lines, name=f"-home-dev-app/{builder.session_id}.jsonl")
    environ = read_environ()
    app = App(environ, get_paths(environ), clock)
    with Store(app.paths.store_file, clock) as store, app.open_reader() as reader:
        yield app.make_flow(
            store,
            reader,
            is_final=True,
            on_progress=lambda *amounts: progress.append(amounts),
        )


def list_ingests(flow: Flow) -> list[Ingest]:
    return [stage for stage in flow.stages if isinstance(stage, Ingest)]


def test_a_first_scan_reports_its_bytes_and_their_total(
    flow: Flow, claude: ClaudeHome, progress: ProgressCalls
):
    for ingest in list_ingests(flow):
        replace(ingest, weight=1).scan()

    size = sum(path.stat().st_size for path in Path(claude.projects).rglob("*.jsonl"))
    assert progress[-1] == (size, size)
    assert progress == sorted(progress)


def test_a_later_scan_reports_no_total(
    flow: Flow, claude: ClaudeHome, progress: ProgressCalls
):
    (ingest,) = (
        candidate
        for candidate in list_ingests(flow)
        if candidate.adapter.name == "claude-code"
    )
    ingest.scan()
    progress.clear()
    line = ClaudeLogBuilder().prompt("more")
    claude.write(line)

    report = ingest.scan()

    assert progress == [(report.bytes_read, 0)]


def test_transcripts_and_asset_index_report_each_session(
    flow: Flow, progress: ProgressCalls
):
    for ingest in list_ingests(flow):
        ingest.scan()
    progress.clear()

    flow.get_stage(TranscriptStage).run()
    transcript_progress = progress.copy()
    flow.get_stage(AssetIndex).run()
    index_progress = progress[len(transcript_progress) :]

    assert transcript_progress == [(1, 3), (2, 3), (3, 3)]
    assert index_progress == [(number, 6) for number in range(1, 7)]
