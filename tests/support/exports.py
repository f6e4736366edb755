"""Load sessions as sinks get them, and read back what sinks wrote."""

from __future__ import annotations

import gzip
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from leslied.agents import AgentAdapter
from leslied.clock import Clock
from leslied.model.output import Artifact
from leslied.model.session import Session
from leslied.queries.resolve import resolve_id
from leslied.queries.units import load_session
from leslied.sinks import load_sinks, write_artifact
from leslied.store import StoreReader
from tests.support.golden import copy_home, sync_home


def read_session(path: Path, clock: Clock, query: str = "last") -> Session:
    """Load a session, by default the last one, from the store at `path`."""
    with StoreReader(path) as reader:
        return load_session(
            reader, resolve_id(reader, query, with_costs=True), clock.now(), UTC
        )


def read_case_session(
    adapter: AgentAdapter, case: Path, home: Path, store: Path, clock: Clock
) -> Session | None:
    """Sync a fixture and return its last session, or None if it has none."""
    copy_home(case, home)
    sync_home(adapter, home, store, clock)
    with StoreReader(store) as reader:
        if not reader.list_sessions():
            return None
    return read_session(store, clock)


def render(session: Session, format_name: str) -> dict[str, bytes]:
    """Return the bytes of all files of a format, by path."""
    return {a.path: a.body for a in load_sinks()[format_name].render(session)}


def render_main_text(session: Session, format_name: str) -> str:
    """Return the text that `export` would print on standard output."""
    artifacts = load_sinks()[format_name].render(session)
    (main,) = [artifact for artifact in artifacts if not artifact.is_derived]
    return main.body.decode()


def join_artifacts(artifacts: dict[str, bytes], home: Path) -> str:
    """Join all files into one text, with the home's path replaced."""
    parts = []
    for path, body in artifacts.items():
        data = gzip.decompress(body) if path.endswith(".gz") else body
        text = data.decode().replace(str(home), "/home/dev")
        parts.append(f"=== {path}\n{text}")
    return "\n".join(parts)


def write_artifacts(folder: Path, artifacts: tuple[Artifact, ...]) -> None:
    folder.mkdir(exist_ok=True)
    for artifact in artifacts:
        write_artifact(folder, artifact)


class DevflowRun:
    """A devflow run, loaded and checked as devflow does.

    A compressed transcript is preferred to a plain one.
    """

    roles = ("system", "user", "assistant", "tool_result")
    statuses = ("running", "completed", "failed", "canceled")

    def __init__(self, base: Path, run_id: str) -> None:
        run = base / "runs" / run_id
        try:
            data = gzip.decompress((run / "transcript.json.gz").read_bytes())
        except OSError:
            data = (run / "transcript.json").read_bytes()
        document = json.loads(data)
        self.run_id = _get_typed(document, "runId", str)
        self.metadata = self._check_metadata(_get_typed(document, "metadata", dict))
        self.turns = [
            self._check_turn(turn, number)
            for number, turn in enumerate(_get_typed(document, "turns", list), 1)
        ]

    def _check_metadata(self, metadata: dict[str, Any]) -> dict[str, Any]:
        _get_typed(metadata, "flowId", str)
        _get_typed(metadata, "startedAt", "time")
        _get_typed(metadata, "endedAt", "time", is_optional=True)
        assert _get_typed(metadata, "status", str) in self.statuses
        _get_typed(metadata, "totalTokensIn", int)
        _get_typed(metadata, "totalTokensOut", int)
        _get_typed(metadata, "totalCost", (int, float))
        _get_typed(metadata, "nodeId", str, is_optional=True)
        _get_typed(metadata, "input", dict, is_optional=True)
        _get_typed(metadata, "error", str, is_optional=True)
        return metadata

    def _check_turn(self, turn: dict[str, Any], number: int) -> dict[str, Any]:
        assert _get_typed(turn, "id", int) == number
        assert _get_typed(turn, "role", str) in self.roles
        _get_typed(turn, "content", str)
        _get_typed(turn, "timestamp", "time")
        _get_typed(turn, "tokensIn", int, is_optional=True)
        _get_typed(turn, "tokensOut", int, is_optional=True)
        calls = _get_typed(turn, "toolCalls", list, is_optional=True) or []
        assert not calls or turn["role"] == "assistant"
        for call in calls:
            _get_typed(call, "name", str)
            _get_typed(call, "input", dict)
            for name in ("id", "output", "error"):
                _get_typed(call, name, str, is_optional=True)
        return turn


def _get_typed(
    fields: dict[str, Any], name: str, kind: Any, *, is_optional: bool = False
) -> Any:
    """Return a field; fail unless a strict decoder would accept its type.

    `kind` is a type, a tuple of types, or "time" for a UTC timestamp. A missing
    optional field is returned as None.
    """
    if is_optional and name not in fields:
        return None
    value = fields[name]
    if kind == "time":
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", value), value
        datetime.fromisoformat(value)
        return value
    assert isinstance(value, kind), (name, value)
    assert not isinstance(value, bool), (name, value)
    return value
