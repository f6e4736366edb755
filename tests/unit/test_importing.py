"""Import sessions from files, and read them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from leslied import importing
from leslied.app import App
from leslied.errors import UserError
from leslied.paths import get_paths
from leslied.store import StoreReader
from tests.support.clock import FakeClock

PROMPT = {"step_id": 1, "source": "user", "message": "Hello"}
TRAJECTORY = {"schema_version": "ATIF-v1.8", "session_id": "run-1", "steps": [PROMPT]}


class SilentProgress:
    def start(self, label: str, /, *, in_bytes: bool = False) -> None:
        pass

    def update(self, done: int, total: int, /) -> None:
        pass


@pytest.fixture
def app(home: Path, clock: FakeClock) -> App:
    environ = {"HOME": str(home)}
    return App(environ, get_paths(environ), clock)


@pytest.fixture
def trajectory(tmp_path: Path) -> Path:
    path = tmp_path / "t.json"
    path.write_text(json.dumps(TRAJECTORY))
    return path


def import_files(app: App, *paths: Path) -> importing.ImportReport:
    return importing.import_files(app, SilentProgress(), paths)


def test_an_imported_session_is_in_the_store(app: App, trajectory: Path):
    report = import_files(app, trajectory)

    assert report.result.sources == {"atif": 1}
    assert (report.result.records_added, report.result.left_to_daemon) == (2, False)
    with StoreReader(app.paths.store_file) as reader:
        assert [s.key.session_id for s in reader.list_sessions()] == ["run-1"]


def test_importing_twice_adds_nothing(app: App, trajectory: Path):
    import_files(app, trajectory)

    report = import_files(app, trajectory)

    assert (report.result.sources_changed, report.result.records_added) == (0, 0)


def test_while_the_daemon_runs_it_reads_the_copies(app: App, trajectory: Path):
    with app.open_writer():
        report = import_files(app, trajectory)

    assert report.result.left_to_daemon
    assert (app.paths.imports_dir / "atif" / "run-1.json").exists()


def test_a_file_without_sessions_fails_but_others_are_imported(
    app: App, trajectory: Path, tmp_path: Path
):
    other = tmp_path / "notes.txt"
    other.write_text("x")

    report = import_files(app, other, trajectory)

    assert report.is_failed
    assert report.result.sources == {"atif": 1}
    with pytest.raises(UserError, match="has no sessions"):
        import_files(app, other)


def test_folders_of_imports_that_do_not_exist_are_no_roots(app: App, trajectory: Path):
    def list_roots() -> list[str]:
        agents = app.iter_agent_roots(app.load_settings())
        roots = [root.path for _, roots in agents for root in roots]
        return [path.name for path in roots if path.parent == app.paths.imports_dir]

    before = list_roots()
    import_files(app, trajectory)

    assert (before, list_roots()) == ([], ["atif"])
