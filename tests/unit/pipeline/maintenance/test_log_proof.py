"""Every entry of a log is accounted for, or named with the reason why it is not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from leslied.model.log_proof import ProofReport, SourceProof
from leslied.model.source import Cursor
from leslied.model.unknown_kind import UnknownKind
from leslied.store import Store, StoreReader
from leslied.tail import ReadLimits
from tests.support.claude import ADAPTER, SESSION, ClaudeHome, ClaudeLogBuilder
from tests.support.log_proofs import change_store, get_only_source, prove_home

HOUR_NS = 3600 * 10**9
IS_ANSWER = "type = 'assistant_message'"
SELECT_ANSWERS = f"SELECT entry FROM record WHERE {IS_ANSWER}"


def prove(claude: ClaudeHome, **options: object) -> ProofReport:
    return prove_home(ADAPTER, claude.home, claude.store_path, **options)


def count(source: SourceProof) -> dict[str, int]:
    return {name: number for name, number in source.counts.items() if number}


@pytest.fixture
def builder() -> ClaudeLogBuilder:
    return ClaudeLogBuilder()


@pytest.fixture
def synced_log(claude: ClaudeHome, builder: ClaudeLogBuilder) -> Path:
    """Sync a log with two records, one noise and one rejected line."""
    path = claude.write(
        builder.prompt("one"),
        builder.answer("two"),
        builder.line("file-history-snapshot"),
    )
    with path.open("ab") as file:
        file.write(b"\xff\xfe not JSON\n\n")
    claude.sync()
    return path


def test_every_line_of_a_log_that_was_read_is_accounted_for(
    claude: ClaudeHome, synced_log: Path
):
    report = prove(claude)

    source = get_only_source(report)
    assert not report.is_failed
    assert count(source) == {"record": 2, "noise": 1, "rejected": 1}
    assert source.entries == 4
    assert source.bytes == synced_log.stat().st_size
    assert source.is_same is True
    assert source.examples == ()


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        (f"DELETE FROM record WHERE {IS_ANSWER}", "the store has no record of it"),
        (
            f"UPDATE record SET digest = x'00' WHERE {IS_ANSWER}",
            "the store has another content of it",
        ),
        (
            f"UPDATE record SET is_current = 0 WHERE {IS_ANSWER}",
            "the store has no current version of it",
        ),
        (
            f"DELETE FROM placement WHERE entry IN ({SELECT_ANSWERS})",
            "its record is in no session",
        ),
        ("DELETE FROM noise", "the store did not count it as noise"),
        ("DELETE FROM rejected", "the store did not count it as rejected"),
    ],
)
@pytest.mark.usefixtures("synced_log")
def test_what_the_store_lost_is_missing(
    claude: ClaudeHome, statement: str, reason: str
):
    change_store(claude.store_path, statement)

    report = prove(claude, is_daemon_running=True)

    source = get_only_source(report)
    assert report.is_failed
    assert source.missing == 1
    assert [example.reason for example in source.examples] == [reason]


@pytest.mark.usefixtures("synced_log")
def test_lines_after_the_last_read_are_missing_without_a_daemon(
    claude: ClaudeHome, builder: ClaudeLogBuilder
):
    claude.write(builder.prompt("three"))

    report = prove(claude)

    source = get_only_source(report)
    assert report.is_failed
    assert source.counts["unread"] == 1
    assert [example.reason for example in source.examples] == ["not read yet"]


@pytest.mark.usefixtures("synced_log")
def test_a_running_daemon_has_time_to_read_new_lines(
    claude: ClaudeHome, builder: ClaudeLogBuilder
):
    path = claude.write(builder.prompt("three"))
    now_ns = path.stat().st_mtime_ns

    soon = prove(claude, is_daemon_running=True, now_ns=now_ns)
    late = prove(claude, is_daemon_running=True, now_ns=now_ns + HOUR_NS)

    assert not soon.is_failed
    assert late.is_failed


@pytest.mark.usefixtures("synced_log")
def test_a_log_that_was_never_read_is_unread(claude: ClaudeHome):
    other = ClaudeLogBuilder("22222222-2222-4333-8444-555555555555")
    claude.write(other.prompt("x"), name="-home-dev-app/other.jsonl")

    report = prove(claude)

    unread = [s for a in report.agents for s in a.sources if s.counts["unread"]]
    assert report.is_failed
    assert [Path(source.path).name for source in unread] == ["other.jsonl"]


def test_a_log_that_was_rewritten_is_unread(
    claude: ClaudeHome, synced_log: Path, builder: ClaudeLogBuilder
):
    synced_log.unlink()
    claude.write(builder.prompt("something else"), builder.answer("entirely"))

    source = get_only_source(prove(claude))

    assert source.is_same is False
    assert count(source) == {"unread": 2}
    assert {example.reason for example in source.examples} == {
        "the log was changed after it was read"
    }


@pytest.mark.usefixtures("synced_log")
def test_an_older_decoder_is_named_instead_of_missing_records(claude: ClaudeHome):
    change_store(
        claude.store_path,
        "UPDATE record SET digest = x'00' WHERE type = 'assistant_message'",
        "UPDATE source SET decoder_version = 1, tried_version = 1",
    )

    report = prove(claude)

    assert not report.is_failed
    assert get_only_source(report).counts["outdated"] == 1


def test_equal_lines_without_ids_are_distinguished(claude: ClaudeHome):
    claude.write(*[{"type": "novelty", "sessionId": SESSION}] * 3)
    claude.sync()
    change_store(
        claude.store_path,
        "DELETE FROM record WHERE id = (SELECT max(id) FROM record)",
    )

    source = get_only_source(prove(claude))

    assert count(source) == {"record": 2, "missing": 1}


def test_an_incomplete_last_line_counts_only_if_it_was_read(
    claude: ClaudeHome, builder: ClaudeLogBuilder
):
    path = claude.write(builder.prompt("one"))
    with path.open("ab") as file:
        file.write(b'{"type": "user", "torn')
    claude.sync()
    before = get_only_source(prove(claude))
    claude.sync(is_final=True)

    after = get_only_source(prove(claude))

    assert count(before) == {"record": 1}
    assert count(after) == {"record": 1, "rejected": 1}


def test_many_rejected_lines_that_one_row_stands_for_are_accounted_for(
    claude: ClaudeHome, builder: ClaudeLogBuilder
):
    path = claude.write(builder.prompt("one"))
    with path.open("ab") as file:
        file.write(b"garbage\n" * 50)
    claude.limits = ReadLimits(rejections=10)
    claude.sync()

    few = get_only_source(prove(claude, limits=ReadLimits(rejections=5)))
    many = get_only_source(prove(claude))

    assert count(few) == count(many) == {"record": 1, "rejected": 50}


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"user","uuid":"u","sessionId":"s","message":{"content":"\\ud800"}}',
        b'{"type":"\\ud800","sessionId":"s"}',
        b'{"type":"user","message":' + b"[" * 3000 + b"]" * 3000 + b"}",
        b"\x00" * 5000,
        b'{"type":"user"}{"type":"user"}',
        b'{"a":' + b"9" * 5000 + b"}",
        b'"text"',
        b"{}",
    ],
)
def test_a_hostile_line_is_accounted_for(
    claude: ClaudeHome, builder: ClaudeLogBuilder, line: bytes
):
    path = claude.write(builder.prompt("one"))
    with path.open("ab") as file:
        file.write(line + b"\n")
    claude.sync()

    report = prove(claude)

    assert not report.is_failed, get_only_source(report).examples
    assert get_only_source(report).entries == 2


def test_an_excluded_log_is_accounted_for_as_noise(
    claude: ClaudeHome, builder: ClaudeLogBuilder
):
    claude.write(builder.prompt("private"))
    with Store(claude.store_path, claude.clock) as store:
        ingest = claude.make_ingest(store)
        ingest.is_excluded = lambda _: True
        ingest.scan()

    source = get_only_source(prove(claude))

    assert count(source) == {"noise": 1}


@pytest.mark.usefixtures("synced_log")
def test_unknown_kinds_are_named_with_the_version(
    claude: ClaudeHome, builder: ClaudeLogBuilder
):
    claude.write(
        builder.prompt("x", version="7.0.0"), {"type": "novelty", "sessionId": SESSION}
    )
    claude.sync()

    (kind,) = prove(claude).unknown_kinds

    assert kind == UnknownKind(
        agent="claude-code", version="7.0.0", kind="novelty", entries=1
    )


@pytest.mark.usefixtures("synced_log")
def test_a_log_that_cannot_be_read_is_a_failure(claude: ClaudeHome):
    limits = ReadLimits(chunk=8, line=8, skip=16)

    report = prove(claude, limits=limits)

    assert report.is_failed
    assert "has a line of more than" in get_only_source(report).problem


def test_a_deleted_log_is_counted(claude: ClaudeHome, synced_log: Path):
    synced_log.unlink()
    claude.sync()

    (agent,) = prove(claude).agents

    assert (agent.deleted_logs, agent.sources, agent.is_failed) == (1, [], False)


def test_progress_ends_at_the_size_of_all_logs(claude: ClaudeHome, synced_log: Path):
    other = claude.write(ClaudeLogBuilder("other").prompt("x"), name="-app/other.jsonl")
    steps: list[tuple[int, int]] = []

    prove(claude, on_progress=lambda done, total: steps.append((done, total)))

    size = synced_log.stat().st_size + other.stat().st_size
    assert len(steps) == 2
    assert steps[-1] == (size, size)


def test_the_store_is_not_changed(claude: ClaudeHome, synced_log: Path):
    folder = claude.store_path.parent
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    with StoreReader(claude.store_path) as reader:
        stored = reader.audits.find_source(ADAPTER.name, os.fsencode(synced_log))

    prove(claude)

    after = {file.name: file.read_bytes() for file in folder.iterdir()}
    assert stored is not None
    assert stored.cursor != Cursor()
    assert after["store.db"] == before["store.db"]
