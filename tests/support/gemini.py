"""Build Gemini CLI logs and homes, and ingest them into a store."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

from leslied.agents import load_adapters
from leslied.clock import Clock
from leslied.model.record import MAIN, PlacedRecord
from leslied.model.session import SessionSummary, Unit
from leslied.sessions.assemble import RecordStream, assemble
from leslied.store import StoreReader
from tests.support import golden

ADAPTER = load_adapters()["gemini-cli"]
SESSION = "11111111-2222-4333-8444-555555555555"
LOG = f"app/chats/session-2026-11-16T10-00-{SESSION[:8]}.jsonl"
TOKENS = {"input": 100, "output": 20, "cached": 60, "thoughts": 7, "tool": 0}

GeminiLine = dict[str, Any]


class GeminiLogBuilder:
    """Build log lines of one session, with consecutive ids and times."""

    def __init__(self, session_id: str = SESSION) -> None:
        self.session_id = session_id
        self._numbers = itertools.count(1)

    def header(self, **fields: Any) -> GeminiLine:
        defaults = {"sessionId": self.session_id, "projectHash": "5e1f" * 16}
        return {**defaults, "startTime": self._time(0), "kind": "main", **fields}

    def message(self, type_: str, content: Any, **fields: Any) -> GeminiLine:
        number = next(self._numbers)
        message_id = f"{number:08x}-{self.session_id[9:]}"
        defaults = {"id": message_id, "timestamp": self._time(number), "type": type_}
        return {**defaults, "content": content, **fields}

    def prompt(self, text: str, **fields: Any) -> GeminiLine:
        return self.message("user", [{"text": text}], **fields)

    def answer(self, text: Any, **fields: Any) -> GeminiLine:
        defaults = {"thoughts": [], "tokens": TOKENS, "model": "gemini-2.5-pro"}
        return self.message("gemini", text, **{**defaults, **fields})

    def tool_results(self, *calls: GeminiLine) -> GeminiLine:
        """Return the message that sends the results of calls back to the model."""
        return self.message("user", [part for call in calls for part in call["result"]])

    @staticmethod
    def _time(number: int) -> str:
        return f"2026-11-16T10:{number // 60:02}:{number % 60:02}.000Z"


def make_tool_call(
    name: str, output: str, call_id: str = "call-1", **fields: Any
) -> GeminiLine:
    """Return a finished tool call, as an item of `toolCalls`."""
    response = {"id": call_id, "name": name, "response": {"output": output}}
    result = [{"functionResponse": response}]
    defaults = {"id": call_id, "name": name, "args": {"a": 1}, "result": result}
    return {**defaults, "status": "success", **fields}


def make_checkpoint(*messages: GeminiLine) -> GeminiLine:
    return {"$set": {"messages": list(messages)}}


class GeminiStoreContents:
    """Sessions, records and rejections of a store."""

    def __init__(self, path: Path) -> None:
        with StoreReader(path) as reader:
            self.sessions = list(reader.list_sessions())
            self._records = {
                s.key: list(reader.list_records(s.key)) for s in self.sessions
            }
            self.rejected = [row["reason"] for row in reader.list_rejected(99)]

    def main(self) -> SessionSummary:
        (session,) = [s for s in self.sessions if s.key.source == MAIN]
        return session

    def subagent(self) -> SessionSummary:
        (session,) = [s for s in self.sessions if s.key.source != MAIN]
        return session

    def records(self, session: SessionSummary | None = None) -> list[PlacedRecord]:
        return self._records[(session or self.main()).key]

    def texts(self, type_: str, session: SessionSummary | None = None) -> list[str]:
        """Return the contents of all records of one type."""
        return [
            p.record.content for p in self.records(session) if p.record.type == type_
        ]

    def events(self, kind: str, session: SessionSummary | None = None) -> list[str]:
        """Return the contents of all events of one kind."""
        return [
            p.record.content
            for p in self.records(session)
            if p.record.metadata.get("kind") == kind
        ]

    def user_messages(self) -> list[tuple[str, str]]:
        """Return (origin, text) of every user message."""
        return [
            (p.record.metadata["origin"], p.record.content)
            for p in self.records()
            if p.record.type == "user_message"
        ]

    def units(self) -> tuple[Unit, ...]:
        streams = {s.key: RecordStream(s, self._records[s.key]) for s in self.sessions}
        main = streams.pop(self.main().key)
        return assemble(main, list(streams.values()))


class GeminiHome:
    """Home directory with Gemini CLI logs, and a store next to it."""

    def __init__(self, home: Path, store: Path, clock: Clock) -> None:
        self.home = home
        self.chats = home / ".gemini" / "tmp"
        self.store_path = store
        self.clock = clock

    def write(self, *lines: Any, name: str = LOG) -> Path:
        """Append whole lines to a log."""
        path = self.chats / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.write(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
        return path

    def write_document(self, document: GeminiLine, name: str = "") -> Path:
        # Older versions write one `.json` document instead of a `.jsonl` log.
        path = self.chats / (name or LOG.removesuffix("l"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(document, indent=2))
        return path

    def read(self, case: str = "") -> GeminiStoreContents:
        """Copy the fixture case, if any, into the home; sync; return the contents."""
        if case:
            golden.copy_home(golden.FIXTURES / "gemini_cli" / case, self.home)
        golden.sync_home(ADAPTER, self.home, self.store_path, self.clock)
        return GeminiStoreContents(self.store_path)
