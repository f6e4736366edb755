"""Reading ahead in a second process, a real one."""

from __future__ import annotations

import multiprocessing
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from leslied.errors import LesliedError, SourceError
from leslied.pipeline import ingest, prefetch
from leslied.pipeline.batch import Batch
from leslied.store import StoreReader
from tests.support.claude import ClaudeHome, ClaudeLogBuilder

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def always_ahead(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A first sync reads ahead, however little there is; says how often it did."""
    times: list[int] = []

    def read_ahead(batches: Iterator[Batch]) -> Iterator[Batch]:
        times.append(os.getpid())
        return prefetch.prefetch_batches(batches)

    monkeypatch.setattr(ingest, "can_prefetch", lambda _: True)
    monkeypatch.setattr(ingest, "prefetch_batches", read_ahead)
    return times


def read_store(path: Path) -> list[object]:
    with StoreReader(path) as reader:
        return [
            (session.title, session.usage, list(reader.list_records(session.row)))
            for session in reader.list_sessions()
        ]


def test_what_was_read_ahead_is_what_one_process_reads(
    claude: ClaudeHome, tmp_path: Path, always_ahead: list[int]
):
    talk = ClaudeLogBuilder()
    claude.write(
        talk.prompt("hello 日本"),
        talk.call("Bash", {"command": "ls"}, "toolu_1"),
        talk.result("toolu_1", "a.txt"),
        talk.answer("lone \ud800 half"),
        {"type": "custom-title", "customTitle": "One", "sessionId": "x"},
    )
    with claude.log().open("ab") as log:
        log.write(b'{"torn\n')
    done = claude.sync()
    two = read_store(claude.store_path)
    again = claude.sync()
    claude.store_path = tmp_path / "other" / "store.db"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ingest, "can_prefetch", lambda _: False)
        alone = claude.sync()

    assert len(always_ahead) == 1
    assert again.entries == 0
    assert (done, two) == (alone, read_store(claude.store_path))


def test_a_source_that_cannot_be_read_is_told(
    claude: ClaudeHome, always_ahead: list[int], monkeypatch: pytest.MonkeyPatch
):
    path = claude.write(ClaudeLogBuilder().prompt("hello"))

    def refuse(*_: object, **__: object) -> None:
        raise SourceError("cannot be opened")

    monkeypatch.setattr("leslied.tail.read", refuse)

    done = claude.sync()

    assert always_ahead
    assert done.errors == {path: "cannot be opened"}
    with StoreReader(claude.store_path) as reader:
        assert reader.list_source_errors() == [(str(path), "cannot be opened")]


def test_an_error_in_the_second_process_is_raised_in_the_first():
    def fail() -> Iterator[Batch]:
        yield Batch()
        raise LesliedError("out of luck")

    arrived = prefetch.prefetch_batches(fail())
    next(arrived)

    with pytest.raises(LesliedError, match="out of luck"):
        next(arrived)


def test_a_second_process_that_is_killed_is_told_with_the_next_command():
    def die() -> Iterator[Batch]:
        yield Batch()
        os.kill(os.getpid(), signal.SIGKILL)

    arrived = prefetch.prefetch_batches(die())
    next(arrived)

    with pytest.raises(LesliedError) as told:
        next(arrived)

    assert "leslied sync" in told.value.hint


def test_no_process_is_left_when_the_first_stops_early():
    def go_on() -> Iterator[Batch]:
        while True:
            yield Batch()

    arrived = prefetch.prefetch_batches(go_on())
    next(arrived)

    arrived.close()

    assert not multiprocessing.active_children()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_the_second_process_holds_no_file_of_the_first(tmp_path: Path):
    with (tmp_path / "lock").open("w") as lock:

        def tell() -> Iterator[Batch]:
            held = Path("/proc/self/fd").iterdir()
            yield Batch(weight=sum(str(fd.resolve()) == lock.name for fd in held))

        (batch,) = prefetch.prefetch_batches(tell())

    assert batch.weight == 0
