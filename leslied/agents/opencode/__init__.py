"""Read OpenCode's database in `~/.local/share/opencode`, and the older JSON files.

`docs/formats/opencode.md` documents the format.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leslied.agents._contract import BaseAdapter
from leslied.agents.opencode.feeds import FEEDS
from leslied.model.source import Pattern, Root, Shape, WatchDepth

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from leslied.agents._contract import AgentAdapter, Capability
    from leslied.model.record import DecodeResult
    from leslied.model.source import Environment, RawEntry

DATABASE = Pattern(glob="opencode.db", shape=Shape.SQLITE, feeds=FEEDS)
TREE = Pattern(
    glob="*/*.json",
    shape=Shape.JSON_TREE,
    child_folders=("../../message/{}", "../../part/{}"),
)


class OpenCode(BaseAdapter):
    """Adapter for OpenCode."""

    name = "opencode"
    title = "OpenCode"
    decoder_version = 2
    has_mutable_entries = True
    env_vars = ("XDG_DATA_HOME",)
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
        """Return the directories of the database and of older versions' JSON files."""
        for folder in list(configured) or [_default_folder(env)]:
            yield Root(path=folder, patterns=(DATABASE,), watch=WatchDepth.FLAT)
            tree = folder / "storage" / "session"
            yield Root(path=tree, patterns=(TREE,), watch=WatchDepth.NONE)

    def decode(self, entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
        """Decode an entry: a message with its parts, or a session."""
        from leslied.agents.opencode import decode  # noqa: PLC0415 - for new entries

        return decode.decode_entry(entry, state)

    def resume_command(self, session_id: str) -> str:
        """Return the command, which works in the session's own directory."""
        return f"opencode --session {shlex.quote(session_id)}"


def _default_folder(env: Environment) -> Path:
    """Return `$XDG_DATA_HOME/opencode`, on every platform."""
    data = env.environ.get("XDG_DATA_HOME") or env.home / ".local" / "share"
    return Path(data) / "opencode"


ADAPTER: AgentAdapter = OpenCode()
