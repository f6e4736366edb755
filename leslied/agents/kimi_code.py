"""Read Kimi Code's logs: `~/.kimi-code/sessions`, a log for each agent of a session.

`docs/formats/kimi-code.md` documents the format.
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
    from leslied.model.record import DecodeResult
    from leslied.model.source import Environment, RawEntry
    from leslied.sessions.tools import ToolKind

_PLAN_FILE = re.compile(r".*/sessions/[^/]+/[^/]+/agents/[^/]+/plans/[^/]+\.md")
PATTERNS = (
    # The log names the working directory only after its first lines.
    Pattern(glob="*/*/agents/*/wire.jsonl", side_file="../../state.json"),
    Pattern(glob="*/*/state.json", shape=Shape.DOCUMENT),
)


class KimiCode(BaseAdapter):
    """Adapter for Kimi Code."""

    name = "kimi-code"
    title = "Kimi Code"
    decoder_version = 1
    verified = "2.1.0, 2026-11"
    env_vars = ("KIMI_CODE_HOME",)
    tools: Mapping[str, ToolKind] = {"TodoList": "todos"}
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

        The default is `sessions` in `KIMI_CODE_HOME` or `~/.kimi-code`.
        """
        folder = Path(env.environ.get("KIMI_CODE_HOME") or env.home / ".kimi-code")
        for path in configured or [folder / "sessions"]:
            yield Root(path=path, patterns=PATTERNS)

    def decode(self, entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
        """Decode one line, or a session's state."""
        from leslied.agents import _kimi_lines  # noqa: PLC0415 - only to decode

        if entry.source.shape is Shape.DOCUMENT:
            return _kimi_lines.decode_state(entry)
        return _kimi_lines.decode_line(entry, state)

    def is_plan_file(self, path: str) -> bool:
        """Return whether the file is in the folder of an agent's plans."""
        return _PLAN_FILE.fullmatch(path) is not None

    def resume_command(self, session_id: str) -> str:
        """Return the command, which works in the session's own directory."""
        return f"kimi --session {shlex.quote(session_id)}"


ADAPTER: AgentAdapter = KimiCode()
