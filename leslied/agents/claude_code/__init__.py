"""Read Claude Code's logs: `~/.claude/projects`, with three layouts for subagents.

`docs/formats/claude-code.md` documents the format.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leslied.agents._contract import BaseAdapter
from leslied.agents._parsing import parse_object
from leslied.errors import DecodeError
from leslied.model.session import Activity, LiveProcess, ProcessRegistry
from leslied.model.source import Pattern, Root, Shape

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from leslied.agents._contract import AgentAdapter, Capability
    from leslied.model.record import DecodeResult, Record
    from leslied.model.source import Environment, RawEntry, SourceRef

PATTERNS = (
    Pattern(glob="*/*.jsonl"),
    Pattern(glob="*/transcripts/*.jsonl"),
    Pattern(glob="*/*/subagents/**/agent-*.jsonl"),
    Pattern(glob="*/*/subagents/**/agent-*.meta.json", shape=Shape.DOCUMENT),
)
_PLAN_FILE = re.compile(r".*/\.claude/plans/[^/]+\.md", re.DOTALL)
"""Paths of the files in which the plan mode keeps its plans."""
_MAX_TIME_MS = 2**43
"""A time in the year 2248; a larger number is corrupt, not a time."""
_MAX_TICKS_DIGITS = 20
"""Python refuses to convert thousands of digits; no uptime has that many."""


class ClaudeCode(BaseAdapter):
    """Adapter for Claude Code."""

    name = "claude-code"
    title = "Claude Code"
    decoder_version = 2
    verified = "2.1.325, 2026-11"
    env_vars: tuple[str, ...] = ("CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME")
    # `claude -p`; seen to register in 2.1.197 and 2.1.325. 2.0.76 has no registry.
    registered_entrypoints = frozenset({"sdk-cli"})
    reports_activity = True
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
        """Return the `projects` directory of every config directory in use."""
        folders = list(configured) or _default_folders(env)
        for folder in folders:
            path = folder if folder.name == "projects" else folder / "projects"
            yield Root(path=path, patterns=PATTERNS)

    def decode(self, entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
        """Decode one line, or a subagent's metadata file."""
        from leslied.agents.claude_code import decode  # noqa: PLC0415 - only to decode

        if entry.source.shape is Shape.DOCUMENT:
            return decode.decode_meta(entry, state)
        return decode.decode_line(entry, state)

    def live_registries(
        self, env: Environment, configured: Sequence[Path]
    ) -> Iterable[ProcessRegistry]:
        """Return `sessions/<pid>.json` in every config directory."""
        for folder in list(configured) or _default_folders(env):
            home = folder.parent if folder.name == "projects" else folder
            yield ProcessRegistry(home / "sessions", "*.json")

    def parse_live_process(self, path: Path, data: bytes) -> LiveProcess | None:
        """Return the process and its current session, or None for a malformed file."""
        del path
        try:
            fields = parse_object(data)
        except DecodeError:
            return None
        session_id, pid = fields.get("sessionId"), fields.get("pid")
        start = str(fields.get("procStart"))
        if not isinstance(session_id, str) or not isinstance(pid, int):
            return None
        is_ticks = start.isdecimal() and len(start) <= _MAX_TICKS_DIGITS
        ticks = int(start) if is_ticks else None
        return LiveProcess(session_id, pid, ticks, _find_activity(fields))

    def find_spill_file(self, record: Record, source: SourceRef) -> Path | None:
        """Return `<session>/tool-results/<file>` in the source's project, or None."""
        spill_path = record.metadata.get("spill")
        if not isinstance(spill_path, str) or record.type != "tool_result":
            return None
        # The empty names pad a path that has fewer than three parts.
        path_parts = ["", "", *spill_path.replace("\\", "/").split("/")]
        session_id, folder, file_name = path_parts[-3:]
        if folder != "tool-results" or session_id[:1] in ("", "."):
            session_id = record.session.session_id
        if not file_name or file_name.startswith("."):
            return None
        # Only this project's directory is read, whatever path the log names. The path
        # may name another session: a fork's copy of a line names the session that ran
        # the tool.
        return source.root / source.parts[0] / session_id / "tool-results" / file_name

    def find_main_log(self, source: SourceRef) -> Path | None:
        """Return `<session>.jsonl` for a file in `<session>/subagents`, or None."""
        project, *folders, _ = source.parts
        if "subagents" not in folders[1:]:
            return None
        return source.root / project / f"{folders[0]}.jsonl"

    def is_plan_file(self, path: str) -> bool:
        """Return whether the file is in a folder of the plan mode."""
        return _PLAN_FILE.fullmatch(path) is not None

    def resume_command(self, session_id: str) -> str:
        """Return the command, which works only in the session's own directory."""
        return f"claude --resume {shlex.quote(session_id)}"


def _find_activity(fields: Mapping[str, Any]) -> Activity | None:
    """Return the activity that a process reports, or None if it reports none."""
    status, changed_ms = fields.get("status"), fields.get("statusUpdatedAt")
    since_us = 0
    if isinstance(changed_ms, int) and 0 <= changed_ms < _MAX_TIME_MS:
        since_us = changed_ms * 1000
    if status in ("busy", "idle"):
        return Activity(status, since_us)
    if status != "waiting":
        return None
    # `waitingFor` is "permission prompt", also for a plan, or "input needed".
    is_permission = "permission" in str(fields.get("waitingFor"))
    return Activity("permission" if is_permission else "question", since_us)


def _default_folders(env: Environment) -> list[Path]:
    """Return the directories that `CLAUDE_CONFIG_DIR` lists, or both defaults."""
    configured = env.environ.get("CLAUDE_CONFIG_DIR", "")
    if configured.strip():
        return [Path(part.strip()) for part in configured.split(",") if part.strip()]
    config = env.environ.get("XDG_CONFIG_HOME") or env.home / ".config"
    return [env.home / ".claude", Path(config) / "claude"]


ADAPTER: AgentAdapter = ClaudeCode()
