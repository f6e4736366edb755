"""Forgotten sessions and texts are deleted everywhere and never imported again."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from leslied.errors import UserError
from leslied.pipeline import RedecodeStage
from leslied.store import Store, StoreReader
from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.forget import forget, list_holders
from tests.support.prune import (
    check_store,
    list_contents,
    list_session_ids,
    sync_and_archive,
)
from tests.support.queries import make_app

OLD, NEW, FORK = (f"{letter * 8}-2222-4333-8444-555555555555" for letter in "abc")
TEXT = "zanzibar"


class ForgetHome:
    """A home with two sessions; one entry of the older one has the text."""

    def __init__(self, claude: ClaudeHome) -> None:
        self.claude = claude
        self.old, self.new = ClaudeLogBuilder(OLD), ClaudeLogBuilder(NEW)
        self.lines = [
            self.old.prompt("hello"),
            self.old.answer("hi"),
            self.old.prompt(f"where is {TEXT}"),
            self.old.answer("there"),
        ]
        self.write(OLD, *self.lines)
        self.write(NEW, self.new.prompt("other"), self.new.answer("of the other"))
        sync_and_archive(claude)

    @property
    def log(self) -> Path:
        return self.claude.log(f"-app/{OLD}.jsonl")

    @property
    def data(self) -> Path:
        return self.claude.store_path.parent

    def write(self, session_id: str, *lines: dict[str, Any]) -> None:
        self.claude.write(*lines, name=f"-app/{session_id}.jsonl")

    def rebuild(self, *, accept_loss: bool = False) -> None:
        app = make_app(self.claude)
        app.make_rebuild(lambda *_: None).run(accept_loss=accept_loss)

    def list_holders(self) -> list[str]:
        return list_holders(TEXT, self.data)


@pytest.fixture
def forget_home(claude: ClaudeHome) -> ForgetHome:
    return ForgetHome(claude)


def test_a_session_is_deleted_and_no_other(forget_home: ForgetHome):
    answer = forget(forget_home.claude, OLD)

    assert answer.removed_records == 5
    assert list_contents(forget_home.claude) == ["of the other", "other"]
    assert forget_home.list_holders() == []
    check_store(forget_home.claude)


@pytest.mark.threat("S10")
def test_only_entries_with_the_text_are_deleted(forget_home: ForgetHome):
    answer = forget(forget_home.claude, text=TEXT)

    assert (answer.entries, answer.archive_files) == (1, 1)
    assert list_contents(forget_home.claude) == [
        *("hello", "hi", "of the other", "other", "there")
    ]
    assert forget_home.list_holders() == []
    check_store(forget_home.claude)


def test_units_are_counted_again(forget_home: ForgetHome):
    forget(forget_home.claude, text=TEXT)
    with StoreReader(forget_home.claude.store_path) as reader:
        units = {s.key.session_id: s.units for s in reader.list_sessions()}

    assert units == {OLD: 1, NEW: 1}


def test_a_session_whose_entries_all_hold_the_text_is_deleted(forget_home: ForgetHome):
    forget_home.write(FORK, ClaudeLogBuilder(FORK, f"/home/{TEXT}").prompt("hello"))
    sync_and_archive(forget_home.claude)
    answer = forget(forget_home.claude, text=TEXT)

    whole = {s.session.key.session_id: s.is_whole for s in answer.sessions}
    assert whole == {OLD: False, FORK: True}
    assert list_session_ids(forget_home.claude) == {OLD, NEW}
    assert forget_home.list_holders() == []


@pytest.mark.parametrize("arguments", [{"session_id": OLD}, {"text": TEXT}])
@pytest.mark.parametrize("has_log", [True, False])
def test_a_rebuild_does_not_bring_forgotten_entries_back_and_loses_nothing(
    forget_home: ForgetHome, arguments: dict[str, str], *, has_log: bool
):
    forget(forget_home.claude, **arguments)
    expected = list_contents(forget_home.claude)
    if not has_log:
        forget_home.log.unlink()
    forget_home.rebuild()

    assert list_contents(forget_home.claude) == expected
    sync_and_archive(forget_home.claude)
    assert forget_home.list_holders() == []


@pytest.mark.threat("S10")
@pytest.mark.parametrize("arguments", [{"session_id": OLD}, {"text": TEXT}])
def test_a_replaced_log_does_not_bring_forgotten_entries_back(
    forget_home: ForgetHome, arguments: dict[str, str]
):
    forget(forget_home.claude, **arguments)
    expected = list_contents(forget_home.claude)
    data = forget_home.log.read_bytes()
    forget_home.log.unlink()
    forget_home.log.write_bytes(b"\n" + data)
    os.utime(forget_home.log, (1, 1))
    sync_and_archive(forget_home.claude)

    assert list_contents(forget_home.claude) == expected
    assert forget_home.list_holders() == []


@pytest.mark.threat("S10")
@pytest.mark.parametrize("arguments", [{"session_id": OLD}, {"text": TEXT}])
def test_decoding_again_does_not_bring_forgotten_entries_back(
    forget_home: ForgetHome, arguments: dict[str, str]
):
    forget(forget_home.claude, **arguments)
    expected = list_contents(forget_home.claude)
    app = make_app(forget_home.claude)
    with app.open_writer() as store, app.open_reader() as reader:
        with store.decoder_versions() as ledger:
            for agent in ("claude-code",):
                for source in ledger.list_due(agent, 10**6, 0, 99):
                    ledger.mark_decoded(source, 1)
        report = app.make_flow(store, reader).get_stage(RedecodeStage).run()

    assert report.sources >= 2
    assert list_contents(forget_home.claude) == expected
    assert forget_home.list_holders() == []


def test_new_entries_of_the_session_are_forgotten_with_it(forget_home: ForgetHome):
    forget(forget_home.claude, OLD)
    forget_home.write(OLD, forget_home.old.prompt(f"more {TEXT}"))
    sync_and_archive(forget_home.claude)

    assert list_session_ids(forget_home.claude) == {NEW}
    assert forget_home.list_holders() == []


def test_a_session_without_entries_but_its_context_is_forgotten(claude: ClaudeHome):
    log = claude.write(ClaudeLogBuilder(OLD).prompt(TEXT), name=f"-app/{OLD}.jsonl")
    sync_and_archive(claude)
    with Store(claude.store_path, claude.clock) as store:
        prompts = "SELECT entry FROM record WHERE type = 'user_message'"
        store._db.execute(f"DELETE FROM placement WHERE entry IN ({prompts})")
    answer = forget(claude, OLD)

    assert not answer.is_empty
    assert list_session_ids(claude) == set()
    assert log.exists()


def test_entries_that_repeat_the_text_later_are_read(forget_home: ForgetHome):
    forget(forget_home.claude, text=TEXT)
    forget_home.write(OLD, forget_home.old.prompt(f"more {TEXT}"))
    sync_and_archive(forget_home.claude)

    assert f"more {TEXT}" in list_contents(forget_home.claude)


def test_entries_that_were_not_read_yet_are_forgotten_too(forget_home: ForgetHome):
    forget_home.write(NEW, forget_home.new.prompt(f"also {TEXT}"))
    answer = forget(forget_home.claude, text=TEXT)

    assert answer.entries == 2
    assert forget_home.list_holders() == []


@pytest.mark.threat("S10")
def test_noise_with_the_text_is_erased_and_not_archived_again(forget_home: ForgetHome):
    forget_home.write(NEW, {"type": "api-request", "body": TEXT})
    sync_and_archive(forget_home.claude)
    before = forget_home.list_holders()
    forget(forget_home.claude, text=TEXT)
    copy = forget_home.claude.log("-copy/copy.jsonl")
    shutil.copy(forget_home.claude.log(f"-app/{NEW}.jsonl"), copy)
    forget_home.rebuild()
    forget_home.write(NEW, forget_home.new.prompt("it goes on"))
    sync_and_archive(forget_home.claude)

    assert len(before) == 3
    assert forget_home.list_holders() == []
    assert "it goes on" in list_contents(forget_home.claude)


def test_a_fork_loses_the_entries_that_it_shares(forget_home: ForgetHome):
    fork = ClaudeLogBuilder(FORK)
    lines = [{**line, "sessionId": FORK} for line in forget_home.lines]
    forget_home.write(FORK, *lines, fork.prompt("of the fork"))
    sync_and_archive(forget_home.claude)
    answer = forget(forget_home.claude, OLD)

    whole = {s.session.key.session_id: s.is_whole for s in answer.sessions}
    assert whole == {OLD: True, FORK: False}
    assert list_session_ids(forget_home.claude) == {NEW, FORK}
    assert forget_home.list_holders() == []
    check_store(forget_home.claude)


def test_a_title_does_not_come_back_with_a_fork(forget_home: ForgetHome):
    title = {"type": "ai-title", "aiTitle": f"About {TEXT}", "sessionId": OLD}
    forget_home.write(OLD, title)
    sync_and_archive(forget_home.claude)
    forget(forget_home.claude, OLD)
    forget_home.write(
        FORK, ClaudeLogBuilder(FORK).prompt("of the fork"), {**title, "sessionId": FORK}
    )
    sync_and_archive(forget_home.claude)

    assert forget_home.list_holders() == []


def test_a_title_that_another_session_has_stays(forget_home: ForgetHome):
    for session_id in (OLD, NEW):
        title = {"type": "ai-title", "aiTitle": "Same", "sessionId": session_id}
        forget_home.write(session_id, title)
    sync_and_archive(forget_home.claude)
    forget(forget_home.claude, OLD)
    forget_home.rebuild()

    assert "Same" in list_contents(forget_home.claude)


def test_all_texts_in_the_state_of_a_decoder_are_deleted(forget_home: ForgetHome):
    with Store(forget_home.claude.store_path, forget_home.claude.clock) as store:
        state = json.dumps({"cwd": f"/{TEXT}", "nested": [{TEXT: 1}, TEXT], "n": 2})
        store._db.execute("UPDATE source SET state = ?", (state,))
    forget(forget_home.claude, text=TEXT)
    with Store(forget_home.claude.store_path, forget_home.claude.clock) as store:
        states = {row[0] for row in store._db.execute("SELECT state FROM source")}

    assert states == {'{"cwd":"","nested":[{},""],"n":2}'}


def test_paths_of_logs_that_hold_the_text_are_reported(claude: ClaudeHome):
    log = claude.write(
        ClaudeLogBuilder(OLD).prompt("hello"), name=f"-{TEXT}/{OLD}.jsonl"
    )
    sync_and_archive(claude)
    answer = forget(claude, text=TEXT)

    assert ("path", str(log)) in answer.remainders


def test_too_little_free_space_is_reported_before_anything_is_deleted(
    forget_home: ForgetHome, monkeypatch: pytest.MonkeyPatch
):
    usage = shutil.disk_usage(forget_home.data)._replace(free=1000)
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)

    with pytest.raises(UserError, match="Nothing was deleted"):
        forget(forget_home.claude, OLD)
    assert list_session_ids(forget_home.claude) == {OLD, NEW}
    assert not (forget_home.data / "forgotten.json").exists()


def test_temporary_files_and_copies_of_the_store_are_deleted(forget_home: ForgetHome):
    names = ("store.db.before-rebuild", "store.db.new", "archive/.replay")
    for name in names:
        (forget_home.data / name).write_text(TEXT)
    forget(forget_home.claude, OLD)

    assert [name for name in names if (forget_home.data / name).exists()] == []
