"""Checks and repairs that `leslied doctor` makes."""

from __future__ import annotations

import pytest

from leslied import repair
from leslied.app import App
from leslied.errors import UserError
from tests.support.claude import ClaudeHome
from tests.support.queries import make_app, make_home_with_session


@pytest.fixture
def app(claude: ClaudeHome) -> App:
    return make_home_with_session(claude)


def ignore_progress(done: int, total: int, /) -> None:
    del done, total


def test_logs_of_an_unknown_agent_cannot_be_proven(app: App):
    with pytest.raises(UserError, match="There is no agent 'nobody'"):
        repair.prove_logs(app, ignore_progress, "nobody")


def test_proving_logs_reports_the_bytes_compared(app: App):
    progress: list[tuple[int, int]] = []

    repair.prove_logs(app, lambda done, total: progress.append((done, total)), "")

    total = progress[-1][1]
    assert total > 0
    assert progress[-1] == (total, total)
    assert progress == sorted(progress)


def test_files_that_others_can_read_are_made_private(app: App):
    app.paths.store_file.chmod(0o644)

    assert repair.repair_modes(app) == 1
    assert app.paths.store_file.stat().st_mode & 0o777 == 0o600


def test_an_undamaged_archive_needs_no_repair(app: App):
    assert repair.repair_archive(app) == (0, 0)


def test_without_a_store_nothing_is_repaired(claude: ClaudeHome):
    assert repair.repair_archive(make_app(claude)) == (0, 0)
