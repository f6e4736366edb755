"""One writer under a lock, and readers that cannot write."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from leslied.errors import AlreadyRunning, StoreUnusable, UserError
from leslied.store import Store, StoreReader
from leslied.store.connection import lock_store, open_reader, open_writer
from tests.support.clock import FakeClock
from tests.support.records import StoreHarness, list_modes, make_prompt, make_record

ROOT = Path(__file__).resolve().parents[3]
PAGE_SIZE = 8192


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "store.db"


@pytest.fixture
def open_umask() -> Iterator[None]:
    """Give all users access to new files, unless their creator forbids it."""
    previous_umask = os.umask(0)
    yield
    os.umask(previous_umask)


def get_pragma(db: sqlite3.Connection, name: str) -> object:
    return db.execute(f"PRAGMA {name}").fetchone()[0]


def corrupt_store(path: Path, clock: FakeClock) -> None:
    """Create a store and overwrite all pages except the first."""
    with StoreHarness(path, clock) as harness:
        harness.commit(*[make_prompt("x" * 500, f"n{n}") for n in range(200)])
    data = path.read_bytes()
    path.write_bytes(data[:PAGE_SIZE] + b"\x5a" * (len(data) - PAGE_SIZE))


# File modes


@pytest.mark.threat("S7")
@pytest.mark.usefixtures("open_umask")
def test_every_file_is_private_with_an_open_umask(path: Path, clock: FakeClock):
    with StoreHarness(path, clock) as harness:
        harness.commit(make_prompt())
        files = sorted(path.parent.iterdir())

        assert {file.name for file in files} == {
            "store.db",
            "store.db-shm",
            "store.db-wal",
            "writer.lock",
        }
        assert list_modes(files) == {0o600}


@pytest.mark.threat("S7")
@pytest.mark.usefixtures("open_umask")
def test_the_folder_is_private_with_an_open_umask(path: Path, clock: FakeClock):
    Store(path, clock).close()

    assert list_modes([path.parent]) == {0o700}


@pytest.mark.threat("S7")
@pytest.mark.usefixtures("open_umask")
def test_every_created_folder_is_private(tmp_path: Path, clock: FakeClock):
    path = tmp_path / "share" / "leslied" / "store.db"
    Store(path, clock).close()

    assert list_modes([path.parent, path.parent.parent]) == {0o700}


@pytest.mark.threat("S7")
def test_opening_makes_a_store_private_again(path: Path, clock: FakeClock):
    Store(path, clock).close()
    path.chmod(0o644)
    path.parent.chmod(0o755)

    Store(path, clock).close()

    assert list_modes([path]) == {0o600}
    assert list_modes([path.parent]) == {0o700}


# Settings


@pytest.mark.fault("E2", "E9")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("journal_mode", "wal"),
        ("synchronous", 2),
        ("busy_timeout", 5000),
        ("trusted_schema", 0),
        ("mmap_size", 0),
    ],
)
def test_the_writer_uses_durable_settings(path: Path, name: str, value: object):
    db = open_writer(path)

    assert get_pragma(db, name) == value
    db.close()


@pytest.mark.fault("E9")
@pytest.mark.parametrize(
    ("name", "value"), [("query_only", 1), ("busy_timeout", 5000), ("mmap_size", 0)]
)
def test_a_reader_cannot_write_waits_for_locks_and_maps_no_memory(
    path: Path, name: str, value: object
):
    open_writer(path).close()
    db = open_reader(path)

    assert get_pragma(db, name) == value
    db.close()


@pytest.mark.fault("E9")
@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO meta VALUES ('a', 'b')",
        "DELETE FROM record",
        "CREATE TABLE x (y)",
        "PRAGMA user_version = 9",
    ],
)
def test_a_reader_cannot_write(path: Path, statement: str):
    open_writer(path).close()
    db = open_reader(path)

    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        db.execute(statement)
    db.close()


@pytest.mark.fault("E9")
def test_a_reader_cannot_write_without_query_only(path: Path):
    open_writer(path).close()
    db = open_reader(path)
    db.execute("PRAGMA query_only = 0")

    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        db.execute("DELETE FROM record")
    db.close()


def test_a_reader_does_not_create_a_store(path: Path):
    with pytest.raises(UserError, match="Nothing has been read yet"):
        open_reader(path)

    assert not path.exists()


def test_an_empty_file_counts_as_a_missing_store(path: Path):
    path.parent.mkdir()
    path.touch()

    with pytest.raises(UserError, match="Nothing has been read yet"):
        open_reader(path)


@pytest.mark.fault("B17")
def test_a_folder_name_may_contain_special_characters_of_a_uri(
    tmp_path: Path, clock: FakeClock
):
    path = tmp_path / "café ?mode=rw#x%20&" / "store.db"
    Store(path, clock).close()

    with StoreReader(path) as reader:
        assert reader.list_sessions() == []


# Concurrent access


@pytest.mark.fault("E8")
def test_a_long_reader_does_not_block_the_writer(path: Path, clock: FakeClock):
    with StoreHarness(path, clock) as harness:
        harness.commit(make_prompt("one", "1"))
        with harness.reader() as reader:
            reader._db.execute("BEGIN")
            before = reader.count_rows()
            harness.commit(make_record("two", "2"))

            assert reader.count_rows() == before
        assert harness.contents() == ["one", "two"]


@pytest.mark.fault("E8", "F8")
def test_a_long_reader_does_not_block_closing(path: Path, clock: FakeClock):
    harness = StoreHarness(path, clock)
    harness.commit(make_prompt("one", "1"))
    with harness.reader() as reader:
        reader._db.execute("BEGIN")
        reader.count_rows()
        harness.commit(make_record("two", "2"))
        start = time.perf_counter()

        harness.store.close()

        # Waiting for the reader would take the whole busy timeout of five seconds.
        assert time.perf_counter() - start < 5


@pytest.mark.fault("E2")
def test_a_closed_store_is_a_single_file(path: Path, clock: FakeClock):
    with StoreHarness(path, clock) as harness:
        harness.commit(make_prompt("one", "1"))

    names = {file.name for file in path.parent.iterdir()}
    assert names == {"store.db", "writer.lock"}


@pytest.mark.fault("E2")
def test_a_copy_of_the_main_file_alone_can_be_opened(path: Path, clock: FakeClock):
    with StoreHarness(path, clock) as harness:
        harness.commit(make_prompt("one", "1"))
    copy = path.with_name("copy.db")
    copy.write_bytes(path.read_bytes())

    with StoreReader(copy) as reader:
        assert reader.count_rows()["records"] == 1


# The lock


@pytest.mark.fault("E11")
def test_a_second_writer_is_refused_with_a_message(path: Path, clock: FakeClock):
    with Store(path, clock), pytest.raises(AlreadyRunning) as raised:
        Store(path, clock)

    assert raised.value.exit_code == 4
    assert raised.value.message == f"Another leslied is writing to {path}."
    assert raised.value.hint


@pytest.mark.fault("E11")
def test_a_refused_writer_does_not_release_the_lock_of_the_first(
    path: Path, clock: FakeClock
):
    with StoreHarness(path, clock) as harness:
        for _ in range(3):
            with pytest.raises(AlreadyRunning):
                Store(path, clock)
        harness.commit(make_prompt())

        assert harness.count("record") == 1


@pytest.mark.fault("E11")
def test_closing_the_writer_releases_the_lock(path: Path, clock: FakeClock):
    Store(path, clock).close()

    os.close(lock_store(path, clock))


@pytest.mark.fault("E11")
def test_the_end_of_the_process_releases_the_lock(path: Path, clock: FakeClock):
    code = (
        "import sys; from pathlib import Path; from leslied.clock import SystemClock\n"
        "from leslied.store import Store\n"
        "store = Store(Path(sys.argv[1]), SystemClock()); print('open', flush=True)\n"
        "sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as writer:
        output = writer.stdout.readline()
        with pytest.raises(AlreadyRunning):
            Store(path, clock)
        writer.kill()
        writer.wait()
    Store(path, clock).close()

    assert output == b"open\n"


@pytest.mark.fault("E11")
def test_a_writer_that_fails_to_open_releases_the_lock(path: Path, clock: FakeClock):
    path.parent.mkdir()
    path.write_bytes(b"no database" * 1000)
    for _ in range(2):
        with pytest.raises(StoreUnusable):
            Store(path, clock)

    os.close(lock_store(path, clock))


# Damage


@pytest.mark.fault("E6")
@pytest.mark.parametrize(
    "data", [b"no database" * 1000, b"SQLite format 3\0" + b"x" * 99]
)
@pytest.mark.parametrize("opener", [open_writer, open_reader])
def test_a_file_that_is_not_a_store_raises_an_error(path: Path, data: bytes, opener):
    path.parent.mkdir()
    path.write_bytes(data)

    with pytest.raises(StoreUnusable) as raised:
        opener(path)

    assert raised.value.exit_code == 3
    assert raised.value.message.startswith(f"The store at {path} cannot be used: ")
    assert path.read_bytes() == data


@pytest.mark.fault("E4", "E6")
def test_reading_a_damaged_store_raises_an_error(path: Path, clock: FakeClock):
    corrupt_store(path, clock)

    with pytest.raises(StoreUnusable), StoreReader(path) as reader:
        reader.list_sessions()


@pytest.mark.fault("E4", "E6")
def test_opening_a_damaged_store_for_writing_raises_an_error(
    path: Path, clock: FakeClock
):
    corrupt_store(path, clock)

    with pytest.raises(StoreUnusable), Store(path, clock) as store:
        store.load_stamps("claude-code")


@pytest.mark.fault("E6", "F10")
@pytest.mark.parametrize("name", ["store.db", "deeper/store.db"])
def test_a_folder_that_cannot_be_created_raises_an_error(
    tmp_path: Path, clock: FakeClock, name: str
):
    (tmp_path / "data").write_text("in the way")

    with pytest.raises(StoreUnusable):
        Store(tmp_path / "data" / name, clock)


@pytest.mark.fault("E6")
def test_a_folder_at_the_path_of_the_store_raises_an_error(
    path: Path, clock: FakeClock
):
    path.mkdir(parents=True)

    with pytest.raises(StoreUnusable, match="directory"):
        Store(path, clock)


@pytest.mark.fault("E6", "F10")
def test_a_lock_file_that_cannot_be_created_raises_an_error(
    path: Path, clock: FakeClock
):
    (path.parent / "writer.lock").mkdir(parents=True)

    with pytest.raises(StoreUnusable):
        Store(path, clock)


def test_the_store_is_a_regular_file(path: Path, clock: FakeClock):
    Store(path, clock).close()

    assert stat.S_ISREG(path.lstat().st_mode)


@pytest.mark.fault("E11")
def test_a_probe_of_the_lock_does_not_prevent_writing(path: Path, clock: FakeClock):
    """`status` takes a shared lock for a moment to see who holds it."""
    os.close(lock_store(path, clock))
    fd = os.open(path.with_name("writer.lock"), os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_SH)

    class ProbeEndsMeanwhile(FakeClock):
        def sleep(self, seconds: float) -> None:
            super().sleep(seconds)
            os.close(fd)

    os.close(lock_store(path, ProbeEndsMeanwhile()))


@pytest.mark.parametrize("opener", [open_reader, open_writer])
def test_the_hint_for_a_file_that_is_not_a_store_is_to_rebuild(path: Path, opener):
    path.parent.mkdir()
    path.write_bytes(b"This is a text file. " * 1000)

    with pytest.raises(StoreUnusable) as raised:
        opener(path)

    assert raised.value.hint.endswith("leslied rebuild")


def test_the_hint_for_a_damaged_store_is_to_run_doctor(path: Path, clock: FakeClock):
    corrupt_store(path, clock)

    with pytest.raises(StoreUnusable) as raised:
        open_writer(path)

    assert raised.value.hint.startswith("See what is damaged: leslied doctor.")
