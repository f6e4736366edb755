"""Read GitHub Copilot CLI's logs: `~/.copilot/session-state`, one per session.

`docs/formats/copilot-cli.md` documents the format.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leslied.agents._contract import BaseAdapter
from leslied.agents._parsing import printable_name
from leslied.model.session import LiveProcess, ProcessRegistry
from leslied.model.source import Pattern, Root, Shape

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from leslied.agents._contract import AgentAdapter, Capability
    from leslied.model.record import DecodeResult
    from leslied.model.source import Environment, RawEntry

PATTERNS = (
    Pattern(glob="*/events.jsonl"),
    Pattern(glob="*.jsonl"),
    Pattern(glob="*/workspace.yaml", shape=Shape.DOCUMENT),
)
_MAX_PID_DIGITS = 11
"""Python refuses to convert thousands of digits; no pid has this many."""


class CopilotCli(BaseAdapter):
    """Adapter for GitHub Copilot CLI."""

    name = "copilot-cli"
    title = "Copilot CLI"
    decoder_version = 2
    verified = "1.0.102, 2026-11"
    env_vars = ("COPILOT_HOME",)
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
        """Return the `session-state` directory of every home directory in use."""
        for folder in _folders(env, configured):
            yield Root(path=folder, patterns=PATTERNS)

    def decode(self, entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
        """Decode one line, or the title in a session's `workspace.yaml`."""
        from leslied.agents.copilot_cli import (  # noqa: PLC0415 - only to decode
            decode,
            workspace,
        )

        if entry.source.shape is Shape.DOCUMENT:
            return workspace.decode_workspace(entry, state)
        return decode.decode_line(entry, state)

    def live_registries(
        self, env: Environment, configured: Sequence[Path]
    ) -> Iterable[ProcessRegistry]:
        """Yield where the files `inuse.<pid>.lock` of open sessions are."""
        for folder in _folders(env, configured):
            yield ProcessRegistry(folder, "*/inuse.*.lock")

    def parse_live_process(self, path: Path, data: bytes) -> LiveProcess | None:
        """Return the session and pid in a lock file's path, or None without a pid."""
        del data
        _, _, pid = path.name.removesuffix(".lock").partition("inuse.")
        if not (pid.isascii() and pid.isdecimal() and len(pid) <= _MAX_PID_DIGITS):
            return None
        return LiveProcess(printable_name(path.parent.name), int(pid))

    def resume_command(self, session_id: str) -> str:
        """Return the command, which works in any directory."""
        return f"copilot --resume={shlex.quote(session_id)}"


def _folders(env: Environment, configured: Sequence[Path]) -> list[Path]:
    """Return `session-state` in the configured homes, `COPILOT_HOME` or the default."""
    copilot_home = env.environ.get("COPILOT_HOME", "").strip()
    homes = list(configured) or [
        Path(copilot_home) if copilot_home else env.home / ".copilot"
    ]
    return [
        home if home.name == "session-state" else home / "session-state"
        for home in homes
    ]


ADAPTER: AgentAdapter = CopilotCli()
