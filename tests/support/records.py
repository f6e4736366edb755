"""Build records and decoded chunks, commit them to a store, read files as tail does."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self

from leslied import tail
from leslied.clock import Clock
from leslied.model.decoded_chunk import DecodedChunk, DecodedEntry
from leslied.model.record import MAIN, PlacedRecord, Record, SessionKey
from leslied.model.session import SessionSummary
from leslied.model.source import Cursor, FileStamp, Rejection, Shape, SourceRef
from leslied.queries.search import SearchHit, SearchMode, search_entries
from leslied.queries.search_query import parse_query
from leslied.store import CommitReport, Store, StoreReader
from leslied.tail import ReadLimits
from leslied.tail.files import make_stamp

AGENT = "claude-code"
START_TIME = datetime(2026, 11, 16, 10, 0, tzinfo=UTC)
LOGS = Path("/logs")


def time_at(seconds: float) -> datetime:
    """Return the time this many seconds after START_TIME."""
    return START_TIME + timedelta(seconds=seconds)


def make_key(session_id: str = "s", source: str = MAIN) -> SessionKey:
    return SessionKey(AGENT, session_id, source)


def make_record(content: str = "hello", native_id: str = "", **fields: Any) -> Record:
    """Return an assistant message, without a native id unless one is passed."""
    defaults = {"session": make_key(), "type": "assistant_message", "role": "assistant"}
    return Record(**{**defaults, "content": content, "native_id": native_id, **fields})


def make_prompt(content: str = "hello", native_id: str = "", **fields: Any) -> Record:
    """Return a user message that a person typed."""
    defaults = {
        "type": "user_message",
        "role": "user",
        "metadata": {"origin": "prompt"},
    }
    return make_record(content, native_id, **{**defaults, **fields})


def make_event(kind: str, native_id: str = "", **fields: Any) -> Record:
    """Return an event of this kind; `metadata` is added to its metadata."""
    metadata = fields.pop("metadata", {})
    defaults = {"type": "system_event", "role": "system", "metadata": {"kind": kind}}
    defaults["metadata"] |= metadata
    return make_record(fields.pop("content", ""), native_id, **{**defaults, **fields})


def make_call(tool: str, call_id: str, **fields: Any) -> Record:
    values = {"tool_input": '{"command":"ls"}'} | fields
    return make_record(
        "",
        f"call-{call_id}",
        type="tool_use",
        tool_name=tool,
        tool_call_id=call_id,
        **values,
    )


def make_result(content: str, call_id: str, **fields: Any) -> Record:
    return make_record(
        content,
        f"result-{call_id}",
        type="tool_result",
        role="tool",
        tool_call_id=call_id,
        **fields,
    )


def make_source(path: Path, shape: Shape = Shape.APPEND_LOG) -> SourceRef:
    """Return the source of a file with its current stamp; the file may be missing."""
    stamp = make_stamp(path.stat()) if path.exists() else FileStamp(1, 1, 1, 1, 1)
    return SourceRef(agent=AGENT, path=path, root=path.parent, shape=shape, stamp=stamp)


def make_entry(
    record: Record, number: int, *, is_complete: bool = True
) -> DecodedEntry:
    """Return an entry with one record; equal records without ids have equal digests."""
    digest = b""
    if not record.native_id:
        digest = hashlib.sha256(repr(record).encode(errors="replace")).digest()
    # Each entry has 99 bytes and a newline.
    return DecodedEntry(number * 100, 99, (record,), digest, is_complete)


def make_chunk(
    *records: Record, log: str = "a.jsonl", generation: int = 1, **fields: Any
) -> DecodedChunk:
    """Return a chunk with one entry for each record."""
    entries = [make_entry(record, number) for number, record in enumerate(records)]
    cursor = Cursor(generation=generation, offset=100 * len(records))
    defaults = {"cursor": cursor, "decoder_version": 1, "entries": tuple(entries)}
    return DecodedChunk(source=make_source(LOGS / log), **{**defaults, **fields})


class StoreHarness:
    """An open store with shortcuts for reading it; does not fsync by default."""

    def __init__(self, path: Path, clock: Clock, *, without_fsync: bool = True) -> None:
        self.path = path
        self.store = Store(path, clock)
        if without_fsync:
            self.execute("PRAGMA synchronous = OFF")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.store.close()

    def commit(self, *records: Record, **chunk_fields: Any) -> CommitReport:
        return self.store.commit([make_chunk(*records, **chunk_fields)])

    def execute(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        return self.store._db.execute(query, values).fetchall()

    def count(self, table: str) -> int:
        return int(self.execute(f"SELECT count(*) FROM {table}")[0][0])

    @contextmanager
    def reader(self) -> Iterator[StoreReader]:
        with StoreReader(self.path) as reader:
            yield reader

    def session(self, session_id: str = "s", source: str = MAIN) -> SessionSummary:
        with self.reader() as reader:
            sessions = {session.key: session for session in reader.list_sessions()}
        return sessions[make_key(session_id, source)]

    def list_records(
        self, session_id: str = "s", source: str = MAIN
    ) -> list[PlacedRecord]:
        with self.reader() as reader:
            return reader.list_records(make_key(session_id, source))

    def contents(self, session_id: str = "s", source: str = MAIN) -> list[str]:
        return [
            placed.record.content for placed in self.list_records(session_id, source)
        ]

    def search(
        self, text: str, mode: SearchMode = "newest", stop_cutoff_us: int = 0
    ) -> list[SearchHit]:
        query = parse_query(text, {"after": int, "before": int})
        with self.reader() as reader:
            result = search_entries(
                reader,
                query,
                mode,
                50,
                stop_cutoff_us=stop_cutoff_us,
                redact=lambda text: text,
            )
        return list(result.hits)


class TailHarness:
    """Read one file repeatedly, as the daemon does."""

    def __init__(self, path: Path, **limits: int) -> None:
        self.path = path
        self.limits = ReadLimits(**limits)
        self.cursor = Cursor()
        self.bytes_read = 0
        self.rejected: list[Rejection] = []

    def read_new(self, *, is_final: bool = False) -> list[bytes]:
        """Return the lines added since the last call.

        Reset `bytes_read` and `rejected`, so that they describe only this read.
        """
        return [data for _, data in self.read_new_with_offsets(is_final=is_final)]

    def read_new_with_offsets(
        self, *, is_final: bool = False
    ) -> list[tuple[int, bytes]]:
        """Return what `read_new` does, with the offset of each line."""
        self.bytes_read, self.rejected = 0, []
        source = make_source(self.path)
        if tail.is_unchanged(source, self.cursor, is_final=is_final):
            return []
        return list(self._read_chunks(source, is_final=is_final))

    def _read_chunks(
        self, source: SourceRef, *, is_final: bool
    ) -> Iterator[tuple[int, bytes]]:
        for chunk in tail.read(source, self.cursor, self.limits, is_final=is_final):
            self.cursor = chunk.cursor
            self.bytes_read += chunk.bytes_read
            self.rejected += chunk.rejected
            yield from ((entry.offset, entry.data) for entry in chunk.entries)


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def rewrite_in_place(path: Path, data: bytes) -> None:
    """Replace a file's bytes and restore its mtime, so that only ctime changes.

    File system clocks tick slowly, so write until ctime differs.
    """
    before = path.stat()
    while path.stat().st_ctime_ns == before.st_ctime_ns:
        path.write_bytes(data)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def bump_ctime(path: Path) -> None:
    """Change a file's ctime only."""
    before = path.stat()
    while path.stat().st_ctime_ns == before.st_ctime_ns:
        path.chmod(0o600)
        path.chmod(0o644)


def bump_mtime(path: Path) -> None:
    """Change a file's mtime, and with it the ctime, but not its content."""
    status = path.stat()
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1_000_000))


def encode_lines(*values: Any) -> bytes:
    return b"".join(str(value).encode() + b"\n" for value in values)


def list_modes(paths: Iterable[Path]) -> set[int]:
    """Return the distinct permission bits of these files."""
    return {path.stat().st_mode & 0o777 for path in paths}
