"""A damaged archive is repaired from the logs, and nothing is lost in silence."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from leslied.archive import ArchiveReader, list_files
from tests.support.archives import flip_byte, read_archive
from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.cli import LesliedRunner
from tests.support.daemon import Daemon, get_store_path, list_prompts
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.fault("E4")]

PROMPTS = ["the first prompt", "the second prompt", "the third prompt"]


@pytest.fixture
def leslied(home: Path, claude: ClaudeHome) -> LesliedRunner:
    """A session that was archived in three frames."""
    leslied, builder = LesliedRunner(home), ClaudeLogBuilder()
    for prompt in PROMPTS:
        claude.write(builder.prompt(prompt), builder.answer("done"))
        assert leslied("sync", "--stop-all").code == 0
    return leslied


@pytest.fixture
def path(home: Path, leslied: LesliedRunner) -> Path:
    """Return the path of the archive file."""
    (path,) = list_files(get_store_path(home).parent / "archive")
    return path


def damage_header(path: Path, number: int) -> None:
    with ArchiveReader(path) as reader:
        offset = reader.frames[number].file_offset
    flip_byte(path, offset + 20)


def damage_body(path: Path, number: int) -> None:
    with ArchiveReader(path) as reader:
        offset = reader.frames[number].end - 6
    flip_byte(path, offset)


def delete_store(path: Path) -> None:
    for file in path.parents[3].glob("store.db*"):
        file.unlink()


def rebuild(leslied: LesliedRunner) -> tuple[int, Any]:
    result = leslied("rebuild", "--json")
    return result.code, json.loads(result.out)


@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize("damage", [damage_header, damage_body])
def test_a_rebuild_repairs_the_archive_from_the_log(
    leslied: LesliedRunner,
    home: Path,
    path: Path,
    damage: Callable[[Path, int], None],
    number: int,
):
    content = read_archive(path)
    damage(path, number)
    delete_store(path)

    code, answer = rebuild(leslied)

    assert code == 0
    assert any(str(path) in warning for warning in answer["warnings"])
    assert answer["data"]["archive_damage"] == []
    assert list_prompts(get_store_path(home)) == PROMPTS
    assert leslied("sync", "--stop-all").code == 0
    assert read_archive(path) == content


@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize("damage", [damage_header, damage_body])
def test_a_rebuild_without_the_log_keeps_every_readable_frame(
    leslied: LesliedRunner,
    home: Path,
    claude: ClaudeHome,
    path: Path,
    damage: Callable[[Path, int], None],
    number: int,
):
    damage(path, number)
    damaged = path.read_bytes()
    claude.log().unlink()
    delete_store(path)

    code, answer = rebuild(leslied)

    assert code == 1
    assert len(answer["data"]["archive_damage"]) == 1
    readable = [p for index, p in enumerate(PROMPTS) if index != number]
    assert list_prompts(get_store_path(home)) == readable
    assert path.read_bytes() == damaged


def test_entries_that_only_the_store_has_prevent_a_rebuild(
    leslied: LesliedRunner, home: Path, claude: ClaudeHome, path: Path
):
    damage_body(path, 1)
    claude.log().unlink()

    result = leslied("rebuild")

    assert result.code == 2
    assert "exist only in the store" in result.err
    assert list_prompts(get_store_path(home)) == PROMPTS


def test_doctor_names_damage_and_repairs_it_on_request(
    leslied: LesliedRunner, path: Path
):
    content = read_archive(path)
    damage_header(path, 2)

    before = leslied("doctor")
    fixed = leslied("doctor", "--fix")
    after = leslied("doctor")

    assert before.code == 1
    assert f"{path} is damaged" in before.out
    assert "1 file of the archive repaired from the logs" in fixed.out
    assert str(path) not in after.out
    assert read_archive(path) == content


@pytest.mark.fault("E3")
def test_doctor_names_a_truncated_file_whose_log_is_gone(
    leslied: LesliedRunner, claude: ClaudeHome, path: Path
):
    with ArchiveReader(path) as reader:
        os.truncate(path, reader.frames[1].end)
    claude.log().unlink()
    leslied("sync", "--stop-all")

    result = leslied("doctor", "--fix")

    assert result.code == 1
    assert "bytes are gone" in result.out


def test_the_daemon_repairs_a_file_that_was_changed(home: Path, path: Path):
    content = read_archive(path)
    damage_body(path, 0)

    daemon = Daemon(home)
    wait_until(lambda: is_repaired(path))
    code = daemon.end(signal.SIGTERM)

    assert code == 0
    assert read_archive(path) == content


def test_doctor_leaves_the_repair_to_a_running_daemon(
    leslied: LesliedRunner, home: Path, path: Path
):
    times = path.stat()
    damage_body(path, 0)
    # Like a disk that changes a bit: the daemon does not notice before a week.
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    daemon = Daemon(home)
    assert daemon.process.stderr
    next(line for line in daemon.process.stderr if "daemon.start" in line)

    result = leslied("doctor", "--fix")
    daemon.process.send_signal(signal.SIGHUP)
    wait_until(lambda: is_repaired(path))
    daemon.end(signal.SIGTERM)

    assert "the daemon repairs 1 file of the archive" in result.out


def is_repaired(path: Path) -> bool:
    with ArchiveReader(path) as reader:
        return not reader.find_damage()
