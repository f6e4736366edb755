"""Test prefetching batches in a real second process."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from leslied.errors import LesliedError, SourceError
from leslied.pipeline.ingest import prefetch
from leslied.pipeline.ingest.batch import Batch
from leslied.store import LongText, StoreReader
from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.memory import measure_peak
from tests.support.records import make_chunk, make_record

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def prefetching_pids(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Prefetch at every first sync; return a list that gets one pid per prefetch."""
    pids: list[int] = []

    prefetch_batches = prefetch.prefetch_batches

    def record_and_prefetch(batches: Iterator[Batch]) -> Iterator[Batch]:
        pids.append(os.getpid())
        return prefetch_batches(batches)

    monkeypatch.setattr(prefetch, "can_prefetch", lambda _: True)
    monkeypatch.setattr(prefetch, "prefetch_batches", record_and_prefetch)
    return pids


def read_store(path: Path) -> list[object]:
    with StoreReader(path) as reader:
        return [
            # Equal times may have different zones, which only their text shows.
            (session.title, session.usage, str(list(reader.list_records(session.key))))
            for session in reader.list_sessions()
        ]


def test_prefetching_stores_the_same_as_one_process(
    claude: ClaudeHome, tmp_path: Path, prefetching_pids: list[int]
):
    builder = ClaudeLogBuilder()
    claude.write(
        builder.prompt("hello 日本"),
        builder.call("Bash", {"command": "ls"}, "toolu_1"),
        builder.result("toolu_1", "a.txt"),
        builder.answer("one") | {"timestamp": "2026-11-16T10:00:00+02:00"},
        {"type": "custom-title", "customTitle": "One", "sessionId": "x"},
    )
    with claude.log().open("ab") as log:
        log.write(b'{"torn\n')
    report = claude.sync()
    prefetched = read_store(claude.store_path)
    again = claude.sync()
    claude.store_path = tmp_path / "other" / "store.db"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prefetch, "can_prefetch", lambda _: False)
        report_without_prefetch = claude.sync()

    assert len(prefetching_pids) == 1
    assert again.entries == 0
    assert (report, prefetched) == (
        report_without_prefetch,
        read_store(claude.store_path),
    )


@pytest.mark.parametrize("text", ["lone \ud800 half", "too large"])
def test_what_messagepack_cannot_encode_is_prefetched(
    claude: ClaudeHome, prefetching_pids: list[int], text: str
):
    answer = ClaudeLogBuilder().answer(text, usage={"input_tokens": 2**70})
    claude.write(answer)

    report = claude.sync()

    assert prefetching_pids
    assert report.added.records == 2
    assert not report.failures


def test_a_source_that_cannot_be_read_is_reported(
    claude: ClaudeHome, prefetching_pids: list[int], monkeypatch: pytest.MonkeyPatch
):
    path = claude.write(ClaudeLogBuilder().prompt("hello"))

    def refuse(*_: object, **__: object) -> None:
        raise SourceError("cannot be opened")

    monkeypatch.setattr("leslied.tail.read", refuse)

    report = claude.sync()

    assert prefetching_pids
    assert report.unreadable == {path: "cannot be opened"}
    with StoreReader(claude.store_path) as reader:
        assert reader.list_source_problems() == [(str(path), "cannot be opened")]


def test_an_error_in_the_second_process_is_raised_in_the_first():
    def fail() -> Iterator[Batch]:
        yield Batch()
        raise LesliedError("broken")

    batches = prefetch.prefetch_batches(fail())
    next(batches)

    with pytest.raises(LesliedError, match="broken"):
        next(batches)


def test_the_error_for_a_killed_process_says_which_command_to_run():
    def die() -> Iterator[Batch]:
        yield Batch()
        os.kill(os.getpid(), signal.SIGKILL)

    batches = prefetch.prefetch_batches(die())
    next(batches)

    with pytest.raises(LesliedError) as raised:
        next(batches)

    assert "leslied sync" in raised.value.hint


def test_no_process_is_left_when_the_caller_stops_early():
    def repeat() -> Iterator[Batch]:
        while True:
            yield Batch()

    batches = prefetch.prefetch_batches(repeat())
    next(batches)

    batches.close()

    assert not multiprocessing.active_children()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_the_second_process_has_no_file_of_the_first_open(tmp_path: Path):
    with (tmp_path / "lock").open("w") as lock:

        def count_open_files() -> Iterator[Batch]:
            open_files = Path("/proc/self/fd").iterdir()
            yield Batch(weight=sum(str(fd.resolve()) == lock.name for fd in open_files))

        (batch,) = prefetch.prefetch_batches(count_open_files())

    assert batch.weight == 0


def test_the_second_process_encodes_no_long_text_as_a_whole():
    text = "汉字" * (2 * 1024 * 1024)
    batch = Batch(chunks=[make_chunk(make_record(text))])

    *pieces, place, (packed_batch, items) = prefetch._iter_packed([batch])

    assert isinstance(place, LongText)
    assert "".join(str(piece) for piece in pieces) == text
    assert max(len(str(piece)) for piece in pieces) < len(text) / 2
    assert packed_batch is batch
    assert len(items) < len(text.encode())


def test_a_long_text_is_not_copied_while_its_batch_is_committed():
    texts = ["汉字" * (2 * 1024 * 1024), "x\ud800" * 2**20, "short"]
    records = [make_record(text, str(n)) for n, text in enumerate(texts)]
    batches = [Batch(chunks=[make_chunk(record)]) for record in records]
    contents: list[str] = []
    sizes: list[int] = []

    def receive() -> None:
        for batch in prefetch.prefetch_batches(batches):
            sizes.append(tracemalloc.get_traced_memory()[0])
            ((record,),) = (entry.records for entry in batch.chunks[0].entries)
            contents.append(record.content)

    measure_peak(receive)

    assert contents == texts
    # Besides the text, there is only the text for the index.
    assert sizes[0] < sys.getsizeof(texts[0]) + len(texts[0].encode())
