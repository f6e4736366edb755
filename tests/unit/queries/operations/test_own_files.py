"""Files of leslied that others can access, or that Git tracks."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from leslied.app import App
from leslied.layout import SHARED_FILES
from leslied.model.record import SessionKey
from leslied.queries.operations.own_files import (
    TrackedFiles,
    iter_exposed_files,
    iter_tracked_files,
)
from leslied.store import Store
from tests.support.claude import ADAPTER, SESSION, ClaudeHome, ClaudeLogBuilder
from tests.support.git import git, make_repository
from tests.support.queries import make_app

META = ".leslie/threads/thread-1/.meta"


@pytest.fixture
def project(home: Path) -> Path:
    return make_repository(home / "app")


@pytest.fixture
def app(claude: ClaudeHome, project: Path) -> App:
    """Return an app whose store has a session with files in the project."""
    builder = ClaudeLogBuilder(cwd=str(project))
    claude.write(builder.prompt("go"))
    app = make_app(claude)
    with Store(claude.store_path, claude.clock) as store:
        claude.sync(store)
        with store.transcripts() as ledger:
            ledger.set_folder(SessionKey(ADAPTER.name, SESSION), os.fsencode(project))
    return app


def write_outputs(project: Path) -> None:
    for name in (*SHARED_FILES, f"{META}/transcripts/a b.txt", f"{META}/assets.json"):
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("text")


@pytest.mark.threat("S7")
def test_exposed_files_in_projects_are_repaired(app: App, project: Path):
    write_outputs(project)
    plan = project / ".leslie/threads/thread-1/plan.md"
    plan.write_text("# Plan")
    for path in (project / ".leslie").rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    with app.open_queries() as queries:
        repaired = set(iter_exposed_files(queries, repair=True))
        remaining = set(iter_exposed_files(queries))

    assert project / META / "transcripts/a b.txt" in repaired
    assert project / META in repaired
    assert {project / name for name in SHARED_FILES} <= repaired
    assert not remaining
    # An agent wrote the plan, so its mode is not leslied's to change.
    assert plan.stat().st_mode & 0o777 == 0o644


@pytest.mark.threat("S8")
def test_the_command_untracks_all_files_and_keeps_them(app: App, project: Path):
    write_outputs(project)
    (project / ".leslie/threads/thread-1/plan.md").write_text("# Plan")
    git(project, "add", "-A")
    with app.open_queries() as queries:
        (tracked,) = iter_tracked_files(queries)
    subprocess.run(["/bin/sh", "-c", tracked.format_command()], check=True)

    assert len(tracked.files) == len(SHARED_FILES) + 2
    assert git(project, "ls-files") == ".leslie/threads/thread-1/plan.md"
    assert (project / META / "assets.json").exists()
    with app.open_queries() as queries:
        assert not list(iter_tracked_files(queries))


@pytest.mark.threat("S8")
def test_the_folder_in_the_command_is_quoted():
    tracked = TrackedFiles(Path("/it's; rm -rf $HOME"), [".leslie/INDEX.md"])

    assert tracked.format_command() == (
        "git -C '/it'\"'\"'s; rm -rf $HOME' rm -q --cached -- .leslie/INDEX.md"
    )
