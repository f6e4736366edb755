"""Claude Code: `~/.claude/projects`, with subagents in three layouts.

`docs/formats/claude-code.md` has the facts this room rests on.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leslied.agents._contract import BaseAdapter
from leslied.agents._parsing import parse_object
from leslied.agents.claude_code.decode import decode_line, decode_meta
from leslied.errors import DecodeError
from leslied.model.session import LiveProcess, ProcessRegistry
from leslied.model.source import Pattern, Root, Shape

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from leslied.agents._contract import AgentAdapter, Capability
    from leslied.model.record import DecodeResult, Record
    from leslied.model.source import Environment, RawEntry, SourceRef

PATTERNS = (
    Pattern(glob="*/*.jsonl"),
    Pattern(glob="*/transcripts/*.jsonl"),
    Pattern(glob="*/*/subagents/**/agent-*.jsonl"),
    Pattern(glob="*/*/subagents/**/agent-*.meta.json", shape=Shape.DOCUMENT),
)
_MOST_DIGITS = 20


class ClaudeCode(BaseAdapter):
    """The adapter."""

    name = "claude-code"
    title = "Claude Code"
    decoder_version = 1
    env_vars = ("CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME")
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
            "live",
        }
    )

    def roots(self, env: Environment, configured: Sequence[Path]) -> Iterable[Root]:
        """The `projects` folder of every config folder Claude Code may use."""
        folders = list(configured) or _default_folders(env)
        for folder in folders:
            path = folder if folder.name == "projects" else folder / "projects"
            yield Root(path=path, patterns=PATTERNS)

    def decode(self, entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
        """The records of one line, or of a subagent's side file."""
        if entry.source.shape is Shape.DOCUMENT:
            return decode_meta(entry, state)
        return decode_line(entry, state)

    def live_registries(
        self, env: Environment, configured: Sequence[Path]
    ) -> Iterable[ProcessRegistry]:
        """`sessions/<pid>.json` in every config folder."""
        for folder in list(configured) or _default_folders(env):
            home = folder.parent if folder.name == "projects" else folder
            yield ProcessRegistry(home / "sessions", "*.json")

    def parse_live_process(self, path: Path, data: bytes) -> LiveProcess | None:
        """The session a process works on; it may change while the process lives."""
        del path
        try:
            told = parse_object(data)
        except DecodeError:
            return None
        session_id, pid, start = (
            told.get(n) for n in ("sessionId", "pid", "procStart")
        )
        if not isinstance(session_id, str) or not isinstance(pid, int):
            return None
        # Python refuses to convert thousands of digits; no machine runs for so long.
        is_ticks = str(start).isdecimal() and len(str(start)) <= _MOST_DIGITS
        ticks = int(str(start)) if is_ticks else None
        return LiveProcess(session_id, pid, ticks)

    def find_spill_file(self, record: Record, source: SourceRef) -> Path | None:
        """`<session>/tool-results/<name>`, whatever folder the log names."""
        named = record.metadata.get("spill")
        if not isinstance(named, str) or record.type != "tool_result":
            return None
        *_, session, folder, name = ["", "", *named.replace("\\", "/").split("/")]
        if folder != "tool-results" or session[:1] in ("", "."):
            session = record.session.session_id
        if not name or name.startswith("."):
            return None
        # Whatever folder the log names, only this project's own is looked into: a
        # fork's line names the session that ran the tool.
        return source.root / source.parts[0] / session / "tool-results" / name

    def find_main_log(self, source: SourceRef) -> Path | None:
        """Return `<project>/<session>.jsonl` for the files in `<session>/subagents`."""
        project, *folders, _ = source.parts
        if "subagents" not in folders[1:]:
            return None
        return source.root / project / f"{folders[0]}.jsonl"

    def resume_command(self, session_id: str) -> str:
        """Claude Code goes on in the session's own folder only."""
        return f"claude --resume {shlex.quote(session_id)}"


def _default_folders(env: Environment) -> list[Path]:
    """`CLAUDE_CONFIG_DIR` (a comma list is taken), else both homes it has had."""
    asked = env.environ.get("CLAUDE_CONFIG_DIR", "")
    if asked.strip():
        return [Path(part.strip()) for part in asked.split(",") if part.strip()]
    config = env.environ.get("XDG_CONFIG_HOME") or env.home / ".config"
    return [env.home / ".claude", Path(config) / "claude"]


ADAPTER: AgentAdapter = ClaudeCode()
