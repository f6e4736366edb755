"""Read Crush's databases: `.crush/crush.db` in each project.

`docs/formats/crush.md` documents the format.
"""

from __future__ import annotations

import json
import shlex
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leslied.agents._contract import BaseAdapter
from leslied.agents.crush.feeds import FEEDS
from leslied.model.source import Pattern, Root, Shape, WatchDepth

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from leslied.agents._contract import AgentAdapter, Capability
    from leslied.model.record import DecodeResult
    from leslied.model.source import Environment, RawEntry
    from leslied.sessions.tools import ToolKind

DATABASE = Pattern(glob="crush.db", shape=Shape.SQLITE, feeds=FEEDS)
_MAX_LIST_BYTES = 1_000_000
_MAX_PROJECTS = 500


class Crush(BaseAdapter):
    """Adapter for Crush, written from its public source."""

    name = "crush"
    title = "Crush"
    decoder_version = 1
    has_mutable_entries = True
    env_vars = ("CRUSH_GLOBAL_DATA", "XDG_DATA_HOME")
    tools: Mapping[str, ToolKind] = {
        "bash": "shell",
        "write": "write",
        "edit": "edit",
        "multiedit": "edit",
        "todos": "todos",
    }
    capabilities: frozenset[Capability] = frozenset(
        {"folder", "title", "model", "thinking", "tools", "subagents", "turn end"}
    )

    def roots(self, env: Environment, configured: Sequence[Path]) -> Iterable[Root]:
        """Return the data directories of the projects that Crush has been used in."""
        folders = configured or [env.home / ".crush", *_list_data_folders(env)]
        for folder in dict.fromkeys(folders):
            yield Root(path=folder, patterns=(DATABASE,), watch=WatchDepth.FLAT)

    def decode(self, entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
        """Decode a message with its session."""
        from leslied.agents.crush import decode  # noqa: PLC0415 - only to decode

        return decode.decode_entry(entry, state)

    def resume_command(self, session_id: str) -> str:
        """Return the command to run in the session's own directory."""
        return f"crush --session {shlex.quote(session_id)}"


def _list_data_folders(env: Environment) -> Iterator[Path]:
    """Yield the data directories in Crush's list of projects.

    The list is read when leslied starts: a database is in its project, and nothing else
    says where the projects are.
    """
    global_data = env.environ.get("CRUSH_GLOBAL_DATA")
    data = Path(env.environ.get("XDG_DATA_HOME") or env.home / ".local" / "share")
    path = (Path(global_data) if global_data else data / "crush") / "projects.json"
    projects: Any = []
    with (
        suppress(OSError, ValueError, AttributeError, RecursionError),
        path.open("rb") as file,
    ):
        projects = json.loads(file.read(_MAX_LIST_BYTES)).get("projects")
    for project in projects[:_MAX_PROJECTS] if isinstance(projects, list) else ():
        folder = project.get("data_dir") if isinstance(project, dict) else None
        if isinstance(folder, str) and folder.startswith("/") and "\0" not in folder:
            yield Path(folder)


ADAPTER: AgentAdapter = Crush()
