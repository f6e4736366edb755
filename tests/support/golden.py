"""Fixture homes, their contents after a sync, and the golden files to compare with."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any, cast

import pytest

from leslied.agents import AgentAdapter, load_adapters
from leslied.clock import Clock
from leslied.model.codec import usage_to_dict
from leslied.model.record import PlacedRecord, Usage
from leslied.model.session import SessionSummary
from leslied.model.source import Environment, Root
from leslied.pipeline import Ingest
from leslied.store import Store, StoreReader

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "agents"
_MAX_TEXT_LENGTH = 500
_FIXTURE_MTIME = 1_700_000_000


def list_cases(adapter: AgentAdapter) -> list[Path]:
    """Return the fixture directories of an agent."""
    folder = FIXTURES / adapter.name.replace("-", "_")
    return sorted(path.parent for path in folder.glob("*/case.toml"))


def list_all_cases() -> list[tuple[AgentAdapter, Path]]:
    return [(a, case) for a in load_adapters().values() for case in list_cases(a)]


def format_case_id(value: Any) -> str | None:
    """Return a test id: the name of the agent or of the case."""
    if isinstance(value, Path):
        return value.name
    return getattr(value, "name", None)


def make_environment(home: Path) -> Environment:
    return Environment(
        home=home, environ={}, platform="linux", imports=home / "imports"
    )


def list_roots(adapter: AgentAdapter, home: Path) -> list[Root]:
    """Return the agent's roots in a home; a fixture has its project in `app`."""
    projects = [home / "app"] if adapter.project_log else []
    return list(adapter.roots(make_environment(home), projects))


def copy_home(case: Path, home: Path) -> None:
    """Copy a case's home into `home` and give all files the same mtime."""
    shutil.copytree(
        case / "home", home, dirs_exist_ok=True, copy_function=shutil.copyfile
    )
    for path in home.rglob("*"):
        os.utime(path, (_FIXTURE_MTIME, _FIXTURE_MTIME))


def sync_home(adapter: AgentAdapter, home: Path, path: Path, clock: Clock) -> None:
    """Ingest everything in the home into the store at `path`."""
    roots = tuple(list_roots(adapter, home))
    with Store(path, clock) as store:
        Ingest(adapter=adapter, store=store, roots=roots).scan()


def describe_store(path: Path) -> list[dict[str, Any]]:
    """Return each session followed by its records, then noise and rejections.

    The path of the home beside the store, which differs in each test, becomes `/~`.
    """
    with StoreReader(path) as reader:
        sessions = sorted(reader.list_sessions(), key=lambda session: session.key)
        rows = [
            row
            for session in sessions
            for row in _describe_session_and_records(reader, session)
        ]
        rows.append(_describe_noise_and_rejections(reader))
    # A log in a project does not name the project: its path does.
    home = json.dumps(str(path.parent / "home"))[1:-1]
    text = json.dumps(rows).replace(home, "/~")
    return cast("list[dict[str, Any]]", json.loads(text))


def dump_rows(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _describe_session_and_records(
    reader: StoreReader, session: SessionSummary
) -> list[dict[str, Any]]:
    records = [_describe_record(placed) for placed in reader.list_records(session.key)]
    return [_describe_session(session), *records]


def _describe_session(session: SessionSummary) -> dict[str, Any]:
    names = (
        "thread_id title cwd model units tool_calls has_turn_ended "
        "spawn_call_id parent_agent agent_type description"
    )
    key = session.key
    return {
        "session": key.session_id,
        "source": key.source,
        **_omit_empty({name: getattr(session, name) for name in names.split()}),
        **_describe_usage(session.usage),
    }


def _describe_record(placed: PlacedRecord) -> dict[str, Any]:
    record = placed.record
    key = record.session
    return {
        "session": key.session_id,
        "source": key.source,
        "sequence": placed.sequence,
        "unit": placed.unit,
        "type": record.type,
        "role": record.role,
        **_describe_text("content", record.content),
        "created_at": record.created_at.isoformat() if record.created_at else None,
        **_omit_empty(
            {"tool_name": record.tool_name, "tool_call": record.tool_call_id}
        ),
        **_describe_text("tool_input", record.tool_input),
        **_omit_empty({"model": record.model}),
        **(_describe_usage(record.usage) if record.usage else {}),
        **_omit_empty(
            {"message_id": record.message_id, "spilled": len(record.spilled)}
        ),
        "metadata": _truncate_values(dict(record.metadata)),
        "entry_id": placed.entry_id,
    }


def _describe_usage(usage: Usage) -> dict[str, Any]:
    return {"usage": list(usage_to_dict(usage).values())}


def _describe_noise_and_rejections(reader: StoreReader) -> dict[str, Any]:
    """Return noise counts by kind, and rejections by file name and offset.

    Python's messages about invalid JSON differ between versions and are left out.
    """
    kinds = Counter(kind for (kind,) in reader._db.execute("SELECT kind FROM noise"))
    rejected = [
        {
            **row,
            "path": Path(row["path"]).name,
            "reason": re.sub(r"not JSON: .*", "not JSON", row["reason"]),
        }
        for row in reader.list_rejected(limit=10_000)
    ]
    return {"noise": dict(sorted(kinds.items())), "rejected": rejected}


def _omit_empty(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value}


def _describe_text(name: str, text: str) -> dict[str, Any]:
    """Return a field with the text, or with its start and its length if it is long."""
    if len(text) <= _MAX_TEXT_LENGTH:
        return {name: text} if text else {}
    return {name: text[:_MAX_TEXT_LENGTH], f"{name}_length": len(text)}


def _truncate_values(value: Any) -> Any:
    """Return the value with long strings truncated, also in nested dicts."""
    if isinstance(value, dict):
        return {name: _truncate_values(item) for name, item in value.items()}
    if isinstance(value, str) and len(value) > _MAX_TEXT_LENGTH:
        return f"{value[:_MAX_TEXT_LENGTH]}… {len(value)}"
    return value


def load_golden(path: Path, actual: str, config: pytest.Config) -> str:
    """Return the golden file's text; with `--update-golden`, write `actual` first."""
    if config.getoption("--update-golden"):
        if os.environ.get("CI"):
            pytest.fail("--update-golden is not allowed when CI is set")
        path.write_text(actual, encoding="utf-8")
    return path.read_text(encoding="utf-8") if path.exists() else ""
