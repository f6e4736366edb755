"""Long work tells how far it is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from leslied.cli.app import App
from leslied.paths import get_paths, read_environ
from leslied.pipeline import Pipeline
from leslied.store import Store
from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.clock import FakeClock

ProgressCalls = list[tuple[int, int]]


@pytest.fixture
def told() -> ProgressCalls:
    return []


@pytest.fixture
def streets(claude: ClaudeHome, clock: FakeClock, told: ProgressCalls):
    """The daemon's work on three sessions, with somebody who looks on."""
    for number in range(3):
        talk = ClaudeLogBuilder(f"{number:08d}-2222-4333-8444-555555555555")
        lines = (talk.prompt("fix it"), talk.answer("Done."))
        claude.write(*lines, name=f"-home-dev-app/{talk.session_id}.jsonl")
    environ = read_environ()
    app = App(environ, get_paths(environ), clock)
    with Store(app.paths.store_file, clock) as store, app.open_reader() as reader:
        yield app.make_pipeline(
            store, reader, is_final=True, on_progress=lambda *far: told.append(far)
        )


def test_a_first_read_tells_its_bytes(
    streets: Pipeline, claude: ClaudeHome, told: ProgressCalls
):
    for ingest in streets.ingests:
        replace(ingest, weight=1).scan()

    size = sum(path.stat().st_size for path in Path(claude.projects).rglob("*.jsonl"))
    assert told[-1] == (size, size)
    assert told == sorted(told)


def test_a_later_read_does_not_know_of_how_much(
    streets: Pipeline, claude: ClaudeHome, told: ProgressCalls
):
    (ingest,) = (each for each in streets.ingests if each.adapter.name == "claude-code")
    ingest.scan()
    told.clear()
    line = ClaudeLogBuilder().prompt("more")
    claude.write(line)

    done = ingest.scan()

    assert told == [(done.bytes_read, 0)]


def test_transcripts_and_indexes_tell_their_steps(
    streets: Pipeline, told: ProgressCalls
):
    for ingest in streets.ingests:
        ingest.scan()
    told.clear()

    streets.settle.run()
    settled = told.copy()
    streets.asset_index.run()
    collected = told[len(settled) :]

    assert settled == [(1, 3), (2, 3), (3, 3)]
    assert collected == [(number, 6) for number in range(1, 7)]
