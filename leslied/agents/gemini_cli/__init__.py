"""Gemini CLI: `~/.gemini/tmp/<project>/chats`, a log that is replayed to be read.

`docs/formats/gemini-cli.md` has the facts this room rests on.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leslied.agents._contract import BaseAdapter
from leslied.agents.gemini_cli.decode import decode_document, decode_line
from leslied.model.source import Pattern, Root, Shape

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from leslied.agents._contract import AgentAdapter, Capability
    from leslied.model.record import DecodeResult
    from leslied.model.source import Environment, RawEntry

MARKER = ".project_root"
"""The file that says which folder a project's logs are about."""

PATTERNS = (
    Pattern(glob="*/chats/session-*.jsonl", side_file=f"../{MARKER}"),
    Pattern(
        glob="*/chats/session-*.json", shape=Shape.DOCUMENT, side_file=f"../{MARKER}"
    ),
    Pattern(glob="*/chats/*/*.jsonl", side_file=f"../../{MARKER}"),
)


class GeminiCli(BaseAdapter):
    """The adapter."""

    name = "gemini-cli"
    title = "Gemini CLI"
    decoder_version = 1
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
        """The `tmp` folder of Gemini's home: that is where its sessions are."""
        for folder in list(configured) or [_default_folder(env)]:
            path = folder if folder.name == "tmp" else folder / "tmp"
            yield Root(path=path, patterns=PATTERNS)

    def decode(self, entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
        """The records of one line, or of a session in the older, single document."""
        if entry.source.shape is Shape.DOCUMENT:
            return decode_document(entry, state)
        return decode_line(entry, state)

    def resume_command(self, session_id: str) -> str:
        """Gemini goes on in the session's own folder only."""
        return f"gemini --resume {shlex.quote(session_id)}"


def _default_folder(env: Environment) -> Path:
    """`GEMINI_CLI_HOME` stands for the home folder, not for `.gemini` in it."""
    asked = env.environ.get("GEMINI_CLI_HOME", "").strip()
    return (Path(asked) if asked else env.home) / ".gemini"


ADAPTER: AgentAdapter = GeminiCli()
