"""Read the sessions of Kiro's command line: `~/.kiro/sessions`.

`docs/formats/kiro.md` documents the format.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from leslied.agents._contract import BaseAdapter
from leslied.model.source import Pattern, Root

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from leslied.agents._contract import AgentAdapter, Capability
    from leslied.model.record import DecodeResult
    from leslied.model.source import Environment, RawEntry
    from leslied.sessions.tools import ToolKind

SESSIONS = (
    Pattern(glob="cli/*.jsonl", side_file="{}.json"),
    Pattern(glob="*/sess_*/messages.jsonl", side_file="session.json"),
)


class Kiro(BaseAdapter):
    """Adapter for Kiro's command line, based on other programs that read its files."""

    name = "kiro"
    title = "Kiro CLI"
    decoder_version = 1
    tools: Mapping[str, ToolKind] = {"execute_bash": "shell", "fs_write": "editor"}
    capabilities: frozenset[Capability] = frozenset(
        {"folder", "title", "model", "tools", "turn end"}
    )

    def roots(self, env: Environment, configured: Sequence[Path]) -> Iterable[Root]:
        """Return the configured folders, or `~/.kiro/sessions`."""
        for path in configured or [env.home / ".kiro" / "sessions"]:
            yield Root(path=path, patterns=SESSIONS)

    def decode(self, entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
        """Decode one line."""
        from leslied.agents import _kiro_lines  # noqa: PLC0415 - only to decode

        return _kiro_lines.decode_line(entry, state)

    def resume_command(self, session_id: str) -> str:
        """Return the command that resumes a session."""
        return f"kiro-cli chat --resume-id {shlex.quote(session_id)}"


ADAPTER: AgentAdapter = Kiro()
