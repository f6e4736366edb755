"""Read Hermes Agent's database, `~/.hermes/state.db`.

`docs/formats/hermes.md` documents the format.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leslied.agents._contract import BaseAdapter
from leslied.agents.hermes.feeds import FEEDS
from leslied.model.source import Pattern, Root, Shape, WatchDepth

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from leslied.agents._contract import AgentAdapter, Capability
    from leslied.model.record import DecodeResult
    from leslied.model.source import Environment, RawEntry
    from leslied.sessions.tools import ToolKind

DATABASE = Pattern(glob="state.db", shape=Shape.SQLITE, feeds=FEEDS)


class Hermes(BaseAdapter):
    """Adapter for Hermes Agent."""

    name = "hermes"
    title = "Hermes"
    decoder_version = 1
    verified = "0.19.0, 2026-11"
    has_mutable_entries = True
    env_vars = ("HERMES_HOME",)
    tools: Mapping[str, ToolKind] = {"terminal": "shell", "todo": "todos"}
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
        hermes_home = env.environ.get("HERMES_HOME", "").strip()
        default = Path(hermes_home) if hermes_home else env.home / ".hermes"
        for folder in list(configured) or [default]:
            yield Root(path=folder, patterns=(DATABASE,), watch=WatchDepth.FLAT)

    def decode(self, entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
        """Decode a message, the tokens of a model, or a session."""
        from leslied.agents.hermes import decode  # noqa: PLC0415 - only to decode

        return decode.decode_entry(entry, state)

    def resume_command(self, session_id: str) -> str:
        """Return the command to run in the session's own directory."""
        return f"hermes --resume {shlex.quote(session_id)}"


ADAPTER: AgentAdapter = Hermes()
