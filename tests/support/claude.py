"""Build Claude Code logs and homes, and ingest them into a store."""

from __future__ import annotations

import itertools
import json
import uuid
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from leslied.agents import load_adapters
from leslied.clock import Clock
from leslied.model.source import Environment
from leslied.pipeline import Ingest, IngestReport
from leslied.pipeline.ingest.batch import Slice
from leslied.store import Store
from leslied.tail import ReadLimits

SESSION = "11111111-2222-4333-8444-555555555555"
ADAPTER = load_adapters()["claude-code"]
START_TIME = datetime(2026, 11, 16, 10)  # noqa: DTZ001 - the zone is written beside it
AFTER_STORE_CREATION = datetime(2100, 1, 1)  # noqa: DTZ001
"""Start of sessions that are newer than any store.

Sessions older than the store get no transcript in their project.
"""


class ClaudeLogBuilder:
    """Build log lines of one session, with consecutive ids and times.

    To add to a session that has lines, pass a `first_number` that they do not use.
    """

    def __init__(
        self,
        session_id: str = SESSION,
        cwd: str = "/home/dev/app",
        started_at: datetime = START_TIME,
        first_number: int = 1,
    ) -> None:
        self.session_id = session_id
        self.cwd = cwd
        self.started_at = started_at
        self._numbers = itertools.count(first_number)
        self._last_uuid: str | None = None

    def line(self, type_: str, **fields: Any) -> dict[str, Any]:
        """Return the next line of the log; `fields` replace its default fields."""
        number = next(self._numbers)
        entry_uuid = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{self.session_id}/{number}"))
        entry = {
            "parentUuid": self._last_uuid,
            "isSidechain": False,
            "type": type_,
            "uuid": entry_uuid,
            "timestamp": (self.started_at + timedelta(seconds=number)).isoformat()
            + ".000Z",
            "sessionId": self.session_id,
            "cwd": self.cwd,
            "version": "2.1.325",
            "gitBranch": "main",
            **fields,
        }
        self._last_uuid = entry_uuid
        return entry

    def prompt(self, text: Any, **fields: Any) -> dict[str, Any]:
        message = {"role": "user", "content": text}
        return self.line("user", message=message, **fields)

    def answer(self, text: str, **message: Any) -> dict[str, Any]:
        return self._assistant({"type": "text", "text": text}, message)

    def think(self, text: str, **message: Any) -> dict[str, Any]:
        return self._assistant({"type": "thinking", "thinking": text}, message)

    def call(self, name: str, input_: Any, call_id: str, **message: Any) -> dict:
        block = {"type": "tool_use", "id": call_id, "name": name, "input": input_}
        return self._assistant(block, {"stop_reason": "tool_use", **message})

    def result(self, call_id: str, content: Any, **fields: Any) -> dict[str, Any]:
        block = {"type": "tool_result", "tool_use_id": call_id, "content": content}
        return self.prompt([block], **fields)

    def _assistant(
        self, block: dict[str, Any], overrides: dict[str, Any]
    ) -> dict[str, Any]:
        # 0 for the first line of a log, else 36, the length of a UUID.
        output_tokens = len(self._last_uuid or "")
        message = {
            "id": f"msg_{self._last_uuid}",
            "role": "assistant",
            "model": "claude-opus-5-5",
            "content": [block],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 10, "output_tokens": output_tokens},
            **overrides,
        }
        return self.line(
            "assistant", message=message, requestId=f"req_{self._last_uuid}"
        )


def encode_json_lines(*lines: Any) -> bytes:
    """Encode values as JSON lines, as the agent writes them."""
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


class ClaudeHome:
    """Home directory with Claude Code logs, and a store next to it."""

    def __init__(self, home: Path, store: Path, clock: Clock) -> None:
        self.home = home
        self.projects = home / ".claude" / "projects"
        self.store_path = store
        self.clock = clock
        self.limits = ReadLimits()
        self.slice: Slice | None = None

    def log(self, name: str = f"-home-dev-app/{SESSION}.jsonl") -> Path:
        """Return the path of a log in `projects`, and create its folder."""
        path = self.projects / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def write(self, *lines: Any, name: str = f"-home-dev-app/{SESSION}.jsonl") -> Path:
        """Append whole lines to a log and return its path."""
        path = self.log(name)
        with path.open("ab") as file:
            file.write(encode_json_lines(*lines))
        return path

    def sync(
        self, store: Store | None = None, *, is_final: bool = False
    ) -> IngestReport:
        """Ingest everything once, as `leslied sync` does."""
        if store is None:
            with Store(self.store_path, self.clock) as opened:
                return self.sync(opened, is_final=is_final)
        return self.make_ingest(store, is_final=is_final).scan()

    def make_ingest(self, store: Store, *, is_final: bool = False) -> Ingest:
        """Return the ingest stage of this home."""
        env = Environment(home=self.home, environ={}, platform="linux")
        return Ingest(
            adapter=ADAPTER,
            store=store,
            roots=tuple(ADAPTER.roots(env, [])),
            limits=self.limits,
            slice=self.slice,
            is_final=is_final,
        )
