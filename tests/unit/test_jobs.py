"""Work that users request."""

from __future__ import annotations

from pathlib import Path

import pytest

from leslied import jobs
from leslied.app import App
from leslied.model.output import Artifact
from tests.support.claude import SESSION, ClaudeHome
from tests.support.queries import make_app, make_home_with_session, write_session


@pytest.fixture
def app(claude: ClaudeHome) -> App:
    return make_home_with_session(claude)


class Progress:
    """Recorder of the stages that were started."""

    def __init__(self) -> None:
        self.labels: list[str] = []

    def start(self, label: str, /, *, in_bytes: bool = False) -> None:
        self.labels.append(label)

    def update(self, done: int, total: int, /) -> None:
        pass


def count_sessions(app: App) -> int:
    with app.open_queries() as queries:
        return queries.reader.count_rows()["sessions"]


def test_a_rebuilt_store_has_the_same_sessions(app: App):
    answer = jobs.rebuild(app, Progress(), accept_loss=False)

    assert answer.to_dict()["sessions_same"] == 1
    assert answer.warnings == []
    assert count_sessions(app) == 1


def test_a_rebuild_writes_missing_outputs(app: App):
    progress = Progress()
    answer = jobs.rebuild(app, progress, accept_loss=False)

    labels = [label for label in progress.labels if label]
    assert labels[:2] == ["Reading archive and logs", "Writing transcripts"]
    assert "transcripts_written" in answer.to_dict()


def test_a_sync_reads_new_sources(claude: ClaudeHome):
    app = make_app(claude)
    write_session(claude)
    report = jobs.sync(app, Progress(), stop_all=False)

    assert report.result.sources == report.result.sources_changed == 1
    assert report.result.records_added > 0
    assert (report.warnings, report.problems, report.errors) == ([], [], [])
    assert not report.is_failed


def test_a_sync_that_stops_all_sessions_writes_their_transcripts(app: App):
    report = jobs.sync(app, Progress(), stop_all=True)

    assert report.result.transcripts_written == 2


def test_a_source_that_waits_is_a_problem_of_a_sync(claude: ClaudeHome):
    app = make_app(claude)
    app.paths.config_file.write_text('[projects]\nexclude = ["/secret"]\n')
    claude.write({"type": "mode", "mode": "normal", "sessionId": SESSION})
    report = jobs.sync(app, Progress(), stop_all=False)

    assert [problem.is_waiting for problem in report.problems] == [True]
    assert report.result.sources_waiting == 1


def test_a_paused_daemon_can_continue(app: App):
    paused = jobs.pause(app)
    was_paused = app.paths.pause_file.exists()
    unpaused = jobs.unpause(app)

    assert (paused.paused, was_paused) == (True, True)
    assert (unpaused.paused, app.paths.pause_file.exists()) == (False, False)


def test_missing_outputs_are_written_stage_by_stage(app: App):
    progress = Progress()
    report = jobs.write_outputs(app, progress)

    assert report.errors == []
    assert "Writing transcripts" in progress.labels
    assert progress.labels[-1] == "Indexing threads"


def test_artifacts_are_written_into_a_new_folder(tmp_path: Path):
    folder = tmp_path / "a" / "b"
    written = list(jobs.write_artifacts(folder, [Artifact(path="c.md", body=b"text")]))

    assert written == [(folder / "c.md", 4)]
    assert (folder / "c.md").read_bytes() == b"text"


def test_a_file_is_replaced(tmp_path: Path):
    path = tmp_path / "folder" / "file"
    jobs.make_folder(path.parent)
    for data in (b"old", b"new"):
        jobs.write_file(path, data)

    assert path.read_bytes() == b"new"


def test_a_link_is_left_to_a_running_daemon(app: App, home: Path):
    with app.open_writer():
        result = jobs.link_project(app, "/home/dev/app", str(home))

    assert not result.applied


def test_a_link_and_its_removal_apply_at_once(app: App, home: Path):
    linked = jobs.link_project(app, "app", str(home))
    unlinked = jobs.unlink_project(app, "app")

    assert (linked.new, linked.applied) == (str(home), True)
    assert (unlinked.new, unlinked.applied) == (None, True)
