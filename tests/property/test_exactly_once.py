"""A log gives the same records in order, however it is written and read."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leslied.store import Store, StoreReader
from leslied.tail import ReadLimits
from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.clock import FakeClock

EXAMPLES = int(os.environ.get("LESLIED_EXAMPLES", "150"))
EXAMPLE_SETTINGS = settings(
    max_examples=max(EXAMPLES // 2, 1),
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
WAL_HEADER_SIZE, FRAME_SIZE = 32, 24 + 8192
"""Bytes of the WAL's header, and of a frame: its header and a page."""

pytestmark = pytest.mark.timeout(600 + EXAMPLES)

TEXTS = st.text(
    # Characters that some readers take for line ends, and UTF-8 of every length.
    st.sampled_from("a\r\u0085\u2028\x1cé日😀"),
    min_size=1,
    max_size=12,
).map(lambda text: f"[{text}]")
KINDS = st.sampled_from(["prompt", "answer", "call", "title", "summary", "unknown"])
ENDS = st.sampled_from([b"\n", b"\n", b"\r\n", b"\n\n", b" \n"])
CUTS = st.lists(st.integers(0, 5000), max_size=8)
LIMITS = st.builds(
    ReadLimits,
    chunk=st.one_of(st.integers(1, 9), st.just(ReadLimits().chunk)),
    anchor=st.integers(1, 64),
)


@st.composite
def logs(draw: st.DrawFn) -> bytes:
    """Draw the bytes of a log: lines with and without ids, some repeated."""
    builder, lines = ClaudeLogBuilder(), []
    for kind, text in draw(st.lists(st.tuples(KINDS, TEXTS), min_size=1, max_size=8)):
        line = json.dumps(_make_line(builder, kind, text), ensure_ascii=False).encode()
        lines.append(line + draw(ENDS))
        if draw(st.integers(0, 3)) == 0:
            lines.append(draw(st.sampled_from(lines)))
    return b"".join(lines)


def _make_line(builder: ClaudeLogBuilder, kind: str, text: str) -> dict[str, Any]:
    match kind:
        case "prompt":
            return builder.prompt(text)
        case "answer":
            return builder.answer(text)
        case "call":
            return builder.call("Bash", {"command": text}, "toolu_1")
        case "title":
            return {"type": "custom-title", "customTitle": "the same again"}
        case "summary":
            return {"type": "summary", "summary": text, "leafUuid": "nowhere"}
    return {"type": "never-heard-of", "text": text}


@contextmanager
def temporary_home() -> Iterator[ClaudeHome]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        yield ClaudeHome(root / "home", root / "data" / "store.db", FakeClock())


def append(home: ClaudeHome, data: bytes) -> None:
    with home.log().open("ab") as file:
        file.write(data)


def read_store(path: Path) -> list[tuple[Any, ...]]:
    """Return all records of a store in order, with their positions."""
    with StoreReader(path) as reader:
        return [
            (session.key, session.units, session.title, placed)
            for session in reader.list_sessions()
            for placed in reader.list_records(session.key)
        ]


def without_paths(records: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return the records without their paths, which differ between homes."""
    return [
        (*session_fields, placed.record, placed.sequence, placed.unit, placed.offset)
        for *session_fields, placed in records
    ]


def read_in_one_pass(data: bytes) -> list[tuple[Any, ...]]:
    """Return the records after a single read of the whole log."""
    with temporary_home() as home:
        append(home, data)
        home.sync()
        return without_paths(read_store(home.store_path))


def split_at(data: bytes, cuts: list[int]) -> list[bytes]:
    """Split the data at any offsets, even inside a character."""
    offsets = sorted({cut % (len(data) + 1) for cut in cuts} | {0, len(data)})
    return [data[start:end] for start, end in pairwise(offsets)]


@pytest.mark.fault("A1", "A3", "A12", "A13")
@EXAMPLE_SETTINGS
@given(data=logs(), cuts=CUTS)
def test_a_log_written_in_pieces_gives_the_same_records(data, cuts):
    with temporary_home() as home, Store(home.store_path, home.clock) as store:
        for piece in split_at(data, cuts):
            append(home, piece)
            home.sync(store)

        assert without_paths(read_store(home.store_path)) == read_in_one_pass(data)


@pytest.mark.fault("A1", "A12", "A13")
@EXAMPLE_SETTINGS
@given(
    data=logs(),
    steps=st.lists(st.tuples(st.integers(0, 5000), st.booleans()), max_size=8),
)
def test_restarts_between_reads_do_not_change_the_records(data, steps):
    restart_offsets = {cut % (len(data) + 1) for cut, is_restart in steps if is_restart}
    with temporary_home() as home:
        store, written = Store(home.store_path, home.clock), 0
        for piece in split_at(data, [cut for cut, _ in steps]):
            append(home, piece)
            home.sync(store)
            written += len(piece)
            if written in restart_offsets:
                store.close()
                store = Store(home.store_path, home.clock)
        store.close()

        assert without_paths(read_store(home.store_path)) == read_in_one_pass(data)


@pytest.mark.fault("A1", "A3", "A12", "A13")
@EXAMPLE_SETTINGS
@given(data=logs(), cuts=CUTS, limits=st.lists(LIMITS, min_size=1, max_size=4))
def test_read_limits_do_not_change_the_records(data, cuts, limits):
    with temporary_home() as home, Store(home.store_path, home.clock) as store:
        for number, piece in enumerate(split_at(data, cuts)):
            append(home, piece)
            home.limits = limits[number % len(limits)]
            home.sync(store)

        assert without_paths(read_store(home.store_path)) == read_in_one_pass(data)


@pytest.mark.fault("A1", "A14")
@EXAMPLE_SETTINGS
@given(data=logs(), cuts=CUTS, limits=LIMITS)
def test_no_line_is_decoded_twice_and_an_unchanged_log_is_not_read(data, cuts, limits):
    with temporary_home() as home, Store(home.store_path, home.clock) as store:
        home.limits, entries = limits, 0
        for piece in split_at(data, cuts):
            append(home, piece)
            entries += home.sync(store).entries
            second_report = home.sync(store)

            assert (
                second_report.entries,
                second_report.bytes_read,
                second_report.commits,
            ) == (0, 0, 0)
        assert entries == len([line for line in data.split(b"\n") if line.strip()])


@pytest.mark.fault("A8")
@EXAMPLE_SETTINGS
@given(
    chunk=st.integers(1, 9), max_line=st.integers(40, 200), length=st.integers(0, 200)
)
def test_a_line_up_to_the_limit_is_stored_and_a_longer_one_is_rejected(
    chunk, max_line, length
):
    title = {"type": "custom-title", "customTitle": "x" * length}
    data = json.dumps(title).encode() + b"\n"
    short_line = b'{"type":"mode","mode":"plan"}\n'
    with temporary_home() as home:
        home.limits = ReadLimits(chunk=chunk, line=max_line, anchor=8)
        append(home, short_line + data + short_line)
        report = home.sync()

        is_stored = len(data) <= max_line
        assert (report.entries, report.rejected) == ((3, 0) if is_stored else (2, 1))
        texts = [placed.record.content for *_, placed in read_store(home.store_path)]
        assert texts == ["", *(["x" * length] if is_stored else []), ""]


@pytest.mark.fault("E2")
def test_the_next_read_completes_a_store_whose_wal_was_truncated():
    """Truncate the write-ahead log at or next to each of its frames, or delete it."""
    builder = ClaudeLogBuilder()
    line_batches = [
        [builder.prompt("first"), {"type": "custom-title", "customTitle": "twice"}],
        [builder.answer("second"), {"type": "custom-title", "customTitle": "twice"}],
        [builder.call("Bash", {"command": "ls"}, "toolu_1"), builder.prompt("last")],
    ]
    with temporary_home() as home:
        with Store(home.store_path, home.clock) as store:
            for lines in line_batches:
                home.write(*lines)
                home.sync(store)
            store_bytes = home.store_path.read_bytes()
            wal = home.store_path.with_name("store.db-wal").read_bytes()
        expected = read_store(home.store_path)
        frame_ends = range(WAL_HEADER_SIZE, len(wal) + 1, FRAME_SIZE)
        assert len(expected) > 6
        assert len(frame_ends) > len(line_batches)

        for end in (0, *frame_ends):
            for nudge in (-1, 0, 1):
                _restore_store(home, store_bytes, wal[: max(end + nudge, 0)])
                home.sync()
                assert read_store(home.store_path) == expected, (end, nudge)
        _restore_store(home, store_bytes, None)
        home.sync()
        assert read_store(home.store_path) == expected


def _restore_store(home: ClaudeHome, store_bytes: bytes, wal: bytes | None) -> None:
    """Restore the store and its WAL, without the WAL index, as after a power loss."""
    shutil.rmtree(home.store_path.parent)
    home.store_path.parent.mkdir()
    home.store_path.write_bytes(store_bytes)
    if wal is not None:
        home.store_path.with_name("store.db-wal").write_bytes(wal)
