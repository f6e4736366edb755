"""Read Pi's logs: `~/.pi/agent/sessions`, a tree of events per session.

`docs/formats/pi.md` documents the format.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leslied.agents._contract import BaseAdapter
from leslied.model.source import Pattern, Root

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from leslied.agents._contract import AgentAdapter, Capability
    from leslied.model.record import DecodeResult
    from leslied.model.source import Environment, RawEntry
    from leslied.sessions.tools import ToolKind


class Pi(BaseAdapter):
    """Adapter for Pi."""

    name = "pi"
    title = "Pi"
    decoder_version = 1
    verified = "0.87.1, 2026-11"
    env_vars = ("PI_CODING_AGENT_DIR",)
    tools: Mapping[str, ToolKind] = {"bash": "shell", "write": "write", "edit": "edit"}
    capabilities: frozenset[Capability] = frozenset(
        {"folder", "title", "model", "tokens", "thinking", "tools", "turn end"}
    )

    def roots(self, env: Environment, configured: Sequence[Path]) -> Iterable[Root]:
        """Return the configured folders.

        The default is `sessions` in `PI_CODING_AGENT_DIR` or `~/.pi/agent`.
        """
        agent_dir = env.environ.get("PI_CODING_AGENT_DIR", "").strip()
        folder = Path(agent_dir) if agent_dir else env.home / ".pi" / "agent"
        if agent_dir == "~" or agent_dir.startswith("~/"):
            folder = env.home / agent_dir[2:]
        for path in configured or [folder / "sessions"]:
            yield Root(path=path, patterns=(Pattern(glob="*/*.jsonl"),))

    def decode(self, entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
        """Decode one line."""
        from leslied.agents import _pi_events  # noqa: PLC0415 - only to decode

        return _pi_events.decode_line(entry, state)

    def resume_command(self, session_id: str) -> str:
        """Return the command, which works in the session's own directory."""
        return f"pi --session {shlex.quote(session_id)}"


ADAPTER: AgentAdapter = Pi()
