"""Read Droid's logs: `~/.factory/sessions`, lines with blocks of the Anthropic API.

`docs/formats/droid.md` documents the format.
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
    from leslied.model.source import Environment, RawEntry, SourceRef
    from leslied.sessions.tools import ToolKind

SETTINGS_SUFFIX = ".settings.json"
PATTERNS = (
    Pattern(glob="*/*.jsonl"),
    # The log's first line says whether the settings are those of a subagent.
    Pattern(glob=f"*/*{SETTINGS_SUFFIX}", shape=Shape.DOCUMENT, side_file="{}.jsonl"),
)


class Droid(BaseAdapter):
    """Adapter for Droid."""

    name = "droid"
    title = "Droid"
    decoder_version = 2
    verified = "0.225.2, 2026-11"
    has_mutable_entries = True
    env_vars = ("FACTORY_HOME_OVERRIDE",)
    tools: Mapping[str, ToolKind] = {
        "Execute": "shell",
        "Create": "write",
        "ApplyPatch": "patch",
        "ExitSpecMode": "plan",
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
        """Return `.factory/sessions` in `FACTORY_HOME_OVERRIDE` or the home."""
        home = Path(env.environ.get("FACTORY_HOME_OVERRIDE") or env.home)
        for path in configured or [home / ".factory" / "sessions"]:
            yield Root(path=path, patterns=PATTERNS)

    def decode(self, entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
        """Decode one line, or a session's settings."""
        from leslied.agents import _droid_lines  # noqa: PLC0415 - only to decode

        if entry.source.shape is Shape.DOCUMENT:
            return _droid_lines.decode_settings(entry, state)
        return _droid_lines.decode_line(entry, state)

    def find_main_log(self, source: SourceRef) -> Path | None:
        """Return the log that a settings file belongs to; None for a log."""
        name = source.path.name
        if not name.endswith(SETTINGS_SUFFIX):
            return None
        return source.path.with_name(name.removesuffix(SETTINGS_SUFFIX) + ".jsonl")

    def resume_command(self, session_id: str) -> str:
        """Return the command, which works in the session's own directory."""
        return f"droid --resume {shlex.quote(session_id)}"


ADAPTER: AgentAdapter = Droid()
