"""The first street, end to end, on real files and a real store."""

from __future__ import annotations

from typing import Any

import pytest

from leslied import tail
from leslied.store import StoreReader
from leslied.store.transaction import Transaction
from tests.support.claude import ClaudeHome, ClaudeLogBuilder


def test_a_second_sync_decodes_nothing(claude: ClaudeHome):
    talk = ClaudeLogBuilder()
    claude.write(talk.prompt("hello"), talk.answer("hi"))
    first = claude.sync()

    second = claude.sync()

    assert (first.entries, first.added.records) == (2, 3)
    assert (second.entries, second.bytes_read, second.commits) == (0, 0, 0)


def test_appended_bytes_cost_what_they_are(claude: ClaudeHome):
    talk = ClaudeLogBuilder()
    claude.write(*[talk.prompt("x" * 5000) for _ in range(100)])
    claude.sync()
    claude.write(line := talk.prompt("one more"))

    done = claude.sync()

    assert done.entries == 1
    assert done.bytes_read < 1000
    with StoreReader(claude.store_path) as reader:
        (session,) = reader.list_sessions()
        assert session.units == 101
        assert [p.record.native_id for p in reader.list_records(session.row)][-1] == (
            line["uuid"]
        )


def test_a_final_look_at_unended_logs_goes_on_from_their_cursors(claude: ClaudeHome):
    title = {"type": "custom-title", "customTitle": "One", "sessionId": "x"}
    claude.write(title, title)
    with claude.log().open("ab") as log:
        log.write(b'{"type": "custom-title", "customTitle": "Tw')
    first = claude.sync()

    final = claude.sync(is_final=True)

    assert first.added.placements == 2
    assert final.added.placements == 0


def test_a_source_that_fails_unexpectedly_holds_up_no_other(
    claude: ClaudeHome, monkeypatch: pytest.MonkeyPatch
):
    talk, other = (
        ClaudeLogBuilder(),
        ClaudeLogBuilder("22222222-2222-4333-8444-555555555555"),
    )
    bad = claude.write(talk.prompt("one"))
    claude.write(other.prompt("two"), name=f"-home-dev-app/{other.session_id}.jsonl")

    read = tail.read

    def stumble(source: Any, *more: Any, **options: Any) -> Any:
        if source.path == bad:
            raise ZeroDivisionError
        return read(source, *more, **options)

    with monkeypatch.context() as patch:
        patch.setattr(tail, "read", stumble)
        done = claude.sync()

    assert done.entries == 1
    assert done.failures[bad].startswith("unexpected ZeroDivisionError")
    assert claude.sync().entries == 1


def test_a_commit_that_fails_costs_only_its_source_and_moves_no_cursor(
    claude: ClaudeHome, monkeypatch: pytest.MonkeyPatch
):
    talk, other = (
        ClaudeLogBuilder(),
        ClaudeLogBuilder("22222222-2222-4333-8444-555555555555"),
    )
    bad = claude.write(talk.prompt("one"), talk.prompt("two"))
    claude.write(other.prompt("two"), name=f"-home-dev-app/{other.session_id}.jsonl")
    add = Transaction.add

    def stumble(work: Transaction, reading: Any) -> None:
        if reading.source.path == bad:
            raise ZeroDivisionError
        add(work, reading)

    with monkeypatch.context() as patch:
        patch.setattr(Transaction, "add", stumble)
        done = claude.sync()
    again = claude.sync()

    assert list(done.failures) == [bad]
    assert done.added.records > 0
    assert again.entries == 2
    assert again.failures == {}
