"""What hooks tell the daemon, and what the daemon makes of it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from leslied.hooks import spool
from leslied.model.source import Environment
from leslied.pipeline import HookEvents, Ingest, StopDetection
from leslied.store import Store, StoreReader
from tests.support.claude import ADAPTER, SESSION, ClaudeHome, ClaudeLogBuilder
from tests.support.clock import FakeClock

NOW = 1_800_000_000_000_000_000


def spool_event(data: Path, name: str, log: Path | str, **more: str) -> None:
    event = {"hook_event_name": name, "session_id": SESSION, "prompt": "secret"}
    spool.write_event(str(data), {**event, "transcript_path": str(log), **more}, NOW)


@pytest.fixture
def told(claude: ClaudeHome, clock: FakeClock, tmp_path: Path):
    with Store(claude.store_path, clock) as store:
        env = Environment(home=claude.home, environ={}, platform="linux")
        roots = tuple(ADAPTER.roots(env, []))
        ingest = Ingest(adapter=ADAPTER, store=store, roots=roots)
        stops = StopDetection(store=store, registries=[(ADAPTER, [])])
        yield HookEvents(
            data_dir=tmp_path, ingests=[ingest], stop_detection=stops, clock=clock
        )


def test_no_word_of_the_talk_is_in_the_spool(tmp_path: Path):
    spool_event(tmp_path, "Stop", "/log", last_assistant_message="secret")

    (file,) = (tmp_path / spool.FOLDER).iterdir()
    assert "secret" not in file.read_text()


def test_too_many_words_are_not_kept(tmp_path: Path):
    folder = tmp_path / spool.FOLDER
    folder.mkdir(parents=True)
    for number in range(spool.MAX_FILES):
        (folder / f"{number}.json").touch()

    spool_event(tmp_path, "Stop", "/log")

    assert len(list(folder.iterdir())) == spool.MAX_FILES


def test_a_log_that_a_hook_named_is_read_at_once(told: HookEvents, claude: ClaudeHome):
    talk = ClaudeLogBuilder()
    log = claude.write(talk.prompt("one"), talk.answer("two"))
    spool_event(told.data_dir, "Stop", log)

    heard = told.run()

    assert (heard.events, heard.stopped, heard.ingest.added.records) == (1, 0, 3)
    assert told.run().events == 0


def test_a_session_that_says_so_is_over(told: HookEvents, claude: ClaudeHome):
    talk = ClaudeLogBuilder()
    log = claude.write(talk.prompt("one"), talk.answer("two"))
    spool_event(told.data_dir, "SessionEnd", log, reason="other")

    assert told.run().stopped == 1
    with StoreReader(claude.store_path) as reader:
        assert reader.list_sessions()[0].is_stopped


def test_what_it_writes_on_its_way_out_does_not_open_it_again(
    told: HookEvents, claude: ClaudeHome
):
    talk = ClaudeLogBuilder()
    log = claude.write(talk.prompt("one"), talk.answer("two"))
    spool_event(told.data_dir, "SessionEnd", log)
    told.run()
    claude.write(talk.answer("late"))

    told.ingests[0].scan()
    told.stop_detection.run()

    with StoreReader(claude.store_path) as reader:
        assert reader.list_sessions()[0].is_stopped


def test_a_log_in_a_folder_nobody_reads_is_named(told: HookEvents, tmp_path: Path):
    spool_event(told.data_dir, "Stop", tmp_path / "elsewhere" / "x.jsonl")

    assert told.run().unknown_folders == {tmp_path / "elsewhere"}


@pytest.mark.parametrize("path", ["", "relative", "/a\0b", "/" + "x" * 5000])
def test_a_path_that_is_none_harms_nobody(told: HookEvents, path: str):
    spool_event(told.data_dir, "Stop", path)

    assert told.run().events == 1


def test_garbage_is_removed_and_counted(told: HookEvents, tmp_path: Path):
    folder = told.spool_dir
    folder.mkdir(parents=True)
    (folder / "1.json").write_bytes(b"\xff")
    (folder / "2.json").write_bytes(b"[]")
    (folder / "3.json").write_text(json.dumps({"hook_event_name": "Novel"}))
    (folder / "4.json").write_bytes(b"{" * 20_000)
    (folder / "5.json").symlink_to("/etc/passwd")
    (folder / "folder").mkdir()
    os.mkfifo(folder / "7.json")

    assert told.run().dropped == [f"{n}.json" for n in (1, 2, 3, 4, 5, 7)]
    assert [path.name for path in folder.iterdir()] == ["folder"]
    assert told.run().dropped == []


def test_a_word_that_is_just_being_written_is_left_alone(told: HookEvents):
    told.spool_dir.mkdir(parents=True)
    half = told.spool_dir / ".1.json.99.new"
    half.touch()
    now = told.clock.now().timestamp()
    os.utime(half, (now, now))

    told.run()
    assert half.exists()
    os.utime(half, (now - 61, now - 61))
    told.run()
    assert not half.exists()
