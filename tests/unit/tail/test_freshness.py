"""Test finding out how new an agent's logs are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from leslied.model.source import Environment, Root
from leslied.tail import check_freshness
from leslied.tail.freshness import MAX_CHECKED_LOGS
from tests.support.claude import ADAPTER

SCANNED_NS = 1_000_000_000 * 10**9
"""Time of the last scan."""
BEFORE_NS, AFTER_NS = SCANNED_NS - 10**12, SCANNED_NS + 10**12


@pytest.fixture
def roots(home: Path) -> list[Root]:
    env = Environment(home=home, environ={}, platform="linux")
    return [root for root in ADAPTER.roots(env, []) if ".claude" in str(root.path)][:1]


def write_log(roots: list[Root], name: str, mtime_ns: int) -> bytes:
    """Write a log with this mtime, make its folders older than the last scan.

    Return the log's path.
    """
    path = roots[0].path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{}\n")
    os.utime(path, ns=(mtime_ns, mtime_ns))
    set_folder_times(path.parent, BEFORE_NS)
    return os.fsencode(path)


def write_logs(roots: list[Root], *names: str) -> dict[bytes, int | None]:
    """Write logs before the last scan; return when each of them was changed."""
    return {write_log(roots, name, BEFORE_NS): BEFORE_NS for name in names}


def set_folder_times(folder: Path, mtime_ns: int) -> None:
    """Set the mtime of a folder and of those above it, up to the home."""
    while folder.name != "home":
        os.utime(folder, ns=(mtime_ns, mtime_ns))
        folder = folder.parent


def test_a_known_log_that_grew_is_the_newest(roots: list[Root]):
    known_times = write_logs(roots, *(f"-p/{n}.jsonl" for n in range(3)))
    write_log(roots, "-p/1.jsonl", AFTER_NS)

    freshness = check_freshness(ADAPTER.name, roots, known_times, SCANNED_NS)

    assert (freshness.newest_ns, freshness.count) == (AFTER_NS, 3)


@pytest.mark.parametrize("name", ["-p/new.jsonl", "-q/new.jsonl"])
def test_a_new_log_in_a_changed_folder_is_found(roots: list[Root], name: str):
    known_times = write_logs(roots, "-p/1.jsonl")
    write_log(roots, name, AFTER_NS)
    set_folder_times((roots[0].path / name).parent, AFTER_NS)

    freshness = check_freshness(ADAPTER.name, roots, known_times, SCANNED_NS)

    assert (freshness.newest_ns, freshness.count) == (AFTER_NS, 2)


def test_a_subagents_log_in_new_folders_is_found(roots: list[Root]):
    known_times = write_logs(roots, "-p/abc.jsonl")
    write_log(roots, "-p/abc/subagents/agent-1.jsonl", AFTER_NS)
    set_folder_times(roots[0].path / "-p/abc/subagents", AFTER_NS)

    assert (
        check_freshness(ADAPTER.name, roots, known_times, SCANNED_NS).newest_ns
        == AFTER_NS
    )


def test_a_folder_that_did_not_change_is_not_listed(
    roots: list[Root], monkeypatch: pytest.MonkeyPatch
):
    known_times = write_logs(roots, *(f"-p{n}/1.jsonl" for n in range(5)))
    listed_folders: list[object] = []
    real_scandir = os.scandir
    monkeypatch.setattr(
        os, "scandir", lambda path: listed_folders.append(path) or real_scandir(path)
    )

    check_freshness(ADAPTER.name, roots, known_times, SCANNED_NS)

    assert listed_folders == [os.fsencode(roots[0].path)]


def test_the_first_log_of_an_old_folder_is_found(roots: list[Root]):
    """The folder had no log, so the mtime of the folder above does not change."""
    known_times = write_logs(roots, "-p/1.jsonl")
    (roots[0].path / "-empty").mkdir()
    write_log(roots, "-empty/new.jsonl", AFTER_NS)
    os.utime(roots[0].path / "-empty", ns=(AFTER_NS, AFTER_NS))

    assert (
        check_freshness(ADAPTER.name, roots, known_times, SCANNED_NS).newest_ns
        == AFTER_NS
    )


def test_a_change_of_a_log_that_was_not_among_the_newest_is_not_seen(
    roots: list[Root], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("leslied.tail.freshness.MAX_CHECKED_LOGS", 2)
    known_times = write_logs(roots, *(f"-p/{n}.jsonl" for n in range(3)))
    write_log(roots, "-p/2.jsonl", AFTER_NS)

    assert (
        check_freshness(ADAPTER.name, roots, known_times, SCANNED_NS).newest_ns
        == BEFORE_NS
    )


def test_thousands_of_logs_are_checked():
    assert MAX_CHECKED_LOGS >= 2000


def test_without_an_earlier_scan_all_folders_are_walked(roots: list[Root]):
    write_log(roots, "-p/1.jsonl", BEFORE_NS)

    freshness = check_freshness(ADAPTER.name, roots, {}, 0)

    assert (freshness.newest_ns, freshness.count) == (BEFORE_NS, 1)


def test_a_missing_root_is_reported(roots: list[Root]):
    freshness = check_freshness(
        ADAPTER.name, roots, {b"/gone/1.jsonl": BEFORE_NS}, SCANNED_NS
    )

    assert freshness.missing_roots == [roots[0].path]
    assert not freshness.newest_ns


def count_unread(roots: list[Root], read_times: dict[bytes, int | None]) -> int:
    return check_freshness(ADAPTER.name, roots, read_times, SCANNED_NS).unread


def test_logs_that_were_read_since_their_last_change_are_not_unread(roots: list[Root]):
    assert count_unread(roots, write_logs(roots, "-p/1.jsonl", "-p/2.jsonl")) == 0


def test_the_earliest_unread_change_is_known(roots: list[Root]):
    read_times = write_logs(roots, *(f"-p/{n}.jsonl" for n in range(3)))
    for number in (1, 2):
        write_log(roots, f"-p/{number}.jsonl", AFTER_NS + number)

    freshness = check_freshness(ADAPTER.name, roots, read_times, SCANNED_NS)

    assert (freshness.unread, freshness.oldest_unread_ns) == (2, AFTER_NS + 1)


def test_a_log_that_was_replaced_by_an_older_file_is_unread(roots: list[Root]):
    read_times = write_logs(roots, "-p/1.jsonl")
    write_log(roots, "-p/1.jsonl", BEFORE_NS - 1)

    assert count_unread(roots, read_times) == 1


def test_a_log_that_was_deleted_is_not_unread(roots: list[Root]):
    read_times = write_logs(roots, "-p/1.jsonl")
    (roots[0].path / "-p/1.jsonl").unlink()

    assert count_unread(roots, read_times) == 0


def test_a_log_that_cannot_be_read_yet_is_not_unread(roots: list[Root]):
    """Such a log has no time in the store, and a reason that status shows."""
    read_times = dict.fromkeys(write_logs(roots, "-p/1.jsonl"))

    assert count_unread(roots, read_times) == 0


@pytest.mark.parametrize(("text", "unread"), [("{}\n", 1), ("", 0)])
@pytest.mark.parametrize("scanned_ns", [SCANNED_NS, 0])
def test_a_new_log_is_unread_if_it_has_content(
    roots: list[Root], text: str, unread: int, scanned_ns: int
):
    read_times = write_logs(roots, "-p/1.jsonl")
    (roots[0].path / "-p/new.jsonl").write_text(text)

    freshness = check_freshness(ADAPTER.name, roots, read_times, scanned_ns)

    assert freshness.unread == unread


def test_a_second_link_to_a_log_is_not_unread(roots: list[Root]):
    read_times = write_logs(roots, "-p/1.jsonl")
    (roots[0].path / "-p/2.jsonl").hardlink_to(roots[0].path / "-p/1.jsonl")

    assert count_unread(roots, read_times) == 0
