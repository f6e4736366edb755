"""Test the exports stage: stopped sessions are written in configured formats."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from leslied.pipeline import Exports, ExportsReport, TranscriptStage
from leslied.redact import Redactor
from leslied.redact.session import redact_session
from leslied.sinks import OutputPolicy, load_sinks
from leslied.store import Store, StoreReader
from tests.support.claude import SESSION, ClaudeHome, ClaudeLogBuilder
from tests.support.clock import FakeClock
from tests.support.exports import DevflowRun, read_session

SECRET = "ghp_" + "A1b2" * 9
EXPORTS = ".leslie/threads/thread-11111111/.meta/exports"
REDACTOR = Redactor(b"key")


@pytest.fixture
def clock() -> FakeClock:
    """Return a clock that is earlier than the session, to create the store first."""
    clock = FakeClock()
    clock.at = datetime(2026, 11, 16, 9, tzinfo=UTC)
    return clock


@pytest.fixture
def written_session(project: Path, claude: ClaudeHome) -> ClaudeLogBuilder:
    builder = ClaudeLogBuilder(cwd=str(project))
    claude.write(builder.prompt(f"use {SECRET}"), builder.answer("Used."))
    return builder


def run_exports(
    claude: ClaudeHome,
    *formats: str,
    is_stopped: bool = True,
    is_live: bool = False,
) -> ExportsReport:
    """Ingest and settle the home, then write exports."""
    policy = OutputPolicy(home=claude.home, central=claude.home / "c", user=os.getuid())
    with (
        Store(claude.store_path, claude.clock) as store,
        StoreReader(claude.store_path) as reader,
    ):
        claude.sync(store)
        if is_stopped:
            store.mark_stopped("claude-code", [SESSION])
        store.mark_live([("claude-code", SESSION)] if is_live else [])
        shared = {"store": store, "reader": reader, "clock": claude.clock}
        TranscriptStage(
            policy=policy, redactor=REDACTOR, zone=UTC, is_final=True, **shared
        ).run()
        return Exports(redact=REDACTOR.redact, formats=formats, **shared).run()


def list_exports(project: Path) -> list[str]:
    folder = project / EXPORTS
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


@pytest.mark.usefixtures("written_session")
def test_nothing_is_exported_unless_it_is_configured(claude: ClaudeHome, project: Path):
    assert run_exports(claude) == ExportsReport()
    assert list_exports(project) == []


@pytest.mark.usefixtures("written_session")
def test_a_stopped_session_is_exported_in_every_configured_format(
    claude: ClaudeHome, project: Path
):
    report = run_exports(claude, "html", "devflow")

    assert (report.sessions, report.files_written) == (1, 3)
    run = "runs/2026-11-16-claude-code-11111111"
    page = next(name for name in list_exports(project) if name.endswith(".html"))
    assert list_exports(project) == sorted(
        [page, f"{run}/metadata.json", f"{run}/transcript.json"]
    )
    assert DevflowRun(project / EXPORTS, run.removeprefix("runs/")).turns


@pytest.mark.usefixtures("written_session")
def test_an_exported_file_has_no_secret_and_only_the_user_can_read_it(
    claude: ClaudeHome, project: Path
):
    run_exports(claude, "html")

    (page,) = list_exports(project)
    path = project / EXPORTS / page
    assert SECRET not in page + path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.usefixtures("written_session")
def test_an_exported_file_equals_that_of_the_export_command(
    claude: ClaudeHome, project: Path, clock: FakeClock
):
    run_exports(claude, "json")

    session = redact_session(read_session(claude.store_path, clock), REDACTOR.redact)
    (artifact,) = load_sinks()["json"].render(session)
    assert (project / EXPORTS / artifact.path).read_bytes() == artifact.body


@pytest.mark.usefixtures("written_session")
def test_a_session_is_exported_once_it_is_quiet_and_not_live(
    claude: ClaudeHome, clock: FakeClock
):
    first_report = run_exports(claude, "html", is_stopped=False)
    clock.advance(7200)
    live_report = run_exports(claude, "html", is_stopped=False, is_live=True)

    quiet_report = run_exports(claude, "html", is_stopped=False)

    assert (
        first_report.files_written,
        live_report.files_written,
        quiet_report.files_written,
    ) == (0, 0, 1)


def test_a_second_run_writes_nothing_until_the_session_grows(
    claude: ClaudeHome,
    written_session: ClaudeLogBuilder,
    project: Path,
    clock: FakeClock,
):
    run_exports(claude, "markdown")
    before = list_exports(project)
    second_report = run_exports(claude, "markdown")
    clock.advance(60)
    claude.write(written_session.prompt("more"), written_session.answer("And more."))

    report_after_growth = run_exports(claude, "markdown")

    assert (second_report.files_written, report_after_growth.files_written) == (0, 1)
    assert list_exports(project) == before
    assert "And more." in (project / EXPORTS / before[0]).read_text()


@pytest.mark.usefixtures("written_session")
def test_a_new_format_is_written_for_sessions_that_stopped_before(
    claude: ClaudeHome, project: Path
):
    run_exports(claude, "markdown")

    report = run_exports(claude, "markdown", "atif")

    assert report.files_written == 2
    assert len(list_exports(project)) == 2


@pytest.mark.usefixtures("written_session")
def test_a_session_older_than_the_store_is_not_exported(
    claude: ClaudeHome, clock: FakeClock
):
    clock.at = datetime(2026, 11, 17, tzinfo=UTC)

    assert run_exports(claude, "html").files_written == 0


@pytest.mark.usefixtures("written_session")
def test_a_session_that_cannot_be_written_is_reported_and_retried(
    claude: ClaudeHome, project: Path
):
    run_exports(claude)
    meta = (project / EXPORTS).parent
    (meta / "exports").symlink_to(claude.home)

    failed_report = run_exports(claude, "html")
    (meta / "exports").unlink()
    second_report = run_exports(claude, "html")

    assert list(failed_report.errors) == [SESSION]
    assert (failed_report.files_written, second_report.files_written) == (0, 1)


@pytest.mark.usefixtures("written_session", "project")
def test_a_session_whose_exports_fail_unexpectedly_is_retried(
    claude: ClaudeHome, monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as patch:
        patch.setattr(Exports, "_load_session", lambda *_: 1 / 0)
        report = run_exports(claude, "html")

    assert report.errors[SESSION].startswith("unexpected ZeroDivisionError")
    assert run_exports(claude, "html").sessions == 1
