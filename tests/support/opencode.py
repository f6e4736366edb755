"""An OpenCode database, written in the way OpenCode writes it."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

from leslied.agents import load_adapters
from leslied.clock import Clock
from leslied.pipeline import Ingest
from leslied.pipeline.ingest.batch import IngestReport
from leslied.store import Store
from tests.support.golden import make_environment

ADAPTER = load_adapters()["opencode"]
START_MS = 1_794_800_000_000
SCHEMA = """
    CREATE TABLE session (id text PRIMARY KEY, project_id text, parent_id text,
        directory text NOT NULL, title text NOT NULL, version text NOT NULL,
        time_created integer NOT NULL, time_updated integer NOT NULL);
    CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL,
        time_created integer NOT NULL, time_updated integer NOT NULL,
        data text NOT NULL);
    CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL,
        session_id text NOT NULL, time_created integer NOT NULL,
        time_updated integer NOT NULL, data text NOT NULL);
    CREATE INDEX message_idx ON message (session_id, time_created, id);
    CREATE INDEX part_message_idx ON part (message_id, id);
"""
EVENT_SCHEMA = """
    CREATE TABLE event (id text PRIMARY KEY, aggregate_id text NOT NULL,
        seq integer NOT NULL, type text NOT NULL, data text NOT NULL);
"""


class OpenCodeHome:
    """Home directory with an OpenCode database, and a store next to it."""

    def __init__(
        self, home: Path, store: Path, clock: Clock, *, has_events: bool = True
    ) -> None:
        self.home, self.store_path, self.clock = home, store, clock
        self.folder = home / ".local" / "share" / "opencode"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.db = sqlite3.connect(self.folder / "opencode.db", isolation_level=None)
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.executescript(SCHEMA + (EVENT_SCHEMA if has_events else ""))
        self.has_events = has_events
        self._ticks = 0

    def tick(self) -> int:
        """Return a time one millisecond after the last one, in milliseconds."""
        self._ticks += 1
        return START_MS + self._ticks

    def session(
        self,
        name: str = "ses_1",
        title: str = "New session - 2026-11-16T01:31:06.924Z",
        parent: str | None = None,
        directory: str = "/home/dev/app",
    ) -> str:
        """Insert or update a session and return its id, `name`."""
        time = self.tick()
        self.db.execute(
            "INSERT INTO session VALUES (?, 'p', ?, ?, ?, '1.18.33', ?, ?) "
            "ON CONFLICT DO UPDATE SET title = excluded.title, "
            "time_updated = excluded.time_updated",
            (name, parent, directory, title, time, time),
        )
        self._insert_event("session.updated.1", {"info": {"id": name}})
        return name

    def message(self, name: str, role: str, session: str = "ses_1", **info: Any) -> str:
        """Insert or update a message and return its id, `name`."""
        time = self.tick()
        times = {"created": time, **info.pop("time", {})}
        data = json.dumps({"role": role, "time": times, **info})
        self.db.execute(
            "INSERT INTO message VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE "
            "SET data = excluded.data, time_updated = excluded.time_updated",
            (name, session, time, time, data),
        )
        self._insert_event("message.updated.1", {"info": {"id": name}})
        return name

    def part(
        self, message: str, name: str, type_: str, session: str = "ses_1", **data: Any
    ) -> str:
        """Insert or update a part of a message and return its id, `name`."""
        time = self.tick()
        text = json.dumps({"type": type_, **data})
        self.db.execute(
            "INSERT INTO part VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE "
            "SET data = excluded.data, time_updated = excluded.time_updated",
            (name, message, session, time, time, text),
        )
        self._insert_event("message.part.updated.1", {"part": {"messageID": message}})
        return name

    def prompt(self, text: str, name: str = "msg_1", session: str = "ses_1") -> None:
        """Insert a user message with one part."""
        self.message(name, "user", session, agent="build")
        self.part(name, f"prt_{name}", "text", session, text=text)

    def answer(self, text: str, name: str = "msg_2", session: str = "ses_1") -> None:
        """Insert an answer as OpenCode does: empty at first, then updated."""
        self.message(name, "assistant", session)
        self.part(name, f"prt_{name}", "text", session, text="", time={"start": 1})
        times = {"start": START_MS, "end": START_MS + 1}
        self.part(name, f"prt_{name}", "text", session, text=text, time=times)
        self.message(
            name,
            "assistant",
            session,
            finish="stop",
            modelID="gpt-5",
            time={"completed": self.tick()},
            tokens={"input": 5, "output": 2, "cache": {"read": 1, "write": 0}},
        )

    def tool(self, message: str, name: str, status: str, **state: Any) -> None:
        """Insert or update the part of a tool call; `name` is the id of the part."""
        tool_state = {"status": status, "input": {"command": "ls"}, **state}
        self.part(
            message, name, "tool", tool="bash", callID=f"call_{name}", state=tool_state
        )

    def sync(self, **options: Any) -> IngestReport:
        roots = tuple(ADAPTER.roots(make_environment(self.home), []))
        with Store(self.store_path, self.clock) as store:
            return Ingest(adapter=ADAPTER, store=store, roots=roots, **options).scan()

    def _insert_event(self, kind: str, data: dict[str, Any]) -> None:
        if self.has_events:
            name = f"evt_{self._ticks}"
            row = (name, "ses", self._ticks, kind, json.dumps(data))
            self.db.execute("INSERT INTO event VALUES (?, ?, ?, ?, ?)", row)
