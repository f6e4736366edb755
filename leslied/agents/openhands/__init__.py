"""Read OpenHands' conversations: `~/.openhands/conversations`, one file for each event.

`docs/formats/openhands.md` documents the format.
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

CONVERSATION = Pattern(
    glob="*/base_state.json",
    shape=Shape.EVENT_TREE,
    child_folders=("events", "subagents"),
    members="**/*.json",
)


class OpenHands(BaseAdapter):
    """Adapter for OpenHands."""

    name = "openhands"
    title = "OpenHands"
    decoder_version = 1
    verified = "1.16.0, 2026-11"
    env_vars = ("OPENHANDS_CONVERSATIONS_DIR", "OPENHANDS_PERSISTENCE_DIR")
    tools: Mapping[str, ToolKind] = {
        "terminal": "shell",
        "file_editor": "editor",
        "planning_file_editor": "editor",
        "task_tracker": "todos",
    }
    capabilities: frozenset[Capability] = frozenset(
        {"folder", "model", "tokens", "thinking", "tools", "subagents", "turn end"}
    )

    def roots(self, env: Environment, configured: Sequence[Path]) -> Iterable[Root]:
        """Return the directory of the conversations."""
        for path in configured or [_default_folder(env.environ, env.home)]:
            yield Root(path=path, patterns=(CONVERSATION,))

    def decode(self, entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
        """Decode one event, or the state of a conversation."""
        from leslied.agents.openhands import decode  # noqa: PLC0415 - only to decode

        return decode.decode_entry(entry, state)

    def resume_command(self, session_id: str) -> str:
        """Return the command to run in the session's own directory."""
        return f"openhands --resume {shlex.quote(session_id)}"


def _default_folder(environ: Mapping[str, str], home: Path) -> Path:
    if folder := environ.get("OPENHANDS_CONVERSATIONS_DIR"):
        return Path(folder)
    return Path(environ.get("OPENHANDS_PERSISTENCE_DIR") or home / ".openhands") / (
        "conversations"
    )


ADAPTER: AgentAdapter = OpenHands()
