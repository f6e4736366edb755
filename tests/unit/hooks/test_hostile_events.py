"""Malformed hook events harm neither the hook nor the daemon."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from leslied.errors import StoreUnusable
from leslied.hooks import settings, spool
from leslied.hooks.respond import respond
from leslied.hooks.settings import find_commands
from leslied.model.session import Activity
from leslied.model.source import Environment
from leslied.pipeline import HookEvents, Ingest, StopDetection
from leslied.pipeline.failures import Failures
from leslied.store import Store
from tests.support.claude import ADAPTER, SESSION, ClaudeHome, ClaudeLogBuilder
from tests.support.clock import FakeClock
from tests.support.hooks import run_program
from tests.support.waiting import MAX_WAIT_SECONDS

EVENTS = ("SessionStart", "UserPromptSubmit", "PreCompact", *spool.EVENTS)
FIELDS = (
    "session_id",
    "transcript_path",
    "agent_transcript_path",
    "cwd",
    "model",
    "prompt",
    "prompt_id",
    "reason",
    "source",
)
HOSTILE_VALUES = {
    "surrogate": '"\\ud800"',
    "path with a surrogate": '"/a/\\udfff.jsonl"',
    "escaped byte": '"/a/\\udcff.jsonl"',
    "NUL": '"/a\\u0000b"',
    "10 MB": '"/' + "x" * 10_000_000 + '"',
    "long and not ASCII": '"/' + "é" * 4000 + '"',
    "number": "1" + "0" * 400,
    "null": "null",
    "nesting": "[" * 100_000 + "]" * 100_000,
    "empty": '""',
}


@pytest.fixture
def hook_events(
    claude: ClaudeHome, clock: FakeClock, tmp_path: Path
) -> Iterator[HookEvents]:
    with Store(claude.store_path, clock) as store:
        env = Environment(home=claude.home, environ={}, platform="linux")
        roots = tuple(ADAPTER.roots(env, []))
        ingest = Ingest(adapter=ADAPTER, store=store, roots=roots)
        stops = StopDetection(store=store, clock=clock, registries=[(ADAPTER, [])])
        yield HookEvents(
            data_dir=tmp_path, ingests=[ingest], stop_detection=stops, clock=clock
        )


def make_event(name: str, log: Path, **json_fields: str) -> bytes:
    """Build a valid event, then replace these fields; their values are JSON text."""
    valid_fields = dict.fromkeys(FIELDS, "x") | {
        "session_id": SESSION,
        "transcript_path": str(log),
        "agent_transcript_path": str(log),
        "cwd": str(log.parent),
    }
    fields = {field: json.dumps(value) for field, value in valid_fields.items()}
    fields |= json_fields
    members = [f'"{field}": {text}' for field, text in fields.items()]
    return f'{{"hook_event_name": "{name}", {", ".join(members)}}}'.encode()


def write_spool_file(hook_events: HookEvents, name: str, event: dict[str, Any]) -> Path:
    """Write a file as an older hook or another program may have left it."""
    hook_events.spool_dir.mkdir(parents=True, exist_ok=True)
    path = hook_events.spool_dir / name
    path.write_text(json.dumps(event))
    return path


def list_spool(hook_events: HookEvents) -> list[str]:
    folder = hook_events.spool_dir
    return [path.name for path in folder.iterdir()] if folder.exists() else []


@pytest.mark.threat("X2")
@pytest.mark.parametrize("value_name", HOSTILE_VALUES)
def test_the_hook_exits_silently_and_the_spool_is_emptied(
    hook_events: HookEvents, claude: ClaudeHome, value_name: str
):
    hostile_fields = dict.fromkeys(FIELDS, HOSTILE_VALUES[value_name])
    for name in ("SessionEnd", "UserPromptSubmit"):
        event = make_event(name, claude.log(), **hostile_fields)

        result = run_program(event, str(hook_events.data_dir))

        assert (result.returncode, result.stderr) == (0, b"")
    hook_events.run()
    hook_events.stop_detection.run()
    assert list_spool(hook_events) == []


@pytest.mark.threat("X2")
@pytest.mark.parametrize("name", EVENTS)
@pytest.mark.parametrize("value_name", HOSTILE_VALUES)
def test_one_hostile_field_does_no_harm(
    hook_events: HookEvents, claude: ClaudeHome, name: str, value_name: str
):
    for number, field in enumerate(FIELDS):
        event = make_event(name, claude.log(), **{field: HOSTILE_VALUES[value_name]})
        # The program drops any exception and exits with 0.
        with suppress(Exception):
            respond(str(hook_events.data_dir), event, number)
        hook_events.run()
        hook_events.stop_detection.run()

    assert list_spool(hook_events) == []


def test_the_valid_fields_of_an_event_are_still_used(
    hook_events: HookEvents, claude: ClaudeHome
):
    builder = ClaudeLogBuilder()
    log = claude.write(builder.prompt("one"), builder.answer("two"))
    event = make_event("SessionEnd", log, reason=HOSTILE_VALUES["surrogate"])

    respond(str(hook_events.data_dir), event, 1)
    report = hook_events.run()

    assert (report.events, report.stopped, report.ingest.added.records) == (1, 1, 3)


@pytest.mark.parametrize("value", ["\ud800", "/a/\udfff.jsonl", "/a\0b"])
@pytest.mark.parametrize("field", ["session_id", "transcript_path", "reason"])
def test_a_spool_file_with_an_unusable_value_is_dropped_and_reported(
    hook_events: HookEvents, field: str, value: str
):
    event = {"hook_event_name": "SessionEnd", "session_id": SESSION, field: value}
    write_spool_file(hook_events, "1.json", event)
    write_spool_file(
        hook_events, "2.json", {"hook_event_name": "Stop", "session_id": SESSION}
    )

    report = hook_events.run()

    assert (report.dropped, report.events) == (["1.json"], 1)
    assert list_spool(hook_events) == []


def test_a_file_with_a_name_that_cannot_be_encoded_is_not_a_source(
    hook_events: HookEvents, claude: ClaudeHome
):
    path = claude.projects / "p" / "\ud800.jsonl"

    report = hook_events.ingests[0].ingest_files([path])

    assert report.entries == 0


def test_an_event_that_fails_unexpectedly_stays_and_does_not_block_others(
    hook_events: HookEvents, monkeypatch: pytest.MonkeyPatch
):
    event = {"hook_event_name": "SessionEnd", "session_id": "bad"}
    write_spool_file(hook_events, "1.json", event)
    write_spool_file(hook_events, "2.json", {**event, "session_id": "good"})
    mark_ended = StopDetection.mark_ended
    ended_ids: list[str] = []

    def fail_for_bad_session(
        self: StopDetection, agent: str, session_ids: list[str]
    ) -> int:
        if "bad" in session_ids:
            raise ZeroDivisionError
        ended_ids.extend(session_ids)
        return mark_ended(self, agent, session_ids)

    monkeypatch.setattr(StopDetection, "mark_ended", fail_for_bad_session)

    report = hook_events.run()

    assert report.errors["1.json"].startswith("unexpected ZeroDivisionError")
    assert ended_ids == ["good"]
    assert list_spool(hook_events) == ["1.json"]


def test_what_a_session_waits_for_is_recorded_beside_an_event_that_fails(
    hook_events: HookEvents, monkeypatch: pytest.MonkeyPatch
):
    end = {"hook_event_name": "SessionEnd", "session_id": "bad"}
    notice = {
        "hook_event_name": "Notification",
        "session_id": SESSION,
        "notification_type": "permission_prompt",
    }
    write_spool_file(hook_events, "1.json", end)
    write_spool_file(hook_events, "2.json", notice)
    waiting_ids: list[str] = []

    def fail(*_: object) -> int:
        raise ZeroDivisionError

    def record(_: StopDetection, __: str, activities: dict[str, Activity]) -> None:
        waiting_ids.extend(activities)

    monkeypatch.setattr(StopDetection, "mark_ended", fail)
    monkeypatch.setattr(StopDetection, "mark_waiting", record)

    hook_events.run()

    assert waiting_ids == [SESSION]


def test_an_event_that_fails_repeatedly_is_dropped(
    hook_events: HookEvents, monkeypatch: pytest.MonkeyPatch, clock: FakeClock
):
    event = {"hook_event_name": "SessionEnd", "session_id": SESSION}
    write_spool_file(hook_events, "1.json", event)
    monkeypatch.setattr(
        StopDetection, "mark_ended", make_failing_call(ZeroDivisionError())
    )
    hook_events = replace(hook_events, failures=Failures(clock=clock))
    dropped: list[str] = []

    for _ in range(5):
        dropped += hook_events.run().dropped
        clock.advance(3600)

    assert dropped == ["1.json"]
    assert list_spool(hook_events) == []


def test_an_unusable_store_keeps_the_files_for_the_next_run(
    hook_events: HookEvents, monkeypatch: pytest.MonkeyPatch
):
    event = {"hook_event_name": "SessionEnd", "session_id": SESSION}
    write_spool_file(hook_events, "1.json", event)
    monkeypatch.setattr(
        StopDetection,
        "mark_ended",
        make_failing_call(StoreUnusable("The store is busy.")),
    )

    with pytest.raises(StoreUnusable):
        hook_events.run()

    assert list_spool(hook_events) == ["1.json"]


def make_failing_call(error: Exception) -> Any:
    """Return a function that raises the error."""

    def raise_error(*_: object) -> None:
        raise error

    return raise_error


SHELL_PAYLOADS = (
    "$(touch executed)",
    "`touch executed`",
    "; touch executed;",
    "| touch executed",
    "&& touch executed",
    "\ntouch executed\n",
    "'; touch executed; '",
    '"; touch executed; "',
    "\\'; touch executed #",
    "> executed",
    "${IFS}$(touch${IFS}executed)",
    "-c __import__('os').system('touch executed')",
    "__import__('os').system('touch executed')",
    "%s{0.__class__}\\x00",
)


def run_installed_command(data_dir: Path, event: bytes, cwd: Path) -> bytes:
    """Run the command in the settings as the agent does; return its output."""
    text = settings.install(None, settings.HookCommand(sys.executable, str(data_dir)))
    (command,) = {
        command.rpartition(" file ")[0] for command in find_commands(text).values()
    }
    result = subprocess.run(
        ["/bin/sh", "-c", find_commands(text)["Stop"]],
        input=event,
        capture_output=True,
        check=False,
        cwd=cwd,
        timeout=MAX_WAIT_SECONDS,
    )
    assert shlex.split(command)[-1] == str(data_dir)
    assert (result.returncode, result.stderr) == (0, b"")
    return result.stdout


@pytest.mark.threat("X1", "X2")
@pytest.mark.parametrize("payload", SHELL_PAYLOADS)
@pytest.mark.parametrize("name", ["UserPromptSubmit", "Stop"])
def test_text_of_an_event_is_never_executed(tmp_path: Path, name: str, payload: str):
    cwd = tmp_path / "cwd"
    cwd.mkdir()
    values = {field: json.dumps(payload) for field in FIELDS}
    event = make_event(name, cwd / "log.jsonl", **values)

    assert run_installed_command(tmp_path / "data", event, cwd) == b""
    assert not [path for path in tmp_path.rglob("*") if path.name == "executed"]


@pytest.mark.threat("X1")
@pytest.mark.parametrize("payload", [p for p in SHELL_PAYLOADS if "/" not in p])
def test_the_name_of_the_data_folder_is_never_executed(tmp_path: Path, payload: str):
    cwd, data_dir = tmp_path / "cwd", tmp_path / payload / "data"
    cwd.mkdir()
    event = make_event("Stop", cwd / "log.jsonl")
    run_installed_command(data_dir, event, cwd)

    assert len(list((data_dir / spool.FOLDER).iterdir())) == 1
    assert not [path for path in tmp_path.rglob("*") if path.name == "executed"]
