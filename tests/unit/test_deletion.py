"""Deletion that users request."""

from __future__ import annotations

import pytest

from leslied import deletion
from leslied.app import App
from leslied.errors import AlreadyRunning
from leslied.queries.annotations import MarksChange, change_marks
from leslied.queries.operations.forget_plan import ForgetRequest
from leslied.queries.operations.prune_plan import PruneRequest, RetentionPolicy
from leslied.sessions.retention import PruneCandidate
from tests.support.claude import SESSION, ClaudeHome
from tests.support.forget import NoProgress
from tests.support.queries import make_home_with_session

PRUNE_ALL = PruneRequest(policy=RetentionPolicy(keep_newest=0), include_failed=True)


@pytest.fixture
def app(claude: ClaudeHome) -> App:
    return make_home_with_session(claude)


def track_nothing(
    batches: list[list[PruneCandidate]],
) -> list[list[PruneCandidate]]:
    """Return the batches of sessions to delete, without showing progress."""
    return batches


def count_sessions(app: App) -> int:
    with app.open_queries() as queries:
        return queries.reader.count_rows()["sessions"]


def test_a_plan_deletes_nothing(app: App):
    answer = deletion.plan_prune(app, PRUNE_ALL)

    assert len(answer.plan.candidates) == 1
    assert count_sessions(app) == 1


def test_pruning_deletes_the_planned_sessions(app: App):
    answer = deletion.prune(app, PRUNE_ALL, track_nothing)

    assert answer.is_done
    assert answer.to_dict()["records_removed"] > 0
    assert count_sessions(app) == 0


def annotate(app: App, note: str) -> None:
    with app.open_queries() as queries:
        change_marks(queries, SESSION, MarksChange(note=note))


@pytest.mark.parametrize(
    "request_", [ForgetRequest(id=SESSION), ForgetRequest(text="And now?")]
)
def test_forgetting_deletes_annotations(app: App, request_: ForgetRequest):
    annotate(app, "I asked: And now?")

    deletion.forget(app, request_, NoProgress())

    assert app.open_annotations().load().by_session == {}
    assert b"And now?" not in app.paths.annotations_file.read_bytes()


def test_pruning_deletes_annotations(app: App):
    annotate(app, "a note")

    deletion.prune(app, PRUNE_ALL, track_nothing)

    assert app.open_annotations().load().by_session == {}


def test_pruning_fails_while_somebody_writes(app: App):
    with app.open_writer(), pytest.raises(AlreadyRunning):
        deletion.prune(app, PRUNE_ALL, track_nothing)
