"""Read gptme's logs: `~/.local/share/gptme/logs`, one directory per conversation.

`docs/formats/gptme.md` documents the format.
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

PATTERNS = (
    # The settings name the working directory; the client writes them first.
    Pattern(glob="*/conversation.jsonl", side_file="config.toml"),
    Pattern(glob="*/config.toml", shape=Shape.DOCUMENT),
)


class Gptme(BaseAdapter):
    """Adapter for gptme."""

    name = "gptme"
    title = "gptme"
    decoder_version = 1
    verified = "0.35.1, 2026-11"
    has_mutable_entries = True
    env_vars = ("GPTME_LOGS_HOME", "XDG_DATA_HOME")
    tools: Mapping[str, ToolKind] = {"save": "write", "append": "edit"}
    capabilities: frozenset[Capability] = frozenset(
        {"folder", "title", "model", "tokens", "thinking", "tools", "turn end"}
    )

    def roots(self, env: Environment, configured: Sequence[Path]) -> Iterable[Root]:
        """Return `GPTME_LOGS_HOME`, or `gptme/logs` in the data directories."""
        for path in configured or _default_folders(env):
            yield Root(path=path, patterns=PATTERNS)

    def decode(self, entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
        """Decode one message, or the settings of a conversation."""
        from leslied.agents.gptme import messages  # noqa: PLC0415 - only to decode

        if entry.source.shape is Shape.DOCUMENT:
            return messages.decode_settings(entry)
        return messages.decode_line(entry, state)

    def resume_command(self, session_id: str) -> str:
        """Return the command; a conversation is named like its directory."""
        return f"gptme --name {shlex.quote(session_id)}"


def _default_folders(env: Environment) -> list[Path]:
    names = ("GPTME_LOGS_HOME", "XDG_DATA_HOME")
    logs, data = (env.environ.get(name, "") for name in names)
    if logs:
        return [Path(logs)]
    folders = [Path(data) if data else env.home / ".local" / "share"]
    if env.platform == "darwin" and not data:
        folders.append(env.home / "Library" / "Application Support")
    return [folder / "gptme" / "logs" for folder in folders]


ADAPTER: AgentAdapter = Gptme()
