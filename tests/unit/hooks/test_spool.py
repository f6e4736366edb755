"""Spooled hook events, and what the daemon does with them."""

from __future__ import annotations

import json
import os
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from leslied.hooks import spool
from leslied.model.record import SessionKey
from leslied.model.source import Environment
from leslied.model.times import EPOCH, from_us, to_ns
from leslied.pipeline import HookEvents, Ingest, StopDetection
from leslied.store import Store, StoreReader
from tests.support.claude import ADAPTER, SESSION, ClaudeHome, ClaudeLogBuilder
from tests.support.clock import FakeClock

NOW_NS = 1_800_000_000_000_000_000


def spool_event(data: Path, name: str, log: Path | str, **fields: str) -> None:
    event = {"hook_event_name": name, "session_id": SESSION, "prompt": "secret"}
    spool.write_event(
        str(data), {**event, "transcript_path": str(log), **fields}, NOW_NS
    )


@pytest.fixture
def hook_events(claude: ClaudeHome, clock: FakeClock, tmp_path: Path):
    with Store(claude.store_path, clock) as store:
        env = Environment(home=claude.home, environ={}, platform="linux")
        roots = tuple(ADAPTER.roots(env, []))
        ingest = Ingest(adapter=ADAPTER, store=store, roots=roots)
        stops = StopDetection(store=store, clock=clock, registries=[(ADAPTER, [])])
        yield HookEvents(
            data_dir=tmp_path, ingests=[ingest], stop_detection=stops, clock=clock
        )


@pytest.mark.threat("S3")
def test_the_spool_contains_no_text_of_the_conversation(tmp_path: Path):
    spool_event(tmp_path, "Stop", "/log", last_assistant_message="secret")

    (file,) = (tmp_path / spool.FOLDER).iterdir()
    assert "secret" not in file.read_text()


def test_the_number_of_spooled_events_is_limited(tmp_path: Path):
    folder = tmp_path / spool.FOLDER
    folder.mkdir(parents=True)
    for number in range(spool.MAX_FILES):
        (folder / f"{number}.json").touch()

    spool_event(tmp_path, "Stop", "/log")

    assert len(list(folder.iterdir())) == spool.MAX_FILES


def test_a_log_named_by_a_hook_is_read_at_once(
    hook_events: HookEvents, claude: ClaudeHome
):
    builder = ClaudeLogBuilder()
    log = claude.write(builder.prompt("one"), builder.answer("two"))
    spool_event(hook_events.data_dir, "Stop", log)

    report = hook_events.run()

    assert (report.events, report.stopped, report.ingest.added.records) == (1, 0, 3)
    assert hook_events.run().events == 0


def test_a_session_end_event_marks_the_session_as_stopped(
    hook_events: HookEvents, claude: ClaudeHome
):
    builder = ClaudeLogBuilder()
    log = claude.write(builder.prompt("one"), builder.answer("two"))
    spool_event(hook_events.data_dir, "SessionEnd", log, reason="other")

    assert hook_events.run().stopped == 1
    with StoreReader(claude.store_path) as reader:
        assert reader.list_sessions()[0].is_stopped


def read_waiting_for(claude: ClaudeHome) -> str | None:
    with StoreReader(claude.store_path) as reader:
        return reader.list_sessions()[0].waiting_for


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("permission_prompt", "permission"),
        ("idle_prompt", "prompt"),
        ("elicitation_dialog", "question"),
        ("auth_success", None),
    ],
)
def test_a_notification_says_what_the_session_waits_for(
    hook_events: HookEvents, claude: ClaudeHome, kind: str, expected: str | None
):
    claude.clock.at = from_us(NOW_NS // 1000)
    log = claude.write(ClaudeLogBuilder().prompt("one"))
    spool_event(hook_events.data_dir, "Notification", log, notification_type=kind)

    hook_events.run()

    assert read_waiting_for(claude) == expected


def test_a_session_waits_no_longer_when_its_log_goes_on(
    hook_events: HookEvents, claude: ClaudeHome
):
    claude.clock.at = from_us(NOW_NS // 1000)
    later = claude.clock.at.replace(tzinfo=None) + timedelta(seconds=1)
    builder = ClaudeLogBuilder()
    log = claude.write(builder.prompt("one"))
    kind = "permission_prompt"
    spool_event(hook_events.data_dir, "Notification", log, notification_type=kind)
    hook_events.run()
    builder.started_at = later
    claude.write(builder.answer("two"))
    hook_events.ingests[0].scan()
    hook_events.stop_detection.run()

    assert read_waiting_for(claude) is None


def test_entries_after_the_end_do_not_reopen_a_session(
    hook_events: HookEvents, claude: ClaudeHome
):
    builder = ClaudeLogBuilder()
    log = claude.write(builder.prompt("one"), builder.answer("two"))
    spool_event(hook_events.data_dir, "SessionEnd", log)
    hook_events.run()
    claude.write(builder.answer("late"))

    hook_events.ingests[0].scan()
    hook_events.stop_detection.run()

    with StoreReader(claude.store_path) as reader:
        assert reader.list_sessions()[0].is_stopped


def test_a_log_outside_of_all_roots_is_reported(
    hook_events: HookEvents, tmp_path: Path
):
    spool_event(hook_events.data_dir, "Stop", tmp_path / "elsewhere" / "x.jsonl")

    assert hook_events.run().unknown_folders == {tmp_path / "elsewhere"}


@pytest.mark.parametrize("path", ["", "relative", "/a\0b", "/" + "x" * 5000])
def test_an_invalid_path_does_no_harm(hook_events: HookEvents, path: str):
    spool_event(hook_events.data_dir, "Stop", path)

    assert hook_events.run().events == 1


def test_invalid_files_are_removed_and_reported(hook_events: HookEvents):
    folder = hook_events.spool_dir
    folder.mkdir(parents=True)
    (folder / "1.json").write_bytes(b"\xff")
    (folder / "2.json").write_bytes(b"[]")
    (folder / "3.json").write_text(json.dumps({"hook_event_name": "Novel"}))
    (folder / "4.json").write_bytes(b"{" * 20_000)
    (folder / "5.json").symlink_to("/etc/passwd")
    (folder / "folder").mkdir()
    os.mkfifo(folder / "7.json")

    assert hook_events.run().dropped == [f"{n}.json" for n in (1, 2, 3, 4, 5, 7)]
    assert [path.name for path in folder.iterdir()] == ["folder"]
    assert hook_events.run().dropped == []


def test_a_temporary_file_is_removed_after_a_minute(hook_events: HookEvents):
    hook_events.spool_dir.mkdir(parents=True)
    partial = hook_events.spool_dir / ".1.json.99.new"
    partial.touch()
    now = hook_events.clock.now().timestamp()
    os.utime(partial, (now, now))

    hook_events.run()
    assert partial.exists()
    os.utime(partial, (now - 61, now - 61))
    hook_events.run()
    assert not partial.exists()


def test_a_stop_hook_announces_the_end_of_a_turn(
    hook_events: HookEvents, tmp_path: Path, clock: FakeClock
):
    now_ns = to_ns(clock.now())
    for number, name in enumerate(("Stop", "SubagentStop")):
        event = {"hook_event_name": name, "session_id": name}
        spool.write_event(str(tmp_path), event, now_ns + number)
    clock.advance(1)
    hook_events.run()

    key = SessionKey("claude-code", "Stop")
    assert hook_events.announced_ends == {key: clock.now() - timedelta(seconds=1)}


def test_an_announcement_of_the_future_counts_as_made_now(
    hook_events: HookEvents, tmp_path: Path, clock: FakeClock
):
    announced_at = announce_in_file(hook_events, tmp_path, "9" * 20 + "-1.json")

    assert announced_at == clock.now()


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("1.json", id="too few digits"),
        pytest.param("\u0664" * 20 + "-1.json", id="digits that are not ASCII"),
    ],
)
def test_an_announcement_without_a_valid_time_counts_as_very_old(
    hook_events: HookEvents, tmp_path: Path, name: str
):
    assert announce_in_file(hook_events, tmp_path, name) == EPOCH


def announce_in_file(hook_events: HookEvents, folder: Path, name: str) -> datetime:
    """Announce the end of a turn in a file with this name; return the stored time."""
    spool_event(folder, "Stop", "/log")
    (file,) = (folder / spool.FOLDER).iterdir()
    file.rename(file.with_name(name))
    hook_events.run()
    (announced_at,) = hook_events.announced_ends.values()
    return announced_at


def test_only_the_latest_announcements_are_remembered(
    hook_events: HookEvents, tmp_path: Path
):
    for number in range(250):
        event = {"hook_event_name": "Stop", "session_id": str(number)}
        spool.write_event(str(tmp_path), event, NOW_NS + number)
    hook_events.run()

    sessions = [key.session_id for key in hook_events.announced_ends]
    assert sessions == [str(number) for number in range(50, 250)]
