"""Read Continue's sessions: `~/.continue/sessions`, one document per session.

`docs/formats/continue-cli.md` documents the format.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leslied.agents._contract import BaseAdapter
from leslied.model.source import Pattern, Root, Shape, WatchDepth

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from leslied.agents._contract import AgentAdapter, Capability
    from leslied.model.record import DecodeResult
    from leslied.model.source import Environment, RawEntry
    from leslied.sessions.tools import ToolKind

# Only ids have a hyphen; `sessions.json` lists all sessions with their times.
PATTERNS = (
    Pattern(glob="*-*.json", shape=Shape.DOCUMENT, side_file="sessions.json#{}"),
)


class ContinueCli(BaseAdapter):
    """Adapter for Continue's command-line client `cn`, and its editor extensions."""

    name = "continue-cli"
    title = "Continue"
    decoder_version = 1
    verified = "1.5.47, 2026-11"
    env_vars = ("CONTINUE_GLOBAL_DIR",)
    has_mutable_entries = True
    tools: Mapping[str, ToolKind] = {
        "run_terminal_command": "shell",
        "create_new_file": "write",
        "edit_existing_file": "edit",
        "single_find_and_replace": "edit",
        "multi_edit": "edit",
    }
    capabilities: frozenset[Capability] = frozenset(
        {"folder", "title", "model", "tokens", "thinking", "tools", "turn end"}
    )

    def roots(self, env: Environment, configured: Sequence[Path]) -> Iterable[Root]:
        """Return the configured folders.

        The default is `sessions` in `CONTINUE_GLOBAL_DIR` or `~/.continue`.
        """
        global_dir = env.environ.get("CONTINUE_GLOBAL_DIR", "").strip()
        folder = Path(global_dir) if global_dir else env.home / ".continue"
        for path in configured or [folder / "sessions"]:
            yield Root(path=path, patterns=PATTERNS, watch=WatchDepth.FLAT)

    def decode(self, entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
        """Decode a session."""
        from leslied.agents.continue_cli import decode  # noqa: PLC0415 - only to decode

        return decode.decode_session(entry, state)

    def resume_command(self, session_id: str) -> str:
        """Return the command, which continues in a copy of the session."""
        return f"cn --fork {shlex.quote(session_id)}"


ADAPTER: AgentAdapter = ContinueCli()
