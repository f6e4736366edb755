"""Checks of logs, store, archive and machine."""

from __future__ import annotations

import os

import pytest

from leslied.app import App
from leslied.archive import list_files
from leslied.jobs import write_lock_info
from leslied.pipeline.failures import Failures
from leslied.pipeline.work_marker import WorkMarker
from leslied.queries.annotations import MarksChange, change_marks
from leslied.queries.context import QueryContext
from leslied.queries.operations.health import CheckResult, HealthReport, check_health
from leslied.tail.watch import WatchProblem
from tests.support.claude import ADAPTER, SESSION, ClaudeHome
from tests.support.prune import sync_and_archive
from tests.support.queries import make_app, write_session


def check(app: App) -> HealthReport:
    with app.open_queries() as queries:
        return check_health(queries)


def list_failures(report: HealthReport) -> list[str]:
    return [finding.what for finding in report.findings if finding.verdict == "fail"]


def test_the_logs_of_each_agent_are_counted(queries: QueryContext):
    findings = [finding.what for finding in check_health(queries).findings]

    assert findings[0].startswith(f"{ADAPTER.title}: 1 logs in ~/.claude/projects")
    assert findings[1].startswith("no logs of: ")


def test_an_undamaged_store_has_no_damage(queries: QueryContext):
    results = check_health(queries).findings

    assert any(r.what.startswith("the store is undamaged") for r in results)
    assert not any("damaged:" in r.what for r in results)


@pytest.mark.threat("S7")
def test_a_store_that_others_can_read_fails(queries: QueryContext):
    queries.paths.store_file.chmod(0o644)
    report = check_health(queries)

    assert report.is_failed
    assert f"{queries.paths.store_file} is accessible to other users" in list_failures(
        report
    )


def test_a_damaged_file_of_the_archive_fails(claude: ClaudeHome):
    write_session(claude)
    sync_and_archive(claude)
    app = make_app(claude)
    (file,) = list_files(app.paths.archive_dir)
    failures_before = list_failures(check(app))
    data = bytearray(file.read_bytes())
    data[-20] ^= 255
    file.write_bytes(data)

    (failure,) = [f for f in list_failures(check(app)) if f not in failures_before]
    assert str(file) in failure


def test_a_damaged_list_of_what_is_forgotten_fails(app: App):
    app.paths.store_file.with_name("forgotten.json").write_bytes(b"{")

    assert any("forgotten.json" in failure for failure in list_failures(check(app)))


def test_nothing_fails_before_the_first_sync(claude: ClaudeHome):
    report = check(make_app(claude))

    assert not report.is_failed
    assert CheckResult("warn", "nothing has been read yet", "Run: leslied sync") in (
        report.findings
    )


def test_invalid_settings_fail(app: App):
    app.paths.config_file.write_text("[agents")

    assert any("not valid TOML" in failure for failure in list_failures(check(app)))


def test_a_paused_daemon_is_a_warning(app: App):
    app.paths.pause_file.parent.mkdir(parents=True, exist_ok=True)
    app.paths.pause_file.touch()

    assert {
        "verdict": "warn",
        "what": "leslied is paused",
        "hint": "Resume with: leslied unpause",
    } in check(app).to_dict()["findings"]


@pytest.mark.threat("S7")
def test_only_some_of_many_exposed_files_are_named(queries: QueryContext):
    for number in range(20):
        path = queries.paths.data_dir / f"copy{number}"
        path.touch()
        path.chmod(0o644)
    failures = list_failures(check_health(queries))

    assert len(failures) == 6
    assert failures[-1].endswith("more files are accessible, too")


def test_work_that_got_leslied_killed_is_named(claude: ClaudeHome):
    write_session(claude)
    sync_and_archive(claude)
    app = make_app(claude)
    for _ in range(2):
        with app.open_writer() as store:
            marker = WorkMarker(app.paths.work_marker)
            marker.add("source", "/logs/a.jsonl")
            Failures(store, claude.clock, marker=marker)

    (warning,) = [f for f in check(app).findings if "/logs/a.jsonl" in f.what]

    assert warning.verdict == "warn"
    assert warning.what == (
        "source /logs/a.jsonl: leslied was killed while it read this (2 times)"
    )
    assert "leslied sync" in warning.hint


def test_annotations_are_counted_and_damage_is_reported(app: App):
    with app.open_queries() as queries:
        change_marks(queries, SESSION, MarksChange(is_starred=True))
    counted = check(app)
    app.paths.annotations_file.write_bytes(b"not a database" * 100)
    damaged = check(app)

    results = {finding.what for finding in counted.findings}
    assert "stars, tags, notes and visits of 1 session" in results
    assert "annotations.db cannot be used" in "".join(list_failures(damaged))


def test_missing_file_events_are_a_warning_with_a_hint(app: App):
    problem = WatchProblem("no file events: limit reached", "Raise the limit.")
    with app.open_writer() as store:
        write_lock_info(app, store, problem=problem)

        assert CheckResult("warn", *problem) in check(app).findings


def test_an_agent_that_is_behind_is_a_warning_with_a_hint(app: App, claude: ClaudeHome):
    (log,) = claude.projects.rglob("*.jsonl")
    os.utime(log, ns=(10**18, 10**18))

    (warning,) = [f for f in check(app).findings if "is behind" in f.what]

    assert warning.what.endswith("1 log with unread changes")
    assert warning.hint == "Read them now: leslied sync"
