"""Test the archive stage: bytes of idle sessions are archived exactly once."""

from __future__ import annotations

import errno
import json
import os
from typing import Any

import pytest

from leslied.archive import ArchiveReader, ArchiveVersionError, FrameKind, list_files
from leslied.pipeline.stages.archive import Archiver, ArchiverReport
from leslied.pipeline.stages.archive_copies import CopyOutcome, SourceCopy
from leslied.store import Store
from tests.support.archives import ArchiverHarness, write_newer_format
from tests.support.claude import (
    ADAPTER,
    SESSION,
    ClaudeHome,
    ClaudeLogBuilder,
    encode_json_lines,
)
from tests.support.golden import make_environment
from tests.support.records import list_modes

SPILL = f"-home-dev-app/{SESSION}/tool-results/big.txt"


@pytest.fixture
def archiver(claude: ClaudeHome) -> ArchiverHarness:
    return ArchiverHarness(claude)


@pytest.fixture
def builder() -> ClaudeLogBuilder:
    return ClaudeLogBuilder()


def test_a_stopped_session_is_archived_byte_for_byte(
    claude: ClaudeHome, archiver: ArchiverHarness, builder: ClaudeLogBuilder
):
    log = claude.write(builder.prompt("one"), builder.answer("1"))

    report = archiver()

    assert (report.sources, report.errors) == (1, {})
    assert archiver.read_generations() == {1: log.read_bytes()}
    assert list_modes(list_files(archiver.folder)) == {0o600}


def test_a_second_run_reads_nothing(
    claude: ClaudeHome, archiver: ArchiverHarness, builder: ClaudeLogBuilder
):
    claude.write(builder.prompt("one"), builder.answer("1"))
    archiver()
    before = {p: p.stat() for p in archiver.folder.rglob("*")}

    report = archiver()

    assert report == ArchiverReport()
    assert {p: p.stat().st_mtime_ns for p in archiver.folder.rglob("*")} == {
        path: status.st_mtime_ns for path, status in before.items()
    }


def test_only_new_bytes_are_read_and_added(
    claude: ClaudeHome, archiver: ArchiverHarness, builder: ClaudeLogBuilder
):
    log = claude.write(*[builder.prompt("x" * 5000) for _ in range(100)])
    archiver()
    size = log.stat().st_size
    claude.write(builder.prompt("one more"))

    report = archiver()

    assert report.bytes_read <= log.stat().st_size - size
    assert archiver.read_generations() == {1: log.read_bytes()}
    assert archiver.list_frame_kinds() == [FrameKind.LOG, FrameKind.LOG]


def test_a_rewritten_log_starts_a_new_generation_and_the_old_one_stays(
    claude: ClaudeHome, archiver: ArchiverHarness, builder: ClaudeLogBuilder
):
    log = claude.write(builder.prompt("one"), builder.answer("1"))
    archiver()
    old = log.read_bytes()
    log.write_bytes(encode_json_lines(builder.prompt("all new")))

    archiver()

    assert archiver.read_generations() == {1: old, 2: log.read_bytes()}


def test_a_log_that_became_longer_when_it_was_rewritten_is_archived(
    claude: ClaudeHome, archiver: ArchiverHarness, builder: ClaudeLogBuilder
):
    log = claude.write(builder.prompt("one"))
    archiver()
    old = log.read_bytes()
    log.write_bytes(encode_json_lines(*[builder.prompt("all new") for _ in range(3)]))

    report = archiver()

    assert (report.sources, report.errors) == (1, {})
    assert archiver.read_generations() == {1: old, 2: log.read_bytes()}


def test_a_log_rewritten_after_ingest_is_archived_after_the_next_ingest(
    claude: ClaudeHome, archiver: ArchiverHarness, builder: ClaudeLogBuilder
):
    log = claude.write(builder.prompt("one"), builder.answer("1"))
    claude.sync(is_final=True)
    log.write_bytes(log.read_bytes().replace(b"one", b"two"))
    roots = tuple(ADAPTER.roots(make_environment(claude.home), []))
    with Store(claude.store_path, claude.clock) as store:
        store.mark_all_stopped()
        stage = Archiver(
            store=store,
            archive_dir=archiver.folder,
            roots={ADAPTER.name: roots},
            clock=claude.clock,
        )

        report = stage.run()

    assert "changed" in report.errors[str(log)]
    assert archiver().sources == 1
    assert archiver.read_generations() == {2: log.read_bytes()}


def test_an_active_session_is_not_archived_until_it_is_idle(
    claude: ClaudeHome, archiver: ArchiverHarness, builder: ClaudeLogBuilder
):
    line = builder.prompt("one")
    line["timestamp"] = "2026-11-16T11:59:59.000Z"
    claude.write(line)

    assert archiver(is_final=False).sources == 0
    claude.clock.advance(601)
    assert archiver(is_final=False).sources == 1


def test_an_incomplete_last_line_is_archived_and_replaced_when_it_is_complete(
    claude: ClaudeHome, archiver: ArchiverHarness, builder: ClaudeLogBuilder
):
    log = claude.write(builder.prompt("one"))
    line = encode_json_lines(builder.answer("1"))
    with log.open("ab") as file:
        file.write(line[:-1])
    archiver()
    before = archiver.read_generations()
    with log.open("ab") as file:
        file.write(b"\n")

    archiver()

    assert before == {1: log.read_bytes()[:-1]}
    assert archiver.read_generations() == {1: log.read_bytes()}
    assert archiver.list_frame_kinds() == [FrameKind.LOG, FrameKind.TAIL, FrameKind.LOG]


def test_a_side_file_is_archived_completely_at_each_change(
    claude: ClaudeHome, archiver: ArchiverHarness, builder: ClaudeLogBuilder
):
    folder = f"-home-dev-app/{SESSION}/subagents"
    claude.write(builder.prompt("one", agentId="a1"), name=f"{folder}/agent-a1.jsonl")
    side_file = claude.log(f"{folder}/agent-a1.meta.json")
    for kind in ("first", "second"):
        side_file.write_text(json.dumps({"agentType": kind}))
        archiver()

    contents = [archiver.read_generations(number) for number in (0, 1)]
    texts = [b'{"agentType": "first"}', b'{"agentType": "second"}']
    assert dict(enumerate(texts, 1)) in contents


def test_a_spilled_result_is_archived_with_its_log(
    claude: ClaudeHome, archiver: ArchiverHarness, builder: ClaudeLogBuilder
):
    spill = claude.log(SPILL)
    spill.write_text("the whole text")
    claude.write(
        builder.prompt("run"),
        builder.call("Bash", {"command": "make"}, "t1"),
        builder.result(
            "t1",
            f"<persisted-output>\nOutput too large. Full output saved to: {spill}\n",
        ),
    )

    archiver()

    with ArchiveReader(list_files(archiver.folder)[0]) as reader:
        kinds = [frame.kind for frame in reader.frames]
        spill_frames = [f for f in reader.frames if f.kind == FrameKind.SPILL]
        texts = [b"".join(reader.read_frame(f)) for f in spill_frames]
    assert kinds == [FrameKind.LOG, FrameKind.SPILL]
    assert texts == [b"the whole text"]


@pytest.mark.parametrize("exclusion", ["when read", "only now", "agent off"])
def test_an_excluded_project_is_not_archived(
    claude: ClaudeHome,
    archiver: ArchiverHarness,
    builder: ClaudeLogBuilder,
    exclusion: str,
):
    log = claude.write(builder.prompt("secret work"), builder.answer("1"))
    long_ago = claude.clock.now().timestamp() - 3600
    os.utime(log, (long_ago, long_ago))
    options: dict[str, Any] = {}
    if exclusion == "when read":
        options["is_excluded_when_read"] = lambda cwd: cwd == "/home/dev/app"
    elif exclusion == "only now":
        options["is_excluded"] = lambda _, cwd: cwd == "/home/dev/app"
    else:
        options["is_excluded"] = lambda _, __: True

    report = archiver(**options)

    assert (report.sources, report.excluded, report.bytes_read) == (0, 1, 0)
    assert list_files(archiver.folder) == []


def test_a_moved_log_continues_in_the_same_archive_file(
    claude: ClaudeHome, archiver: ArchiverHarness, builder: ClaudeLogBuilder
):
    log = claude.write(builder.prompt("one"))
    archiver()
    new_log = claude.log(f"-elsewhere/{SESSION}.jsonl")
    log.rename(new_log)
    claude.write(builder.prompt("two"), name=f"-elsewhere/{SESSION}.jsonl")

    archiver()

    assert len(list_files(archiver.folder)) == 1
    assert archiver.read_generations() == {1: new_log.read_bytes()}


@pytest.mark.fault("E3")
@pytest.mark.parametrize("end", [0, 30, -5])
def test_a_truncated_archive_file_is_completed_from_the_log(
    claude: ClaudeHome, archiver: ArchiverHarness, builder: ClaudeLogBuilder, end: int
):
    log = claude.write(builder.prompt("one"), builder.answer("1"))
    archiver()
    (path,) = list_files(archiver.folder)
    path.write_bytes(path.read_bytes()[:end])

    archiver()

    assert archiver.read_generations() == {1: log.read_bytes()}


def test_with_a_new_store_a_rewritten_log_starts_a_new_generation(
    claude: ClaudeHome, archiver: ArchiverHarness, builder: ClaudeLogBuilder
):
    """The log was rewritten, and a new store counts its generations from one."""
    log = claude.write(builder.prompt("one"), builder.answer("1"))
    archiver()
    old = log.read_bytes()
    claude.store_path.unlink()
    log.write_bytes(
        encode_json_lines(
            builder.prompt("other"), builder.answer("2"), builder.answer("3")
        )
    )

    archiver()

    assert archiver.read_generations() == {1: old, 2: log.read_bytes()}


def test_with_a_new_store_nothing_is_archived_twice(
    claude: ClaudeHome, archiver: ArchiverHarness, builder: ClaudeLogBuilder
):
    log = claude.write(builder.prompt("one"), builder.answer("1"))
    archiver()
    (path,) = list_files(archiver.folder)
    before = path.read_bytes()
    claude.store_path.unlink()

    archiver()

    assert path.read_bytes() == before
    assert archiver.read_generations() == {1: log.read_bytes()}


@pytest.mark.fault("G11")
def test_a_deleted_log_stays_archived(
    claude: ClaudeHome, archiver: ArchiverHarness, builder: ClaudeLogBuilder
):
    log = claude.write(builder.prompt("one"), builder.answer("1"))
    archiver()
    data = log.read_bytes()
    log.unlink()

    assert archiver().errors == {}
    assert archiver.read_generations() == {1: data}


@pytest.mark.fault("E7")
def test_a_newer_archive_stops_the_run(
    claude: ClaudeHome, archiver: ArchiverHarness, builder: ClaudeLogBuilder
):
    claude.write(builder.prompt("one"), builder.answer("1"))
    archiver()
    (path,) = list_files(archiver.folder)
    data = write_newer_format(path)
    claude.write(builder.prompt("two"))

    with pytest.raises(ArchiveVersionError):
        archiver()
    assert path.read_bytes() == data


def test_the_manifest_contains_the_thread_ids(
    claude: ClaudeHome, archiver: ArchiverHarness, builder: ClaudeLogBuilder
):
    claude.write(builder.prompt("one"), builder.answer("1"))

    archiver()

    manifest = json.loads((archiver.folder / "manifest.json").read_text())
    (session,) = manifest["sessions"]
    assert manifest["key_id"] == "k"
    assert session["thread_id"] == "thread-11111111"


def test_only_the_user_can_read_the_manifest(
    claude: ClaudeHome, archiver: ArchiverHarness, builder: ClaudeLogBuilder
):
    claude.write(builder.prompt("one"), builder.answer("1"))

    archiver()

    assert list_modes([archiver.folder / "manifest.json"]) == {0o600}


def test_a_log_that_cannot_be_opened_is_reported_and_retried(
    claude: ClaudeHome,
    archiver: ArchiverHarness,
    builder: ClaudeLogBuilder,
    monkeypatch: pytest.MonkeyPatch,
):
    log = claude.write(builder.prompt("one"), builder.answer("1"))
    claude.sync(is_final=True)
    real_open = os.open

    def refuse(path: Any, *args: Any, **options: Any) -> int:
        if path == log.name:
            raise PermissionError(13, "Permission denied")
        return real_open(path, *args, **options)

    monkeypatch.setattr(os, "open", refuse)
    report = archiver()
    monkeypatch.undo()

    assert "Permission denied" in report.errors[str(log)]
    assert archiver().sources == 1


def test_a_source_that_fails_unexpectedly_does_not_stop_the_others(
    claude: ClaudeHome,
    archiver: ArchiverHarness,
    builder: ClaudeLogBuilder,
    monkeypatch: pytest.MonkeyPatch,
):
    other_builder = ClaudeLogBuilder("22222222-2222-4333-8444-555555555555")
    bad = claude.write(builder.prompt("bad"))
    claude.write(
        other_builder.prompt("good"),
        name=f"-home-dev-app/{other_builder.session_id}.jsonl",
    )
    append_to = SourceCopy.append_to

    def fail_for_bad_source(copy: SourceCopy, *args: Any) -> CopyOutcome:
        if copy.name == str(bad):
            raise ZeroDivisionError
        return append_to(copy, *args)

    with monkeypatch.context() as patch:
        patch.setattr(SourceCopy, "append_to", fail_for_bad_source)
        report = archiver()

    assert report.sources == 1
    assert report.errors[str(bad)].startswith("unexpected ZeroDivisionError")
    assert archiver().sources == 1


@pytest.mark.fault("D3")
def test_what_could_not_be_synced_is_archived_again(
    claude: ClaudeHome, archiver: ArchiverHarness, monkeypatch: pytest.MonkeyPatch
):
    builder = ClaudeLogBuilder()
    log = claude.write(builder.prompt("one"))
    archiver()
    claude.write(builder.prompt("two"))

    def fail(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        report = archiver()
    again = archiver()

    assert "Input/output error" in str(report.errors)
    assert again.errors == {}
    assert again.bytes_written > 0
    assert archiver.read_generations() == {1: log.read_bytes()}
