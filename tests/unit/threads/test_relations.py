"""Leslie's relations file: read as Leslie reads it, changed beside it, never lost."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
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
    rename_thread,
    set_status,
    upsert_threads,
)
from leslied.threads.relations import (
    InvalidRelationsError,
    encode_relations,
    make_empty_relations,
    parse_relations,
    read_relations,
    rebuild_relations,
)
from leslied.threads.relations_file import RelationsFile
from tests.support.clock import FakeClock
from tests.support.waiting import PATIENCE_SECONDS

NOW = "2026-11-16T12:00:00.000Z"
LATER = "2026-11-16T13:00:00.000Z"


def make_thread(name: str, parent: str | None = None, **more: Any) -> dict[str, Any]:
    known = {
        "id": name,
        "title": f"about {name}",
        "session_id": f"session-{name}",
        "status": "active",
        "created_at": "2026-11-16T10:00:00.000Z",
        "metadata": {"agent": "claude-code", "subagents": []},
        "parent_id": parent,
    }
    return {**known, **more}


def leslies_thread(name: str, **more: Any) -> dict[str, Any]:
    """A thread as Leslie writes it."""
    known = {
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
    return {**known, **more}


def make_data(*names: str) -> dict[str, Any]:
    data = make_empty_relations()
    upsert_threads(data, [make_thread(name) for name in names], NOW)
    return data


@pytest.fixture
def base(tmp_path: Path) -> Path:
    folder = tmp_path / "app"
    (folder / ".leslie").mkdir(parents=True)
    return folder


class FakeSleep:
    """Waiting that takes no time, and counts."""

    def __init__(self) -> None:
        self.waited: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.waited.append(seconds)


@pytest.fixture
def pauses() -> FakeSleep:
    return FakeSleep()


@pytest.fixture
def file(base: Path, pauses: FakeSleep) -> RelationsFile:
    return RelationsFile(
        base=base,
        clock=SystemClock(),
        read=sinks.read_file,
        write=sinks.write_file,
        pause=pauses,
    )


def main_of(base: Path) -> Path:
    return base / ".leslie" / "thread_relations.json"


def backup_of(base: Path) -> Path:
    return base / ".leslie" / "thread_relations.json.bak"


def put_and_save(file: RelationsFile, *names: str) -> bool:
    threads = [make_thread(name) for name in names]
    changed = file.update(lambda data, now: upsert_threads(data, threads, now))
    return changed.is_changed


# The form


def test_a_new_file_has_leslies_form(file: RelationsFile, base: Path):
    put_and_save(file, "thread-a")

    text = main_of(base).read_text()
    data = json.loads(text)
    assert text == json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    assert list(data) == ["version", "metadata", "threads", "operations", "relations"]
    assert (data["version"], data["metadata"]["thread_count"]) == ("1.0", 1)
    assert data["metadata"]["last_updated"].endswith("Z")
    assert data["threads"]["thread-a"]["executor"] == "agent"
    assert data["threads"]["thread-a"]["storage_path"] == ".leslie/threads/thread-a"
    assert stat.S_IMODE(main_of(base).stat().st_mode) == 0o600


def test_a_time_with_an_offset_is_read_and_written_as_utc(
    file: RelationsFile, base: Path
):
    data = make_data("thread-a")
    data["threads"]["thread-a"]["created_at"] = "2026-02-08T16:00:00+08:00"
    data["operations"][0]["timestamp"] = "2026-02-08T16:00:00.250+08:00"
    main_of(base).write_text(json.dumps(data))

    put_and_save(file, "thread-b")

    told = json.loads(main_of(base).read_text())
    assert told["threads"]["thread-a"]["created_at"] == "2026-02-08T08:00:00.000Z"
    assert told["operations"][0]["timestamp"] == "2026-02-08T08:00:00.250Z"


def test_fields_we_do_not_know_are_kept(file: RelationsFile, base: Path):
    data = make_data("thread-a")
    data["threads"]["thread-x"] = leslies_thread("thread-x", tags=["a"], mood={"x": 1})
    data["operations"][0]["weight"] = 7
    data["relations"]["thread-a"]["blocks"] = ["thread-x"]
    data["metadata"]["owner"] = "somebody"
    data["plugins"] = [1, 2]
    main_of(base).write_text(json.dumps(data))

    put_and_save(file, "thread-b")

    told = json.loads(main_of(base).read_text())
    assert told["threads"]["thread-x"] == data["threads"]["thread-x"]
    assert told["operations"][0]["weight"] == 7
    assert told["relations"]["thread-a"]["blocks"] == ["thread-x"]
    assert (told["metadata"]["owner"], told["plugins"]) == ("somebody", [1, 2])


def test_pending_is_read_as_active():
    data = make_data("thread-a")
    data["threads"]["thread-a"]["status"] = "pending"

    told = parse_relations(json.dumps(data).encode())

    assert told["threads"]["thread-a"]["status"] == "active"


@pytest.mark.parametrize(
    "spoil",
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
def test_what_leslie_would_refuse_is_refused(spoil: Any):
    data = make_data("thread-a")
    spoil(data)

    with pytest.raises(InvalidRelationsError):
        parse_relations(json.dumps(data).encode())


@pytest.mark.parametrize("relations", [None, [], {"thread-a": {"children": [3]}}])
def test_relations_that_make_no_sense_are_made_from_the_operations(relations: Any):
    data = make_data("thread-a")
    upsert_threads(data, [make_thread("thread-b", "thread-a")], NOW)
    right = data["relations"]

    told = parse_relations(json.dumps({**data, "relations": relations}).encode())

    assert told["relations"] == right


def test_letters_that_are_none_do_not_stop_a_write():
    data = make_data("thread-a")
    data["threads"]["thread-a"]["title"] = "half \ud83d"

    assert b"half ?" in encode_relations(data)


# Changes and operations


def test_a_second_telling_changes_nothing(file: RelationsFile, base: Path):
    put_and_save(file, "thread-a", "thread-b")
    before = main_of(base).read_bytes()
    made_at = main_of(base).stat().st_mtime_ns

    assert put_and_save(file, "thread-a", "thread-b") is False
    assert main_of(base).read_bytes() == before
    assert main_of(base).stat().st_mtime_ns == made_at
    assert not backup_of(base).exists()


def test_a_fork_is_a_child_with_its_parents_objective():
    data = make_data("thread-a")

    upsert_threads(data, [make_thread("thread-b", "thread-a")], NOW)

    assert data["threads"]["thread-b"]["parent_id"] == "thread-a"
    assert data["threads"]["thread-b"]["objective"] == "obj-a"
    assert data["relations"]["thread-a"]["children"] == ["thread-b"]
    assert data["relations"]["thread-b"]["depends_on"] == ["thread-a"]


def test_a_parent_that_comes_later_adopts_its_child():
    data = make_empty_relations()
    upsert_threads(data, [make_thread("thread-b", "thread-a")], NOW)

    upsert_threads(data, [make_thread("thread-a")], NOW)
    upsert_threads(data, [make_thread("thread-b", "thread-a")], LATER)

    assert data["threads"]["thread-b"]["parent_id"] == "thread-a"
    assert rebuild_relations(data["operations"]) == data["relations"]


def test_nobody_becomes_its_own_ancestor():
    data = make_data("thread-a")
    upsert_threads(data, [make_thread("thread-b", "thread-a")], NOW)

    upsert_threads(data, [make_thread("thread-a", "thread-b")], LATER)

    assert data["threads"]["thread-a"]["parent_id"] is None


def test_a_status_change_is_an_operation():
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


def test_a_thread_of_leslies_own_is_left_alone():
    data = make_empty_relations()
    data["threads"]["thread-x"] = leslies_thread("thread-x")
    before = json.dumps(data)

    upsert_threads(data, [make_thread("thread-x", status="completed")], LATER)

    assert json.dumps(data) == before


def test_references_are_logged_and_linked_both_ways():
    data = make_data("thread-a", "thread-b")

    add_reference(data, "thread-a", "thread-b", "live", LATER)

    assert data["relations"]["thread-a"]["references_to"] == ["thread-b"]
    assert data["relations"]["thread-b"]["referenced_by"] == ["thread-a"]
    assert find_bindings(data, "thread-a") == {"thread-b": "live"}


def test_a_missing_target_is_logged_and_not_linked():
    data = make_data("thread-a")

    add_reference(data, "thread-a", "thread-gone", "frozen", LATER)

    assert data["operations"][-1]["params"]["target"] == "thread-gone"
    assert data["relations"]["thread-a"]["references_to"] == []


@pytest.mark.parametrize("way", [["thread-a"], ["thread-b"], ["thread-b", "thread-c"]])
def test_a_reference_that_closes_a_circle_is_refused(way: list[str]):
    data = make_data("thread-a", "thread-b", "thread-c")
    for source, target in zip(way, [*way[1:], "thread-a"], strict=True):
        if source != target:
            add_reference(data, source, target, "live", NOW)

    with pytest.raises(CycleError, match="T201"):
        add_reference(data, "thread-a", way[0], "live", NOW)


def test_operations_alone_give_the_relations_back():
    data = make_data("thread-a", "thread-b", "thread-c")
    upsert_threads(data, [make_thread("thread-d", "thread-b")], NOW)
    add_reference(data, "thread-a", "thread-b", "live", NOW)
    add_reference(data, "thread-c", "thread-gone", "live", NOW)
    set_status(data, "thread-d", "completed", NOW)
    data["threads"]["thread-x"] = leslies_thread("thread-x")
    data["operations"].append(
        {"command": "spawn", "params": {"child_id": "thread-x", "ref": "thread-a"}}
    )
    data["relations"] = rebuild_relations(data["operations"])
    rename_thread(data, "thread-d", "thread-x", LATER)

    assert rebuild_relations(data["operations"]) == data["relations"]
    assert data["relations"]["thread-b"]["children"] == ["thread-x"]
    assert data["relations"]["thread-x"]["references_to"] == ["thread-a"]
    assert "thread-d" not in data["threads"]


def test_ids_of_operations_are_leslies_kind_and_differ():
    data = make_data(*(f"thread-{n}" for n in range(50)))

    ids = [operation["id"] for operation in data["operations"]]
    assert len(set(ids)) == 50
    assert all(len(each) == 11 and each.startswith("op-") for each in ids)


# Backup


def test_a_damaged_file_is_restored_from_its_backup_before_it_is_changed(
    file: RelationsFile, base: Path
):
    put_and_save(file, "thread-a")
    put_and_save(file, "thread-b")
    good = backup_of(base).read_bytes()
    main_of(base).write_bytes(b'{"version": "1.0", "threads": {"thread-a": {')

    put_and_save(file, "thread-c")

    told = json.loads(main_of(base).read_text())
    assert list(told["threads"]) == ["thread-a", "thread-c"]
    assert backup_of(base).read_bytes() == good
    damaged = base / ".leslie" / "thread_relations.json.damaged"
    assert damaged.read_bytes().endswith(b"{")


def test_a_damaged_file_is_restored_even_when_there_is_nothing_to_change(
    file: RelationsFile, base: Path
):
    put_and_save(file, "thread-a")
    put_and_save(file, "thread-b")
    main_of(base).write_bytes(b"rubbish")

    put_and_save(file, "thread-a")

    assert main_of(base).read_bytes() == backup_of(base).read_bytes()


def test_the_backup_is_what_stood_there_before(file: RelationsFile, base: Path):
    put_and_save(file, "thread-a")
    before = main_of(base).read_bytes()

    put_and_save(file, "thread-b")

    assert backup_of(base).read_bytes() == before


def test_without_a_readable_backup_a_damaged_file_is_left_alone(
    file: RelationsFile, base: Path
):
    main_of(base).write_bytes(b"rubbish")
    backup_of(base).write_bytes(b"more rubbish")

    with pytest.raises(SinkError, match="neither can its backup"):
        put_and_save(file, "thread-a")
    assert main_of(base).read_bytes() == b"rubbish"
    assert backup_of(base).read_bytes() == b"more rubbish"


def test_reading_falls_back_to_the_backup(file: RelationsFile, base: Path):
    put_and_save(file, "thread-a")
    put_and_save(file, "thread-b")
    main_of(base).write_bytes(b"rubbish")

    assert list(read_relations(base)["threads"]) == ["thread-a"]


def test_reading_never_waits_for_a_pipe(base: Path):
    """B13."""
    os.mkfifo(main_of(base))

    assert read_relations(base) == make_empty_relations()


def test_a_death_between_backup_and_file_loses_nothing(base: Path, file: RelationsFile):
    put_and_save(file, "thread-a")
    code = (
        "import sys; from pathlib import Path; from leslied import sinks\n"
        "from leslied.clock import SystemClock\n"
        "from leslied.threads.relations_file import RelationsFile\n"
        "f = RelationsFile(base=Path(sys.argv[1]), clock=SystemClock(),\n"
        "    read=sinks.read_file, write=sinks.write_file)\n"
        "f.update(lambda d, now: d['metadata'].update(x=1))\n"
    )
    environ = {**os.environ, "LESLIED_CRASH_AT": "relations.backup"}
    died = subprocess.run(
        [sys.executable, "-c", code, str(base)], env=environ, check=False
    )
    lock = base / ".leslie" / "thread_relations.json.lock"
    os.utime(lock, (time.time() - 11,) * 2)

    put_and_save(file, "thread-b")

    assert died.returncode == -9
    told = json.loads(main_of(base).read_text())
    assert list(told["threads"]) == ["thread-a", "thread-b"]
    assert not lock.exists()


# Leslie's lock

HOLDER = """
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
    """Another process that holds the lock until told, then writes and lets go."""

    def __init__(self, base: Path, data: dict[str, Any]) -> None:
        lock = base / ".leslie" / "thread_relations.json.lock"
        self._process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, lock, main_of(base), json.dumps(data)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout.readline() == "held\n"

    def release(self, _seconds: float = 0) -> None:
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        assert self._process.stdout.readline() == "free\n"

    def end(self) -> None:
        self._process.stdin.close()
        self._process.wait(PATIENCE_SECONDS)
        self._process.stdout.close()


def test_while_leslie_writes_we_wait_and_lose_nothing(base: Path, file: RelationsFile):
    put_and_save(file, "thread-a")
    data = json.loads(main_of(base).read_text())
    data["threads"]["thread-x"] = leslies_thread("thread-x")
    leslie = LockHolder(base, data)
    object.__setattr__(file, "pause", leslie.release)
    try:
        put_and_save(file, "thread-b")
    finally:
        leslie.end()

    told = json.loads(main_of(base).read_text())
    assert list(told["threads"]) == ["thread-a", "thread-x", "thread-b"]


def test_a_lock_that_stays_held_is_given_up(
    base: Path, file: RelationsFile, pauses: FakeSleep
):
    put_and_save(file, "thread-a")
    before = main_of(base).read_bytes()
    leslie = LockHolder(base, {})
    try:
        with pytest.raises(LockBusyError):
            put_and_save(file, "thread-b")
        assert main_of(base).read_bytes() == before
        leslie.release()
    finally:
        leslie.end()

    assert pauses.waited == [0.1, 0.2, 0.4, 0.8, 1.0]


def test_a_lock_nobody_touched_for_ten_seconds_is_taken_over(
    base: Path, file: RelationsFile, pauses: FakeSleep
):
    lock = base / ".leslie" / "thread_relations.json.lock"
    lock.mkdir()
    os.utime(lock, (time.time() - 11,) * 2)

    assert put_and_save(file, "thread-a")
    assert (pauses.waited, lock.exists()) == ([], False)


def test_who_lost_the_lock_meanwhile_does_not_write(base: Path, file: RelationsFile):
    lock = base / ".leslie" / "thread_relations.json.lock"

    def work(data: dict[str, Any], now: str) -> None:
        lock.rmdir()
        lock.mkdir()
        os.utime(lock, (1, 1))
        upsert_threads(data, [make_thread("thread-a")], now)

    with pytest.raises(LockBusyError):
        file.update(work)
    assert (main_of(base).exists(), lock.exists()) == (False, True)


def test_a_folder_without_leslie_is_told(tmp_path: Path, clock: FakeClock):
    file = RelationsFile(
        base=tmp_path, clock=clock, read=sinks.read_file, write=sinks.write_file
    )

    with pytest.raises(SinkError):
        put_and_save(file, "thread-a")
