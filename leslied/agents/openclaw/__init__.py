"""Read OpenClaw's databases: `~/.openclaw/agents`, with Pi's events as rows.

`docs/formats/openclaw.md` documents the format.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from leslied.agents._contract import BaseAdapter
from leslied.agents.openclaw.feeds import FEEDS
from leslied.model.source import Pattern, Root, Shape

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from leslied.agents._contract import AgentAdapter, Capability
    from leslied.model.record import DecodeResult
    from leslied.model.source import Environment, RawEntry
    from leslied.sessions.tools import ToolKind

PATTERNS = (
    Pattern(glob="*/agent/openclaw-agent.sqlite", shape=Shape.SQLITE, feeds=FEEDS),
    # Older versions wrote the same events as lines.
    Pattern(glob="*/sessions/*.jsonl"),
)


class OpenClaw(BaseAdapter):
    """Adapter for OpenClaw."""

    name = "openclaw"
    title = "OpenClaw"
    decoder_version = 1
    verified = "2026.9.6, 2026-11"
    has_mutable_entries = True
    env_vars = ("OPENCLAW_STATE_DIR",)
    tools: Mapping[str, ToolKind] = {"exec": "shell"}
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
        """Return `agents` in `OPENCLAW_STATE_DIR` or `~/.openclaw`."""
        state_dir = env.environ.get("OPENCLAW_STATE_DIR", "").strip()
        folder = Path(state_dir) if state_dir else env.home / ".openclaw"
        for path in configured or [folder / "agents"]:
            yield Root(path=path, patterns=PATTERNS)

    def decode(self, entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
        """Decode an event, or the title of a session."""
        if entry.source.shape is Shape.SQLITE:
            from leslied.agents.openclaw import decode  # noqa: PLC0415 - only to decode

            return decode.decode_row(entry, state)
        from leslied.agents import _pi_events  # noqa: PLC0415 - only to decode

        return _pi_events.decode_line(entry, state)


ADAPTER: AgentAdapter = OpenClaw()
