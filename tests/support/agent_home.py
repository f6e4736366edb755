"""A home directory with one agent's logs, and the store's contents after a sync."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from leslied.agents import AgentAdapter
from leslied.clock import Clock
from leslied.model.record import DecodeResult, PlacedRecord
from leslied.model.session import SessionSummary, Unit
from leslied.model.source import FileStamp, RawEntry, Shape, SourceRef
from leslied.sessions.assemble import RecordStream, assemble
from leslied.store import StoreReader
from tests.support.golden import FIXTURES, copy_home, make_environment, sync_home


class AgentHome:
    """Home directory of one agent, read into its own store."""

    def __init__(
        self, adapter: AgentAdapter, home: Path, store: Path, clock: Clock
    ) -> None:
        self.adapter = adapter
        self.home = home
        self.store = store
        self.clock = clock

    def read_case(self, name: str) -> StoreContents:
        """Copy a fixture case into the home, sync it, return the store's contents."""
        folder = FIXTURES / self.adapter.name.replace("-", "_") / name
        copy_home(folder, self.home)
        return self.read()

    def write(self, path: str, *entries: Any) -> None:
        """Append entries to a file: strings as they are, other values as JSON lines."""
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        lines = [e if isinstance(e, str) else json.dumps(e) + "\n" for e in entries]
        with file.open("a", encoding="utf-8") as log:
            log.write("".join(lines))

    def read(self) -> StoreContents:
        """Sync the home and return the store's contents."""
        sync_home(self.adapter, self.home, self.store, self.clock)
        return StoreContents(self.store)

    def decode(
        self, path: str, entry: Any, state: dict[str, Any] | None = None
    ) -> DecodeResult:
        """Decode one entry of the file at `path`, relative to the first root."""
        root = next(iter(self.adapter.roots(make_environment(self.home), []))).path
        shape = Shape.APPEND_LOG if path.endswith(".jsonl") else Shape.DOCUMENT
        stamp = FileStamp(0, 0, 0, 0, 0)
        source = SourceRef(
            agent=self.adapter.name,
            path=root / path,
            root=root,
            shape=shape,
            stamp=stamp,
        )
        data = entry if isinstance(entry, bytes) else json.dumps(entry).encode()
        return self.adapter.decode(RawEntry(source, 0, data), state or {})


class StoreContents:
    """Sessions and records of a store."""

    def __init__(self, path: Path) -> None:
        with StoreReader(path) as reader:
            self.sessions = list(reader.list_sessions())
            self._records = {
                s.key: list(reader.list_records(s.key)) for s in self.sessions
            }

    @property
    def main(self) -> SessionSummary:
        (session,) = [s for s in self.sessions if not s.is_subagent]
        return session

    @property
    def subagents(self) -> list[SessionSummary]:
        return [s for s in self.sessions if s.is_subagent]

    def records(
        self, type_: str = "", session: SessionSummary | None = None
    ) -> list[PlacedRecord]:
        placed = self._records[(session or self.main).key]
        return [p for p in placed if type_ in ("", p.record.type)]

    def texts(self, type_: str, session: SessionSummary | None = None) -> list[str]:
        return [p.record.content for p in self.records(type_, session)]

    def user_messages(self) -> list[tuple[str, str]]:
        """Return (origin, text) of every user message."""
        messages = self.records("user_message")
        return [(p.record.metadata["origin"], p.record.content) for p in messages]

    def notes(self, kind: str) -> list[str]:
        """Return the notes of all events of a kind."""
        events = [p.record.metadata for p in self.records("system_event")]
        return [
            metadata.get("note", "") for metadata in events if metadata["kind"] == kind
        ]

    def units(self) -> tuple[Unit, ...]:
        children = [RecordStream(s, self.records(session=s)) for s in self.subagents]
        return assemble(RecordStream(self.main, self.records()), children)
