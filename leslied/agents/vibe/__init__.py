"""Read Mistral Vibe's sessions: `~/.vibe/logs/session/unified`.

`docs/formats/vibe.md` documents the format.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leslied.agents._contract import BaseAdapter
from leslied.model.source import Pattern, Root, Shape

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from leslied.agents._contract import AgentAdapter, Capability
    from leslied.model.record import DecodeResult
    from leslied.model.source import Environment, RawEntry
    from leslied.sessions.tools import ToolKind

SESSION = Pattern(
    glob="*/CURRENT", shape=Shape.CHECKPOINT_STORE, members="journal/*.jsonl"
)


class Vibe(BaseAdapter):
    """Adapter for Mistral Vibe."""

    name = "vibe"
    title = "Mistral Vibe"
    decoder_version = 1
    verified = "3.0.3, 2026-11"
    has_mutable_entries = True
    env_vars = ("VIBE_HOME",)
    tools: Mapping[str, ToolKind] = {
        "search_replace": "edit",
        "file_system.search_replace": "edit",
        "file_system.write_file": "write",
        "file_system.bash": "shell",
        "process.start": "shell",
        "todo": "todos",
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
        """Return `logs/session/unified` in `VIBE_HOME` or `.vibe`."""
        home = Path(env.environ.get("VIBE_HOME") or env.home / ".vibe")
        for path in configured or [home / "logs" / "session" / "unified"]:
            yield Root(path=path, patterns=(SESSION,))

    def decode(self, entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
        """Decode an entry of the history, a record of the journal, or a state."""
        from leslied.agents.vibe import decode  # noqa: PLC0415 - only to decode

        return decode.decode_entry(entry, state)

    def resume_command(self, session_id: str) -> str:
        """Return the command to run in the session's own directory."""
        return f"vibe --resume {shlex.quote(session_id)}"


ADAPTER: AgentAdapter = Vibe()
