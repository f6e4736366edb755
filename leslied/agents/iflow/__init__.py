"""Read iFlow's logs: lines like Claude Code's, with tool results of the Gemini API.

`docs/formats/iflow.md` documents the differences.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from leslied.agents.claude_code import ClaudeCode
from leslied.model.source import Pattern, Root

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from leslied.agents._contract import AgentAdapter, Capability
    from leslied.model.record import DecodeResult
    from leslied.model.session import ProcessRegistry
    from leslied.model.source import Environment, RawEntry

PATTERNS = (Pattern(glob="*/session-*.jsonl"),)


class IFlow(ClaudeCode):
    """Adapter for iFlow."""

    name = "iflow"
    title = "iFlow"
    decoder_version = ClaudeCode.decoder_version
    verified = ""
    env_vars = ()
    registered_entrypoints: frozenset[str] = frozenset()
    reports_activity = False
    capabilities: frozenset[Capability] = frozenset(
        {"folder", "model", "tokens", "tools"}
    )

    def roots(self, env: Environment, configured: Sequence[Path]) -> Iterable[Root]:
        """Return `~/.iflow/projects`."""
        for path in configured or [env.home / ".iflow" / "projects"]:
            yield Root(path=path, patterns=PATTERNS)

    def decode(self, entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
        """Decode one line."""
        from leslied.agents.iflow import results  # noqa: PLC0415 - only to decode

        return super().decode(results.simplify_results(entry), state)

    def live_registries(
        self, env: Environment, configured: Sequence[Path]
    ) -> Iterable[ProcessRegistry]:
        """Return no files: none names the agent's processes."""
        del env, configured
        return ()

    def is_plan_file(self, path: str) -> bool:
        """Return False: plans are only in the log."""
        del path
        return False

    def resume_command(self, session_id: str) -> str:
        """Return the command, which works only in the session's own directory."""
        return f"iflow --resume {shlex.quote(session_id)}"


ADAPTER: AgentAdapter = IFlow()
