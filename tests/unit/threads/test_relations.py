"""Leslie's relations file: parsing, updates concurrent with Leslie, and backups."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from leslied import sinks
from leslied.clock import SystemClock
from leslied.errors import SinkError
from leslied.threads._lock import LockBusyError
from leslied.threads.operations import (
    CycleError,
    add_reference,
    find_bindings,
    list_leslied_threads,
    remove_thread,
    rename_thread,
    set_status,
    upsert_threads,
)
from leslied.threads.relations import (
    MAX_RELATIONS_BYTES,
    InvalidRelationsError,
    encode_relations,
    make_empty_relations,
    parse_relations,
    read_relations,
    rebuild_relations,
)
from leslied.threads.relations_file import RelationsFile
from tests.support.clock import FakeClock
from tests.support.waiting import MAX_WAIT_SECONDS

NOW = "2026-11-16T12:00:00.000Z"
LATER = "2026-11-16T13:00:00.000Z"


def make_thread(name: str, parent: str | None = None, **fields: Any) -> dict[str, Any]:
    defaults = {
        "id": name,
        "title": f"about {name}",
        "session_id": f"session-{name}",
        "status": "active",
        "created_at": "2026-11-16T10:00:00.000Z",
        "metadata": {"agent": "claude-code", "subagents": []},
        "parent_id": parent,
    }
    return {**defaults, **fields}


def make_leslie_thread(name: str, **fields: Any) -> dict[str, Any]:
    """Return a thread as Leslie writes it."""
    defaults = {
        "id": name,
        "title": "Leslie's own",
        "objective": "obj-12345678",
        "created_at": "2026-02-08T15:30:00.000Z",
        "status": "active",
        "parent_id": None,
        "storage_path": f".leslie/threads/{name}",
        "executor": "human",
        "updated_at": "2026-02-08T15:30:00.000Z",
    }
    return {**defaults, **fields}


def make_data(*names: str) -> dict[str, Any]:
    data = make_empty_relations()
    upsert_threads(data, [make_thread(name) for name in names], NOW)
    return data


@pytest.fixture
def base(tmp_path: Path) -> Path:
    folder = tmp_path / "app"
    (folder / ".leslie").mkdir(parents=True)
    return folder


class SleeplessClock(SystemClock):
    """The system's clock, because locks have its times; `sleep` only records."""

    def __init__(self) -> None:
        self.delays: list[float] = []
        self.on_sleep: Callable[[], object] = lambda: None

    def sleep(self, seconds: float) -> None:
        self.delays.append(seconds)
        self.on_sleep()


@pytest.fixture
def sleepless_clock() -> SleeplessClock:
    return SleeplessClock()


@pytest.fixture
def file(base: Path, sleepless_clock: SleeplessClock) -> RelationsFile:
    return RelationsFile(
        base=base,
        clock=sleepless_clock,
        read=sinks.read_file,
        write=sinks.write_file,
    )


def get_main_path(base: Path) -> Path:
    return base / ".leslie" / "thread_relations.json"


def get_backup_path(base: Path) -> Path:
    return base / ".leslie" / "thread_relations.json.bak"


def save_threads(file: RelationsFile, *names: str) -> bool:
    threads = [make_thread(name) for name in names]
    update = file.update(lambda data, now: upsert_threads(data, threads, now))
    return update.is_changed


# File format


def test_a_new_file_has_the_form_that_leslie_writes(file: RelationsFile, base: Path):
    save_threads(file, "thread-a")

    text = get_main_path(base).read_text()
    data = json.loads(text)
    assert text == json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    assert list(data) == ["version", "metadata", "threads", "operations", "relations"]
    assert (data["version"], data["metadata"]["thread_count"]) == ("1.0", 1)
    assert data["metadata"]["last_updated"].endswith("Z")
    assert data["threads"]["thread-a"]["executor"] == "agent"
    assert data["threads"]["thread-a"]["storage_path"] == ".leslie/threads/thread-a"
    assert stat.S_IMODE(get_main_path(base).stat().st_mode) == 0o600


def test_a_time_with_an_offset_is_converted_to_utc(file: RelationsFile, base: Path):
    data = make_data("thread-a")
    data["threads"]["thread-a"]["created_at"] = "2026-02-08T16:00:00+08:00"
    data["operations"][0]["timestamp"] = "2026-02-08T16:00:00.250+08:00"
    get_main_path(base).write_text(json.dumps(data))

    save_threads(file, "thread-b")

    saved = json.loads(get_main_path(base).read_text())
    assert saved["threads"]["thread-a"]["created_at"] == "2026-02-08T08:00:00.000Z"
    assert saved["operations"][0]["timestamp"] == "2026-02-08T08:00:00.250Z"


def test_unknown_fields_are_preserved(file: RelationsFile, base: Path):
    data = make_data("thread-a")
    data["threads"]["thread-x"] = make_leslie_thread(
        "thread-x", tags=["a"], mood={"x": 1}
    )
    data["operations"][0]["weight"] = 7
    data["relations"]["thread-a"]["blocks"] = ["thread-x"]
    data["metadata"]["owner"] = "somebody"
    data["plugins"] = [1, 2]
    get_main_path(base).write_text(json.dumps(data))

    save_threads(file, "thread-b")

    saved = json.loads(get_main_path(base).read_text())
    assert saved["threads"]["thread-x"] == data["threads"]["thread-x"]
    assert saved["operations"][0]["weight"] == 7
    assert saved["relations"]["thread-a"]["blocks"] == ["thread-x"]
    assert (saved["metadata"]["owner"], saved["plugins"]) == ("somebody", [1, 2])


def test_the_old_status_pending_is_read_as_active():
    data = make_data("thread-a")
    data["threads"]["thread-a"]["status"] = "pending"

    parsed = parse_relations(json.dumps(data).encode())

    assert parsed["threads"]["thread-a"]["status"] == "active"


@pytest.mark.parametrize(
    "damage",
    [
        lambda d: d.pop("threads"),
        lambda d: d.update(operations={}),
        lambda d: d["metadata"].update(last_updated="yesterday"),
        lambda d: d["threads"]["thread-a"].update(id="thread-b"),
        lambda d: d["threads"]["thread-a"].update(title=3),
        lambda d: d["threads"]["thread-a"].update(status=["active"]),
        lambda d: d["threads"]["thread-a"].update(parent_id=[1]),
        lambda d: d["operations"].append("spawn"),
        lambda d: d["operations"][0].update(operator="cat"),
        lambda d: d["operations"][0].update(params=None),
    ],
)
def test_data_that_leslie_would_refuse_is_refused(damage: Any):
    data = make_data("thread-a")
    damage(data)

    with pytest.raises(InvalidRelationsError):
        parse_relations(json.dumps(data).encode())


@pytest.mark.parametrize("relations", [None, [], {"thread-a": {"children": [3]}}])
def test_invalid_relations_are_rebuilt_from_the_operations(relations: Any):
    data = make_data("thread-a")
    upsert_threads(data, [make_thread("thread-b", "thread-a")], NOW)
    expected = data["relations"]

    parsed = parse_relations(json.dumps({**data, "relations": relations}).encode())

    assert parsed["relations"] == expected


def test_a_lone_surrogate_is_replaced():
    data = make_data("thread-a")
    data["threads"]["thread-a"]["title"] = "half \ud83d"

    assert b"half ?" in encode_relations(data)


# Changes and operations


def test_saving_the_same_threads_again_changes_nothing(file: RelationsFile, base: Path):
    save_threads(file, "thread-a", "thread-b")
    before = get_main_path(base).read_bytes()
    modified_at = get_main_path(base).stat().st_mtime_ns

    assert save_threads(file, "thread-a", "thread-b") is False
    assert get_main_path(base).read_bytes() == before
    assert get_main_path(base).stat().st_mtime_ns == modified_at
    assert not get_backup_path(base).exists()


def test_a_fork_is_a_child_with_its_parents_objective():
    data = make_data("thread-a")

    upsert_threads(data, [make_thread("thread-b", "thread-a")], NOW)

    assert data["threads"]["thread-b"]["parent_id"] == "thread-a"
    assert data["threads"]["thread-b"]["objective"] == "obj-a"
    assert data["relations"]["thread-a"]["children"] == ["thread-b"]
    assert data["relations"]["thread-b"]["depends_on"] == ["thread-a"]


def test_a_removed_thread_leaves_its_children_without_a_parent():
    data = make_data("thread-a")
    upsert_threads(data, [make_thread("thread-b", "thread-a")], NOW)

    remove_thread(data, "thread-a")

    assert list(data["threads"]) == ["thread-b"]
    assert data["threads"]["thread-b"]["parent_id"] is None
    assert list(data["relations"]) == ["thread-b"]
    assert list_leslied_threads(data) == {"thread-b"}


def test_removing_a_missing_thread_changes_nothing():
    data = make_data("thread-a")

    remove_thread(data, "thread-x")

    assert data == make_data("thread-a")


def test_a_child_is_linked_to_a_parent_that_is_added_later():
    data = make_empty_relations()
    upsert_threads(data, [make_thread("thread-b", "thread-a")], NOW)

    upsert_threads(data, [make_thread("thread-a")], NOW)
    upsert_threads(data, [make_thread("thread-b", "thread-a")], LATER)

    assert data["threads"]["thread-b"]["parent_id"] == "thread-a"
    assert rebuild_relations(data["operations"]) == data["relations"]


def test_a_thread_does_not_become_its_own_ancestor():
    data = make_data("thread-a")
    upsert_threads(data, [make_thread("thread-b", "thread-a")], NOW)

    upsert_threads(data, [make_thread("thread-a", "thread-b")], LATER)

    assert data["threads"]["thread-a"]["parent_id"] is None


def test_a_status_change_is_logged_as_an_operation():
    data = make_data("thread-a")

    upsert_threads(data, [make_thread("thread-a", status="completed")], LATER)
    upsert_threads(data, [make_thread("thread-a", status="active")], LATER)

    logged = [(o["command"], o["params"].get("action")) for o in data["operations"]]
    assert logged == [("spawn", None), ("lifecycle", "done"), ("lifecycle", "resume")]
    assert data["threads"]["thread-a"]["updated_at"] == LATER


def test_a_status_that_a_person_set_stays():
    data = make_data("thread-a")
    set_status(data, "thread-a", "archived", NOW)

    upsert_threads(data, [make_thread("thread-a", status="completed")], LATER)

    assert data["threads"]["thread-a"]["status"] == "archived"


def test_a_thread_that_leslie_recorded_is_not_changed():
    data = make_empty_relations()
    data["threads"]["thread-x"] = make_leslie_thread("thread-x")
    before = json.dumps(data)

    upsert_threads(data, [make_thread("thread-x", status="completed")], LATER)

    assert json.dumps(data) == before


def test_references_are_logged_and_linked_both_ways():
    data = make_data("thread-a", "thread-b")

    add_reference(data, "thread-a", "thread-b", "live", LATER)

    assert data["relations"]["thread-a"]["references_to"] == ["thread-b"]
    assert data["relations"]["thread-b"]["referenced_by"] == ["thread-a"]
    assert find_bindings(data, "thread-a") == {"thread-b": "live"}


def test_a_reference_to_a_missing_thread_is_recorded_but_not_linked():
    data = make_data("thread-a")

    add_reference(data, "thread-a", "thread-gone", "frozen", LATER)

    assert data["operations"][-1]["params"]["target"] == "thread-gone"
    assert data["relations"]["thread-a"]["references_to"] == []


@pytest.mark.parametrize(
    "chain", [["thread-a"], ["thread-b"], ["thread-b", "thread-c"]]
)
def test_a_reference_that_closes_a_cycle_is_refused(chain: list[str]):
    """Each thread of the chain references the next, and the last one thread-a."""
    data = make_data("thread-a", "thread-b", "thread-c")
    for source, target in zip(chain, [*chain[1:], "thread-a"], strict=True):
        if source != target:
            add_reference(data, source, target, "live", NOW)

    with pytest.raises(CycleError, match="T201"):
        add_reference(data, "thread-a", chain[0], "live", NOW)


def test_relations_can_be_rebuilt_from_the_operations():
    data = make_data("thread-a", "thread-b", "thread-c")
    upsert_threads(data, [make_thread("thread-d", "thread-b")], NOW)
    add_reference(data, "thread-a", "thread-b", "live", NOW)
    add_reference(data, "thread-c", "thread-gone", "live", NOW)
    set_status(data, "thread-d", "completed", NOW)
    data["threads"]["thread-x"] = make_leslie_thread("thread-x")
    data["operations"].append(
        {"command": "spawn", "params": {"child_id": "thread-x", "ref": "thread-a"}}
    )
    data["relations"] = rebuild_relations(data["operations"])
    rename_thread(data, "thread-d", "thread-x", LATER)

    assert rebuild_relations(data["operations"]) == data["relations"]
    assert data["relations"]["thread-b"]["children"] == ["thread-x"]
    assert data["relations"]["thread-x"]["references_to"] == ["thread-a"]
    assert "thread-d" not in data["threads"]


def test_operation_ids_are_unique_and_have_leslies_form():
    data = make_data(*(f"thread-{n}" for n in range(50)))

    ids = [operation["id"] for operation in data["operations"]]
    assert len(set(ids)) == 50
    assert all(len(id_) == 11 and id_.startswith("op-") for id_ in ids)


# Backup


def test_a_damaged_file_is_restored_from_its_backup_before_an_update(
    file: RelationsFile, base: Path
):
    save_threads(file, "thread-a")
    save_threads(file, "thread-b")
    backup = get_backup_path(base).read_bytes()
    get_main_path(base).write_bytes(b'{"version": "1.0", "threads": {"thread-a": {')

    save_threads(file, "thread-c")

    saved = json.loads(get_main_path(base).read_text())
    assert list(saved["threads"]) == ["thread-a", "thread-c"]
    assert get_backup_path(base).read_bytes() == backup
    damaged = base / ".leslie" / "thread_relations.json.damaged"
    assert damaged.read_bytes().endswith(b"{")


def test_a_damaged_file_is_restored_even_if_nothing_changes(
    file: RelationsFile, base: Path
):
    save_threads(file, "thread-a")
    save_threads(file, "thread-b")
    get_main_path(base).write_bytes(b"rubbish")

    save_threads(file, "thread-a")

    assert get_main_path(base).read_bytes() == get_backup_path(base).read_bytes()


def test_the_backup_is_the_previous_file(file: RelationsFile, base: Path):
    save_threads(file, "thread-a")
    before = get_main_path(base).read_bytes()

    save_threads(file, "thread-b")

    assert get_backup_path(base).read_bytes() == before


def test_a_damaged_file_without_a_valid_backup_is_not_changed(
    file: RelationsFile, base: Path
):
    get_main_path(base).write_bytes(b"rubbish")
    get_backup_path(base).write_bytes(b"more rubbish")

    with pytest.raises(SinkError, match="neither can its backup"):
        save_threads(file, "thread-a")
    assert get_main_path(base).read_bytes() == b"rubbish"
    assert get_backup_path(base).read_bytes() == b"more rubbish"


def test_reading_falls_back_to_the_backup(file: RelationsFile, base: Path):
    save_threads(file, "thread-a")
    save_threads(file, "thread-b")
    get_main_path(base).write_bytes(b"rubbish")

    assert list(read_relations(base)["threads"]) == ["thread-a"]


@pytest.mark.fault("B13")
@pytest.mark.threat("X7")
def test_reading_a_pipe_does_not_block(base: Path):
    os.mkfifo(get_main_path(base))

    assert read_relations(base) == make_empty_relations()


def test_a_crash_between_backup_and_file_loses_nothing(base: Path, file: RelationsFile):
    save_threads(file, "thread-a")
    code = (
        "import sys; from pathlib import Path; from leslied import sinks\n"
        "from leslied.clock import SystemClock\n"
        "from leslied.threads.relations_file import RelationsFile\n"
        "f = RelationsFile(base=Path(sys.argv[1]), clock=SystemClock(),\n"
        "    read=sinks.read_file, write=sinks.write_file)\n"
        "f.update(lambda d, now: d['metadata'].update(x=1))\n"
    )
    environ = {**os.environ, "LESLIED_CRASH_AT": "relations.backup"}
    crash = subprocess.run(
        [sys.executable, "-c", code, str(base)], env=environ, check=False
    )
    lock = base / ".leslie" / "thread_relations.json.lock"
    os.utime(lock, (time.time() - 11,) * 2)

    save_threads(file, "thread-b")

    assert crash.returncode == -9
    saved = json.loads(get_main_path(base).read_text())
    assert list(saved["threads"]) == ["thread-a", "thread-b"]
    assert not lock.exists()


# Leslie's lock

LOCK_HOLDER_PROGRAM = """
import os, sys, time
lock = sys.argv[1]
os.mkdir(lock)
print("held", flush=True)
sys.stdin.readline()
with open(sys.argv[2], "w") as file:
    file.write(sys.argv[3])
os.rmdir(lock)
print("free", flush=True)
sys.stdin.readline()
"""


class LockHolder:
    """A process that holds the lock until release(), then writes the file."""

    def __init__(self, base: Path, data: dict[str, Any]) -> None:
        lock = base / ".leslie" / "thread_relations.json.lock"
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                LOCK_HOLDER_PROGRAM,
                lock,
                get_main_path(base),
                json.dumps(data),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout.readline() == "held\n"

    def release(self) -> None:
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        assert self._process.stdout.readline() == "free\n"

    def end(self) -> None:
        self._process.stdin.close()
        self._process.wait(MAX_WAIT_SECONDS)
        self._process.stdout.close()


def test_an_update_waits_for_leslie_and_loses_nothing(
    base: Path, file: RelationsFile, sleepless_clock: SleeplessClock
):
    save_threads(file, "thread-a")
    data = json.loads(get_main_path(base).read_text())
    data["threads"]["thread-x"] = make_leslie_thread("thread-x")
    leslie = LockHolder(base, data)
    sleepless_clock.on_sleep = leslie.release
    try:
        save_threads(file, "thread-b")
    finally:
        leslie.end()

    saved = json.loads(get_main_path(base).read_text())
    assert list(saved["threads"]) == ["thread-a", "thread-x", "thread-b"]


def test_an_update_fails_if_the_lock_stays_held(
    base: Path, file: RelationsFile, sleepless_clock: SleeplessClock
):
    save_threads(file, "thread-a")
    before = get_main_path(base).read_bytes()
    leslie = LockHolder(base, {})
    try:
        with pytest.raises(LockBusyError):
            save_threads(file, "thread-b")
        assert get_main_path(base).read_bytes() == before
        leslie.release()
    finally:
        leslie.end()

    assert sleepless_clock.delays == [0.1, 0.2, 0.4, 0.8, 1.0]


def test_a_lock_older_than_ten_seconds_is_taken_over(
    base: Path, file: RelationsFile, sleepless_clock: SleeplessClock
):
    lock = base / ".leslie" / "thread_relations.json.lock"
    lock.mkdir()
    os.utime(lock, (time.time() - 11,) * 2)

    assert save_threads(file, "thread-a")
    assert (sleepless_clock.delays, lock.exists()) == ([], False)


def test_an_update_that_lost_the_lock_does_not_write(base: Path, file: RelationsFile):
    lock = base / ".leslie" / "thread_relations.json.lock"

    def edit(data: dict[str, Any], now: str) -> None:
        lock.rmdir()
        lock.mkdir()
        os.utime(lock, (1, 1))
        upsert_threads(data, [make_thread("thread-a")], now)

    with pytest.raises(LockBusyError):
        file.update(edit)
    assert (get_main_path(base).exists(), lock.exists()) == (False, True)


def test_an_update_fails_if_there_is_no_leslie_folder(tmp_path: Path, clock: FakeClock):
    file = RelationsFile(
        base=tmp_path, clock=clock, read=sinks.read_file, write=sinks.write_file
    )

    with pytest.raises(SinkError):
        save_threads(file, "thread-a")


def test_a_sparse_file_of_any_size_is_left_alone(file: RelationsFile, base: Path):
    save_threads(file, "thread-a")
    save_threads(file, "thread-b")
    backup = get_backup_path(base).read_bytes()
    os.truncate(get_main_path(base), 2**40)
    before = file.stamp()

    with pytest.raises(SinkError, match="is not read and not changed"):
        save_threads(file, "thread-c")

    assert file.stamp() == before
    assert get_backup_path(base).read_bytes() == backup


def test_a_file_that_is_too_large_is_not_parsed(file: RelationsFile, base: Path):
    save_threads(file, "thread-a")
    save_threads(file, "thread-b")
    padding = b" " * MAX_RELATIONS_BYTES
    get_main_path(base).write_bytes(get_main_path(base).read_bytes() + padding)

    assert list(read_relations(base)["threads"]) == ["thread-a"]
