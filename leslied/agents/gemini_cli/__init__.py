"""Read Gemini CLI's logs: `~/.gemini/tmp/<project>/chats`, logs of message updates.

`docs/formats/gemini-cli.md` documents the format.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leslied.agents._contract import BaseAdapter
from leslied.model.source import Pattern, Root, Shape

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from leslied.agents._contract import AgentAdapter, Capability
    from leslied.model.record import DecodeResult
    from leslied.model.source import Environment, RawEntry

MARKER = ".project_root"
"""Name of the file next to `chats` that contains the path of the project."""

PATTERNS = (
    Pattern(glob="*/chats/session-*.jsonl", side_file=f"../{MARKER}"),
    Pattern(
        glob="*/chats/session-*.json", shape=Shape.DOCUMENT, side_file=f"../{MARKER}"
    ),
    Pattern(glob="*/chats/*/*.jsonl", side_file=f"../../{MARKER}"),
)


class GeminiCli(BaseAdapter):
    """Adapter for Gemini CLI."""

    name = "gemini-cli"
    title = "Gemini CLI"
    decoder_version = 2
    verified = "0.61.0, 2026-11"
    env_vars = ("GEMINI_CLI_HOME",)
    has_mutable_entries = True
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
        """Return the `tmp` directory of every home in use; it contains the sessions."""
        for folder in list(configured) or [_default_folder(env)]:
            path = folder if folder.name == "tmp" else folder / "tmp"
            yield Root(path=path, patterns=PATTERNS)

    def decode(self, entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
        """Decode one line, or a session document of older versions."""
        from leslied.agents.gemini_cli import decode  # noqa: PLC0415 - only to decode

        if entry.source.shape is Shape.DOCUMENT:
            return decode.decode_document(entry, state)
        return decode.decode_line(entry, state)

    def resume_command(self, session_id: str) -> str:
        """Return the command, which works only in the session's own directory."""
        return f"gemini --resume {shlex.quote(session_id)}"


def _default_folder(env: Environment) -> Path:
    """Return `.gemini` in `GEMINI_CLI_HOME` or in the home directory."""
    gemini_home = env.environ.get("GEMINI_CLI_HOME", "").strip()
    return (Path(gemini_home) if gemini_home else env.home) / ".gemini"


ADAPTER: AgentAdapter = GeminiCli()
