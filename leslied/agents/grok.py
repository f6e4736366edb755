"""Read Grok's logs: `~/.grok/sessions`, a stream of ACP updates per session.

`docs/formats/grok.md` documents the format.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leslied.agents._contract import BaseAdapter
from leslied.model.source import Pattern, Root, Shape

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from leslied.agents._contract import AgentAdapter, Capability
    from leslied.model.record import DecodeResult, Record
    from leslied.model.source import Environment, RawEntry, SourceRef
    from leslied.sessions.tools import ToolKind

LOG = "updates.jsonl"
_PLAN_FILE = re.compile(r".*/sessions/[^/]+/[^/]+/plan\.md")
# A subagent's own folder does not show that it is a subagent. The folder of the session
# that started it does.
LINK_FILE = "../*/subagents/{folder}/meta.json"
PATTERNS = (
    Pattern(glob=f"*/*/{LOG}", side_file=LINK_FILE),
    Pattern(glob="*/*/summary.json", shape=Shape.DOCUMENT),
)


class Grok(BaseAdapter):
    """Adapter for Grok."""

    name = "grok"
    title = "Grok"
    decoder_version = 1
    verified = "1.0.41, 2026-11"
    has_mutable_entries = True
    env_vars = ("GROK_HOME",)
    tools: Mapping[str, ToolKind] = {
        "run_terminal_command": "shell",
        "run_terminal_cmd": "shell",
        "write": "write",
        "search_replace": "edit",
        "hashline_edit": "edit",
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
        """Return the configured folders.

        The default is `sessions` in `GROK_HOME` or `~/.grok`.
        """
        folder = Path(env.environ.get("GROK_HOME") or env.home / ".grok")
        for path in configured or [folder / "sessions"]:
            yield Root(path=path, patterns=PATTERNS)

    def decode(self, entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
        """Decode one update, or a session's summary."""
        from leslied.agents import _grok_lines  # noqa: PLC0415 - only to decode

        if entry.source.shape is Shape.DOCUMENT:
            return _grok_lines.decode_summary(entry)
        return _grok_lines.decode_line(entry, state)

    def find_spill_file(self, record: Record, source: SourceRef) -> Path | None:
        """Return `terminal/<call>.log`, the complete output of a command, or None."""
        spill_path = record.metadata.get("spill")
        if not isinstance(spill_path, str) or record.type != "tool_result":
            return None
        file_name = spill_path.rpartition("/")[2]
        if not file_name or file_name.startswith("."):
            return None
        return source.path.parent / "terminal" / file_name

    def find_main_log(self, source: SourceRef) -> Path | None:
        """Return the log that a summary belongs to; None if the source is a log."""
        return None if source.path.name == LOG else source.path.with_name(LOG)

    def is_plan_file(self, path: str) -> bool:
        """Return whether the file is the plan in a session's folder."""
        return _PLAN_FILE.fullmatch(path) is not None

    def resume_command(self, session_id: str) -> str:
        """Return the command, which works in the session's own directory."""
        return f"grok --resume {shlex.quote(session_id)}"


ADAPTER: AgentAdapter = Grok()
