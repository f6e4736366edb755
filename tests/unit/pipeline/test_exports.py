"""Sessions that stop have the outputs that the settings ask for, and no others do."""

from __future__ import annotations

import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from leslied.pipeline import Exports, ExportsReport, Settle
from leslied.redact import Redactor
from leslied.redact.session import redact_session
from leslied.sinks import OutputPolicy, load_sinks
from leslied.store import Store, StoreReader
from tests.support.claude import SESSION, ClaudeHome, ClaudeLogBuilder
from tests.support.clock import FakeClock
from tests.support.exports import DevflowRun, read_session

KEY = "ghp_" + "A1b2" * 9
EXPORTS = ".leslie/threads/thread-11111111/.meta/exports"
REDACT = Redactor(b"key").redact


@pytest.fixture
def clock() -> FakeClock:
    """The store is made before the talk begins."""
    clock = FakeClock()
    clock.at = datetime(2026, 11, 16, 9, tzinfo=UTC)
    return clock


@pytest.fixture
def project(home: Path) -> Path:
    folder = home / "app"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


@pytest.fixture
def talk(project: Path, claude: ClaudeHome) -> ClaudeLogBuilder:
    talk = ClaudeLogBuilder(cwd=str(project))
    claude.write(talk.prompt(f"use {KEY}"), talk.answer("Used."))
    return talk


def run_exports(
    claude: ClaudeHome,
    *formats: str,
    stopped: bool = True,
    live: tuple[str, str] = ("", ""),
) -> ExportsReport:
    """Everything is read and settled, then published."""
    policy = OutputPolicy(home=claude.home, central=claude.home / "c", user=os.getuid())
    with (
        Store(claude.store_path, claude.clock) as store,
        StoreReader(claude.store_path) as reader,
    ):
        claude.sync(store)
        if stopped:
            store.mark_stopped("claude-code", [SESSION])
        known = {"store": store, "reader": reader, "clock": claude.clock}
        Settle(policy=policy, redact=REDACT, zone=UTC, is_final=True, **known).run()
        return Exports(
            redact=REDACT, formats=formats, live_sessions={live}, **known
        ).run()


def files(project: Path) -> list[str]:
    folder = project / EXPORTS
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def test_nothing_is_published_unless_it_is_asked_for(
    claude: ClaudeHome, talk: ClaudeLogBuilder, project: Path
):
    assert run_exports(claude) == ExportsReport()
    assert files(project) == []


def test_a_stopped_session_has_every_output_that_is_asked_for(
    claude: ClaudeHome, talk: ClaudeLogBuilder, project: Path
):
    done = run_exports(claude, "html", "devflow")

    assert (done.sessions, done.files_written) == (1, 3)
    run = "runs/2026-11-16-claude-code-11111111"
    page = next(name for name in files(project) if name.endswith(".html"))
    assert files(project) == sorted(
        [page, f"{run}/metadata.json", f"{run}/transcript.json"]
    )
    assert DevflowRun(project / EXPORTS, run.removeprefix("runs/")).turns
    assert KEY not in page + (project / EXPORTS / page).read_text()
    assert (project / EXPORTS / page).stat().st_mode & 0o777 == 0o600


def test_the_file_is_what_export_would_write(
    claude: ClaudeHome, talk: ClaudeLogBuilder, project: Path, clock: FakeClock
):
    run_exports(claude, "json")

    found = redact_session(read_session(claude.store_path, clock), REDACT)
    (artifact,) = load_sinks()["json"].render(found)
    assert (project / EXPORTS / artifact.path).read_bytes() == artifact.body


def test_a_session_that_works_waits_until_it_stops(
    claude: ClaudeHome, talk: ClaudeLogBuilder, clock: FakeClock
):
    first = run_exports(claude, "html", stopped=False)
    clock.advance(7200)
    held = run_exports(claude, "html", stopped=False, live=("claude-code", SESSION))

    quiet = run_exports(claude, "html", stopped=False)

    assert (first.files_written, held.files_written, quiet.files_written) == (0, 0, 1)


def test_a_second_run_writes_nothing_and_growth_writes_the_same_file(
    claude: ClaudeHome, talk: ClaudeLogBuilder, project: Path, clock: FakeClock
):
    run_exports(claude, "markdown")
    before = files(project)
    again = run_exports(claude, "markdown")
    clock.advance(60)
    claude.write(talk.prompt("more"), talk.answer("And more."))

    grown = run_exports(claude, "markdown")

    assert (again.files_written, grown.files_written) == (0, 1)
    assert files(project) == before
    assert "And more." in (project / EXPORTS / before[0]).read_text()


def test_another_wish_is_granted_to_sessions_that_stopped_before(
    claude: ClaudeHome, talk: ClaudeLogBuilder, project: Path
):
    run_exports(claude, "markdown")

    done = run_exports(claude, "markdown", "atif")

    assert done.files_written == 2
    assert len(files(project)) == 2


def test_a_session_older_than_the_store_is_left_alone(
    claude: ClaudeHome, talk: ClaudeLogBuilder, clock: FakeClock
):
    clock.at = datetime(2026, 11, 17, tzinfo=UTC)

    assert run_exports(claude, "html").files_written == 0


def test_what_cannot_be_written_is_told_and_tried_again(
    claude: ClaudeHome, talk: ClaudeLogBuilder, project: Path
):
    run_exports(claude)
    meta = (project / EXPORTS).parent
    (meta / "exports").symlink_to(claude.home)

    told = run_exports(claude, "html")
    (meta / "exports").unlink()
    again = run_exports(claude, "html")

    assert list(told.errors) == [SESSION]
    assert (told.files_written, again.files_written) == (0, 1)


def test_a_session_whose_exports_fail_unexpectedly_is_tried_again(
    claude: ClaudeHome,
    talk: ClaudeLogBuilder,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    with monkeypatch.context() as patch:
        patch.setattr(Exports, "_load_session", lambda *_: 1 / 0)
        done = run_exports(claude, "html")

    assert done.errors[SESSION].startswith("unexpected ZeroDivisionError")
    assert run_exports(claude, "html").sessions == 1
