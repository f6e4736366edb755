"""Read Cursor's transcripts: `~/.cursor/projects/*/agent-transcripts`.

`docs/formats/cursor.md` documents the format.
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

_FOLDER = "*/agent-transcripts"
_MARKER = ".workspace-trusted"
"""The file that contains a project's path, in Cursor's folder for that project."""
TRANSCRIPTS = (
    Pattern(glob=f"{_FOLDER}/*.jsonl", side_file=f"../{_MARKER}"),
    Pattern(glob=f"{_FOLDER}/*/*.jsonl", side_file=f"../../{_MARKER}"),
    Pattern(glob=f"{_FOLDER}/*/subagents/*.jsonl", side_file=f"../../../{_MARKER}"),
)


class CursorEditor(BaseAdapter):
    """Adapter for Cursor's editor and command line.

    It is based on other programs that read the transcripts.
    """

    name = "cursor"
    title = "Cursor"
    decoder_version = 1
    has_mutable_entries = True
    tools: Mapping[str, ToolKind] = {
        "Shell": "shell",
        "StrReplace": "edit",
        "TodoWrite": "todos",
    }
    capabilities: frozenset[Capability] = frozenset(
        {"folder", "tools", "subagents", "turn end"}
    )

    def roots(self, env: Environment, configured: Sequence[Path]) -> Iterable[Root]:
        """Return `~/.cursor/projects`."""
        for path in configured or [env.home / ".cursor" / "projects"]:
            yield Root(path=path, patterns=TRANSCRIPTS)

    def decode(self, entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
        """Decode one line."""
        from leslied.agents import _cursor_lines  # noqa: PLC0415 - only to decode

        return _cursor_lines.decode_line(entry, state)

    def resume_command(self, session_id: str) -> str:
        """Return the command, which works for sessions of Cursor's command line."""
        return f"cursor-agent --resume={shlex.quote(session_id)}"


ADAPTER: AgentAdapter = CursorEditor()
