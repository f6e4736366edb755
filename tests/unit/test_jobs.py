"""Work that users request."""

from __future__ import annotations

from pathlib import Path

import pytest

from leslied import jobs
from leslied.app import App
from leslied.errors import AlreadyRunning
from leslied.model.output import Artifact
from leslied.queries.prune_plan import PruneRequest, RetentionPolicy
from tests.support.claude import ClaudeHome
from tests.support.queries import make_home_with_session

PRUNE_ALL = PruneRequest(policy=RetentionPolicy(keep_newest=0), include_failed=True)


@pytest.fixture
def app(claude: ClaudeHome) -> App:
    return make_home_with_session(claude)


class Progress:
    """Recorder of the stages that were started."""

    def __init__(self) -> None:
        self.labels: list[str] = []

    def start(self, label: str, /) -> None:
        self.labels.append(label)

    def update(self, done: int, total: int, /) -> None:
        pass


def count_sessions(app: App) -> int:
    with app.open_queries() as queries:
        return queries.reader.count_rows()["sessions"]


def test_a_plan_deletes_nothing(app: App):
    answer = jobs.plan_prune(app, PRUNE_ALL)

    assert len(answer.plan.candidates) == 1
    assert count_sessions(app) == 1


def test_pruning_deletes_the_planned_sessions(app: App):
    answer = jobs.prune(app, PRUNE_ALL, iter)

    assert answer.is_done
    assert answer.to_dict()["records_removed"] > 0
    assert count_sessions(app) == 0


def test_pruning_fails_while_somebody_writes(app: App):
    with app.open_writer(), pytest.raises(AlreadyRunning):
        jobs.prune(app, PRUNE_ALL, iter)


def test_a_rebuilt_store_has_the_same_sessions(app: App):
    report = jobs.rebuild(app, accept_loss=False, on_progress=lambda *_: None)

    assert report.to_dict()["sessions_same"] == 1
    assert count_sessions(app) == 1


def test_missing_outputs_are_written_stage_by_stage(app: App):
    progress = Progress()
    report = jobs.write_outputs(app, progress)

    assert report.errors == []
    assert progress.labels[0] == "Writing transcripts"
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
