"""GitHub Copilot CLI: `~/.copilot/session-state`, one event log per session.

`docs/formats/copilot-cli.md` has the facts this room rests on.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leslied.agents._contract import BaseAdapter
from leslied.agents._parsing import printable_name
from leslied.agents.copilot_cli.decode import decode_line
from leslied.agents.copilot_cli.workspace import decode_workspace
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


class CopilotCli(BaseAdapter):
    """The adapter."""

    name = "copilot-cli"
    title = "Copilot CLI"
    decoder_version = 1
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
        """The `session-state` folder of every home Copilot CLI may use."""
        for folder in _folders(env, configured):
            yield Root(path=folder, patterns=PATTERNS)

    def decode(self, entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
        """The records of one event, or the title in a session's side file."""
        if entry.source.shape is Shape.DOCUMENT:
            return decode_workspace(entry, state)
        return decode_line(entry, state)

    def live_registries(
        self, env: Environment, configured: Sequence[Path]
    ) -> Iterable[ProcessRegistry]:
        """`inuse.<pid>.lock` in the folder of every session that is open."""
        for folder in _folders(env, configured):
            yield ProcessRegistry(folder, "*/inuse.*.lock")

    def parse_live_process(self, path: Path, data: bytes) -> LiveProcess | None:
        """The folder is the session, the name has the process."""
        del data
        _, _, number = path.name.removesuffix(".lock").partition("inuse.")
        if not (number.isascii() and number.isdecimal() and len(number) < 12):
            return None
        return LiveProcess(printable_name(path.parent.name), int(number))

    def resume_command(self, session_id: str) -> str:
        """Copilot CLI goes on from any folder."""
        return f"copilot --resume={shlex.quote(session_id)}"


def _folders(env: Environment, configured: Sequence[Path]) -> list[Path]:
    """What is configured, else `COPILOT_HOME`, else the usual home."""
    asked = env.environ.get("COPILOT_HOME", "").strip()
    homes = list(configured) or [Path(asked) if asked else env.home / ".copilot"]
    return [h if h.name == "session-state" else h / "session-state" for h in homes]


ADAPTER: AgentAdapter = CopilotCli()
