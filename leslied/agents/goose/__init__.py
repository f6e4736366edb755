"""Read Goose's database in `~/.local/share/goose/sessions`.

`docs/formats/goose.md` documents the format.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leslied.agents._contract import BaseAdapter
from leslied.agents.goose.feeds import FEEDS
from leslied.model.source import Pattern, Root, Shape, WatchDepth

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from leslied.agents._contract import AgentAdapter, Capability
    from leslied.model.record import DecodeResult
    from leslied.model.source import Environment, RawEntry
    from leslied.sessions.tools import ToolKind

DATABASE = Pattern(glob="sessions.db", shape=Shape.SQLITE, feeds=FEEDS)


class Goose(BaseAdapter):
    """Adapter for Goose."""

    name = "goose"
    title = "Goose"
    decoder_version = 1
    verified = "1.34.0, 2026-11"
    has_mutable_entries = True
    env_vars = ("GOOSE_PATH_ROOT", "XDG_DATA_HOME")
    tools: Mapping[str, ToolKind] = {
        "write": "write",
        "edit": "edit",
        "text_editor": "editor",
        "developer__text_editor": "editor",
        "developer__shell": "shell",
        "todo__todo_write": "todos",
    }
    capabilities: frozenset[Capability] = frozenset(
        {
            "folder",
            "title",
            "model",
            "tokens",
            "thinking",
            "tools",
            "subagents",
            "turn end",
        }
    )

    def roots(self, env: Environment, configured: Sequence[Path]) -> Iterable[Root]:
        """Return the directory of the database."""
        for folder in list(configured) or [_default_folder(env)]:
            yield Root(path=folder, patterns=(DATABASE,), watch=WatchDepth.FLAT)

    def decode(self, entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
        """Decode a message with its session, or a session."""
        from leslied.agents.goose import decode  # noqa: PLC0415 - only to decode

        return decode.decode_entry(entry, state)

    def resume_command(self, session_id: str) -> str:
        """Return the command that resumes a session."""
        return f"goose session --resume --session-id {shlex.quote(session_id)}"


def _default_folder(env: Environment) -> Path:
    """Return `sessions` in `GOOSE_PATH_ROOT` or in the user's data directory."""
    if path_root := env.environ.get("GOOSE_PATH_ROOT"):
        return Path(path_root) / "data" / "sessions"
    data = env.environ.get("XDG_DATA_HOME") or env.home / ".local" / "share"
    return Path(data) / "goose" / "sessions"


ADAPTER: AgentAdapter = Goose()
