"""However a log comes to be written and read, it gives the same records, in order.

Rows A1, A3, A12, A13 and E2 of the fault matrix.
"""

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
GIVEN = settings(
    max_examples=max(EXAMPLES // 2, 1),
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
WAL_HEADER, FRAME = 32, 24 + 8192

pytestmark = pytest.mark.timeout(600 + EXAMPLES)

TEXTS = st.text(
    # Everything that some reader takes for a line end, and UTF-8 of every length.
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
    """The bytes of a session's log: lines with and without ids, some of them twice."""
    talk, written = ClaudeLogBuilder(), []
    for kind, text in draw(st.lists(st.tuples(KINDS, TEXTS), min_size=1, max_size=8)):
        line = json.dumps(_make(talk, kind, text), ensure_ascii=False).encode()
        written.append(line + draw(ENDS))
        if draw(st.integers(0, 3)) == 0:
            written.append(draw(st.sampled_from(written)))
    return b"".join(written)


def _make(talk: ClaudeLogBuilder, kind: str, text: str) -> dict[str, Any]:
    match kind:
        case "prompt":
            return talk.prompt(text)
        case "answer":
            return talk.answer(text)
        case "call":
            return talk.call("Bash", {"command": text}, "toolu_1")
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
    """Everything a store tells of its records, in order, positions included."""
    with StoreReader(path) as reader:
        return [
            (session.key, session.units, session.title, placed)
            for session in reader.list_sessions()
            for placed in reader.list_records(session.row)
        ]


def without_paths(records: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Each home has a folder of its own."""
    return [
        (*rest, placed.record, placed.sequence, placed.unit, placed.offset)
        for *rest, placed in records
    ]


def read_in_one_pass(data: bytes) -> list[tuple[Any, ...]]:
    """What one look at the whole log makes of it."""
    with temporary_home() as home:
        append(home, data)
        home.sync()
        return without_paths(read_store(home.store_path))


def split_at(data: bytes, cuts: list[int]) -> list[bytes]:
    """The data cut anywhere, inside a character too."""
    at = sorted({cut % (len(data) + 1) for cut in cuts} | {0, len(data)})
    return [data[start:end] for start, end in pairwise(at)]


@GIVEN
@given(data=logs(), cuts=CUTS)
def test_a_log_written_in_pieces_gives_what_it_gives_at_once(data, cuts):
    with temporary_home() as home, Store(home.store_path, home.clock) as store:
        for piece in split_at(data, cuts):
            append(home, piece)
            home.sync(store)

        assert without_paths(read_store(home.store_path)) == read_in_one_pass(data)


@GIVEN
@given(
    data=logs(),
    steps=st.lists(st.tuples(st.integers(0, 5000), st.booleans()), max_size=8),
)
def test_restarts_between_looks_change_nothing(data, steps):
    restarts = {cut % (len(data) + 1) for cut, is_restart in steps if is_restart}
    with temporary_home() as home:
        store, written = Store(home.store_path, home.clock), 0
        for piece in split_at(data, [cut for cut, _ in steps]):
            append(home, piece)
            home.sync(store)
            written += len(piece)
            if written in restarts:
                store.close()
                store = Store(home.store_path, home.clock)
        store.close()

        assert without_paths(read_store(home.store_path)) == read_in_one_pass(data)


@GIVEN
@given(data=logs(), cuts=CUTS, limits=st.lists(LIMITS, min_size=1, max_size=4))
def test_the_sizes_of_reads_change_nothing(data, cuts, limits):
    with temporary_home() as home, Store(home.store_path, home.clock) as store:
        for number, piece in enumerate(split_at(data, cuts)):
            append(home, piece)
            home.limits = limits[number % len(limits)]
            home.sync(store)

        assert without_paths(read_store(home.store_path)) == read_in_one_pass(data)


@GIVEN
@given(data=logs(), cuts=CUTS, limits=LIMITS)
def test_no_line_is_decoded_twice_and_an_unchanged_log_costs_no_byte(
    data, cuts, limits
):
    with temporary_home() as home, Store(home.store_path, home.clock) as store:
        home.limits, entries = limits, 0
        for piece in split_at(data, cuts):
            append(home, piece)
            entries += home.sync(store).entries
            again = home.sync(store)

            assert (again.entries, again.bytes_read, again.commits) == (0, 0, 0)
        assert entries == len([line for line in data.split(b"\n") if line.strip()])


@GIVEN
@given(chunk=st.integers(1, 9), line=st.integers(40, 200), length=st.integers(0, 200))
def test_a_line_up_to_the_limit_is_kept_and_a_longer_one_is_told(chunk, line, length):
    title = {"type": "custom-title", "customTitle": "x" * length}
    data = json.dumps(title).encode() + b"\n"
    short = b'{"type":"mode","mode":"plan"}\n'
    with temporary_home() as home:
        home.limits = ReadLimits(chunk=chunk, line=line, anchor=8)
        append(home, short + data + short)
        done = home.sync()

        is_kept = len(data) <= line
        assert (done.entries, done.rejected) == ((3, 0) if is_kept else (2, 1))
        texts = [placed.record.content for *_, placed in read_store(home.store_path)]
        assert texts == ["", *(["x" * length] if is_kept else []), ""]


def test_a_store_cut_off_anywhere_is_made_whole_by_the_next_look():
    """The write-ahead log ends at, or just beside, any of its frames, or is gone."""
    talk = ClaudeLogBuilder()
    lines = [
        [talk.prompt("first"), {"type": "custom-title", "customTitle": "twice"}],
        [talk.answer("second"), {"type": "custom-title", "customTitle": "twice"}],
        [talk.call("Bash", {"command": "ls"}, "toolu_1"), talk.prompt("last")],
    ]
    with temporary_home() as home:
        with Store(home.store_path, home.clock) as store:
            for some in lines:
                home.write(*some)
                home.sync(store)
            saved = home.store_path.read_bytes()
            wal = home.store_path.with_name("store.db-wal").read_bytes()
        whole = read_store(home.store_path)
        ends = range(WAL_HEADER, len(wal) + 1, FRAME)
        assert len(whole) > 6
        assert len(ends) > len(lines)

        for end in (0, *ends):
            for nudge in (-1, 0, 1):
                _restore_store(home, saved, wal[: max(end + nudge, 0)])
                home.sync()
                assert read_store(home.store_path) == whole, (end, nudge)
        _restore_store(home, saved, None)
        home.sync()
        assert read_store(home.store_path) == whole


def _restore_store(home: ClaudeHome, saved: bytes, wal: bytes | None) -> None:
    """A power loss left these files, and no index of the log."""
    shutil.rmtree(home.store_path.parent)
    home.store_path.parent.mkdir()
    home.store_path.write_bytes(saved)
    if wal is not None:
        home.store_path.with_name("store.db-wal").write_bytes(wal)
