"""Sessions as outputs get them, and readers of what outputs wrote."""

from __future__ import annotations

import gzip
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from leslied.agents import AgentAdapter
from leslied.clock import Clock
from leslied.lookup import load_session, resolve_id
from leslied.model.output import Artifact
from leslied.model.session import Session
from leslied.sinks import load_sinks, write_artifact
from leslied.store import StoreReader
from tests.support.golden import copy_home, sync_home


def read_session(path: Path, clock: Clock, query: str = "last") -> Session:
    with StoreReader(path) as reader:
        return load_session(
            reader, resolve_id(reader, query, with_costs=True), clock.now(), UTC
        )


def read_case_session(
    adapter: AgentAdapter, case: Path, home: Path, store: Path, clock: Clock
) -> Session | None:
    """The last session of a fixture; None where the fixture has none."""
    copy_home(case, home)
    sync_home(adapter, home, store, clock)
    with StoreReader(store) as reader:
        if not reader.list_sessions():
            return None
    return read_session(store, clock)


def render(session: Session, form: str) -> dict[str, bytes]:
    return {a.path: a.body for a in load_sinks()[form].render(session)}


def render_one(session: Session, form: str) -> str:
    """The text that standard output would get."""
    artifacts = load_sinks()[form].render(session)
    (only,) = [artifact for artifact in artifacts if not artifact.is_derived]
    return only.body.decode()


def join_artifacts(artifacts: dict[str, bytes], home: Path) -> str:
    """All files as one text, with the home's path taken out."""
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
    """Loads a run as devflow does: gzip first, then plain, into its own types."""

    roles = ("system", "user", "assistant", "tool_result")
    statuses = ("running", "completed", "failed", "canceled")

    def __init__(self, base: Path, run_id: str) -> None:
        run = base / "runs" / run_id
        try:
            data = gzip.decompress((run / "transcript.json.gz").read_bytes())
        except OSError:
            data = (run / "transcript.json").read_bytes()
        told = json.loads(data)
        self.run_id = _get_typed(told, "runId", str)
        self.metadata = self._check_metadata(_get_typed(told, "metadata", dict))
        self.turns = [
            self._check_turn(turn, number)
            for number, turn in enumerate(_get_typed(told, "turns", list), 1)
        ]

    def _check_metadata(self, told: dict[str, Any]) -> dict[str, Any]:
        _get_typed(told, "flowId", str)
        _get_typed(told, "startedAt", "time")
        _get_typed(told, "endedAt", "time", is_optional=True)
        assert _get_typed(told, "status", str) in self.statuses
        _get_typed(told, "totalTokensIn", int)
        _get_typed(told, "totalTokensOut", int)
        _get_typed(told, "totalCost", (int, float))
        _get_typed(told, "nodeId", str, is_optional=True)
        _get_typed(told, "input", dict, is_optional=True)
        _get_typed(told, "error", str, is_optional=True)
        return told

    def _check_turn(self, told: dict[str, Any], number: int) -> dict[str, Any]:
        assert _get_typed(told, "id", int) == number
        assert _get_typed(told, "role", str) in self.roles
        _get_typed(told, "content", str)
        _get_typed(told, "timestamp", "time")
        _get_typed(told, "tokensIn", int, is_optional=True)
        _get_typed(told, "tokensOut", int, is_optional=True)
        calls = _get_typed(told, "toolCalls", list, is_optional=True) or []
        assert not calls or told["role"] == "assistant"
        for call in calls:
            _get_typed(call, "name", str)
            _get_typed(call, "input", dict)
            for name in ("id", "output", "error"):
                _get_typed(call, name, str, is_optional=True)
        return told


def _get_typed(
    told: dict[str, Any], name: str, kind: Any, *, is_optional: bool = False
) -> Any:
    """The field as a strict decoder of that type takes it."""
    if is_optional and name not in told:
        return None
    value = told[name]
    if kind == "time":
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", value), value
        datetime.fromisoformat(value)
        return value
    assert isinstance(value, kind), (name, value)
    assert not isinstance(value, bool), (name, value)
    return value
