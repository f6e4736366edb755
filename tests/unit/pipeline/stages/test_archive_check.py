"""Test the archive check: what is verified when, and what happens to damage."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import timedelta

import pytest
from msgspec.structs import replace

from leslied.archive import ArchiveReader, ArchiveVersionError, erase_lines
from leslied.pipeline import Budget
from leslied.pipeline.stage import FULL_BUDGET
from leslied.pipeline.stages.archive_check import VERIFY_AFTER, ArchiveCheck
from leslied.store.forgotten import ForgottenItems, digest_line
from tests.support.archives import (
    CheckHarness,
    flip_byte,
    read_archive,
    write_newer_format,
)
from tests.support.claude import ClaudeHome, ClaudeLogBuilder, encode_json_lines
from tests.support.clock import FakeClock

pytestmark = pytest.mark.fault("E4")
BODY = -6
"""Offset of a byte in the compressed data of the last frame."""


@pytest.fixture
def builder() -> ClaudeLogBuilder:
    return ClaudeLogBuilder()


@pytest.fixture
def archive(claude: ClaudeHome, builder: ClaudeLogBuilder) -> Iterator[CheckHarness]:
    """Archive of one log with two frames."""
    with CheckHarness(claude) as harness:
        claude.write(builder.prompt("one"), builder.answer("1"))
        harness.archive()
        claude.write(builder.prompt("two"), builder.answer("2"))
        harness.archive()
        yield harness


def test_a_file_that_leslied_wrote_is_not_verified_again(archive: CheckHarness):
    report = archive.check()

    assert (report.verified, report.repaired) == (0, 0)


def test_a_file_with_another_time_is_verified_once(archive: CheckHarness):
    (path,) = archive.list_files()
    path.write_bytes(path.read_bytes())

    assert archive.check().verified == 1
    assert archive.check().verified == 0


def test_every_file_is_verified_after_a_week(archive: CheckHarness, clock: FakeClock):
    clock.advance(VERIFY_AFTER.total_seconds() - 1)
    early = archive.check().verified
    clock.advance(2)

    assert early == 0
    assert archive.check().verified == 1
    assert archive.check().verified == 0


def test_damage_that_did_not_change_the_time_is_repaired_within_a_week(
    archive: CheckHarness, clock: FakeClock
):
    (path,) = archive.list_files()
    content, times = read_archive(path), path.stat()
    flip_byte(path, BODY % path.stat().st_size)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    first = archive.check()
    clock.advance(VERIFY_AFTER.total_seconds() + 1)

    assert first.repaired == 0
    assert archive.check().repaired == 1
    assert read_archive(path) == content


def test_a_file_is_verified_in_pieces_while_new_entries_wait(
    archive: CheckHarness, clock: FakeClock
):
    clock.advance(VERIFY_AFTER.total_seconds() + 1)
    budget = Budget(max_verified_bytes=1)

    first = archive.check(budget)
    pieces = 1
    while archive.stage.run(replace(budget, changed_paths=())).has_more:
        pieces += 1

    assert first.has_more
    assert pieces > 1
    assert archive.check().verified == 0


def test_verifying_gives_way_to_new_entries(archive: CheckHarness, clock: FakeClock):
    clock.advance(VERIFY_AFTER.total_seconds() + 1)

    waiting = archive.check(Budget(should_yield=lambda: True))

    assert (waiting.verified, waiting.has_more) == (0, True)
    assert archive.stage.run(Budget(includes_backlog=False)).has_more
    assert archive.stage.run(Budget(changed_paths=())).verified == 1


def test_new_settings_do_not_restart_a_verification(
    archive: CheckHarness, clock: FakeClock
):
    clock.advance(VERIFY_AFTER.total_seconds() + 1)
    archive.check(Budget(max_verified_bytes=1))
    stage = ArchiveCheck(archiver=archive.archiver)

    stage.adopt(archive.stage)

    assert stage.run(Budget(changed_paths=())).verified == 1


def test_damage_without_a_log_is_recorded_and_the_file_stays(
    claude: ClaudeHome, archive: CheckHarness
):
    (path,) = archive.list_files()
    flip_byte(path, BODY % path.stat().st_size)
    damaged = path.read_bytes()
    claude.log().unlink()
    claude.sync(archive.store)

    report = archive.check()

    (reason,) = report.errors.values()
    assert "is damaged" in reason
    assert path.read_bytes() == damaged
    assert archive.archiver.failures.list_names("archive file") == list(report.errors)


def test_a_truncated_file_without_a_log_is_reported_as_an_error(
    claude: ClaudeHome, archive: CheckHarness
):
    (path,) = archive.list_files()
    with ArchiveReader(path) as reader:
        os.truncate(path, reader.frames[0].end)
    claude.log().unlink()
    claude.sync(archive.store)

    (reason,) = archive.check().errors.values()
    assert "bytes are gone" in reason


def test_damage_that_stays_is_checked_again_after_a_pause(
    claude: ClaudeHome, archive: CheckHarness, clock: FakeClock
):
    (path,) = archive.list_files()
    content, log = read_archive(path), claude.log().read_bytes()
    flip_byte(path, BODY % path.stat().st_size)
    claude.log().unlink()
    archive.check()
    claude.log().write_bytes(log)

    paused = archive.check()
    clock.advance(timedelta(minutes=1).total_seconds())
    report = archive.check()

    assert (paused.repaired, report.repaired) == (0, 1)
    assert read_archive(path) == content
    assert archive.archiver.failures.list_names("archive file") == []


def test_an_older_generation_stays_damaged_and_the_newer_one_is_repaired(
    claude: ClaudeHome, archive: CheckHarness, builder: ClaudeLogBuilder
):
    new_log = encode_json_lines(builder.prompt("all new"), builder.answer("3"))
    claude.log().write_bytes(new_log)
    path = archive.archive()
    flip_byte(path, 70)
    flip_byte(path, BODY % path.stat().st_size)

    report = archive.check()

    assert len(report.errors) == 1
    with ArchiveReader(path) as reader:
        generations = reader.list_frames_by_generation()
        damage = reader.find_damage()
        newest = b"".join(d for f in generations[2] for d in reader.read_frame(f))
    assert newest == new_log
    assert len(damage) == 1


def test_a_region_between_generations_is_kept(
    claude: ClaudeHome, archive: CheckHarness, builder: ClaudeLogBuilder
):
    """Nobody knows whether it contained the end of the older generation."""
    with ArchiveReader(archive.list_files()[0]) as reader:
        second = reader.frames[1]
    claude.log().write_bytes(encode_json_lines(builder.prompt("all new")))
    path = archive.archive()
    data = path.read_bytes()
    region = bytearray(data[second.file_offset : second.end])
    region[0] ^= 0xFF
    path.write_bytes(data[: second.file_offset] + region + data[second.end :])

    report = archive.check()

    assert len(report.errors) == 1
    assert bytes(region) in path.read_bytes()


def test_forgotten_lines_do_not_return(claude: ClaudeHome, archive: CheckHarness):
    (path,) = archive.list_files()
    line = claude.log().read_bytes().splitlines()[2]
    archive.store.forgotten.add(ForgottenItems(line_digests=[digest_line(line)]))
    flip_byte(path, BODY % path.stat().st_size)
    damaged = path.read_bytes()

    report = archive.check()

    assert len(report.errors) == 1
    assert path.read_bytes() == damaged


def test_a_file_with_erased_lines_is_repaired_without_them(
    claude: ClaudeHome, archive: CheckHarness, clock: FakeClock
):
    (path,) = archive.list_files()
    line = claude.log().read_bytes().splitlines()[2]
    archive.store.forgotten.add(ForgottenItems(line_digests=[digest_line(line)]))
    erase_lines(path, lambda data: line in data)
    archive.check()
    content = read_archive(path)
    flip_byte(path, BODY % path.stat().st_size)
    clock.advance(VERIFY_AFTER.total_seconds() + 1)

    report = archive.check()

    assert (report.repaired, report.errors) == (1, {})
    assert read_archive(path) == content
    assert line not in content[1]


def test_masked_secrets_stay_masked(claude: ClaudeHome, builder: ClaudeLogBuilder):
    def mask(line: bytes) -> bytes:
        return line.replace(b"secret", b"******")

    with CheckHarness(claude, mask=mask) as archive:
        claude.write(builder.prompt("a secret"), builder.answer("1"))
        path = archive.archive()
        content = read_archive(path)
        flip_byte(path, BODY % path.stat().st_size)
        report = archive.check()

    assert report.repaired == 1
    assert read_archive(path) == content
    assert b"secret" not in content[1]


@pytest.mark.fault("E7")
def test_a_file_of_a_newer_leslied_is_refused(archive: CheckHarness):
    (path,) = archive.list_files()
    data = write_newer_format(path)
    with archive.store.archive() as ledger:
        ledger.mark_all_unverified()

    with pytest.raises(ArchiveVersionError):
        archive.stage.run(FULL_BUDGET)
    assert path.read_bytes() == data
