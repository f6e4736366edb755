"""Read OpenClaude's logs: Claude Code's format in `~/.openclaude/projects`.

`docs/formats/openclaude.md` documents the differences.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from leslied.agents.claude_code import PATTERNS, ClaudeCode
from leslied.model.source import Root

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from leslied.agents._contract import AgentAdapter, Capability
    from leslied.model.session import ProcessRegistry
    from leslied.model.source import Environment


class OpenClaude(ClaudeCode):
    """Adapter for OpenClaude."""

    name = "openclaude"
    title = "OpenClaude"
    decoder_version = ClaudeCode.decoder_version
    verified = ""
    env_vars = ("OPENCLAUDE_CONFIG_DIR",)
    registered_entrypoints: frozenset[str] = frozenset()
    reports_activity = False
    capabilities: frozenset[Capability] = ClaudeCode.capabilities - {"live"}

    def roots(self, env: Environment, configured: Sequence[Path]) -> Iterable[Root]:
        """Return `projects` in `OPENCLAUDE_CONFIG_DIR` or `~/.openclaude`."""
        folder = env.environ.get("OPENCLAUDE_CONFIG_DIR") or env.home / ".openclaude"
        for path in configured or [Path(folder)]:
            projects = path if path.name == "projects" else path / "projects"
            yield Root(path=projects, patterns=PATTERNS)

    def live_registries(
        self, env: Environment, configured: Sequence[Path]
    ) -> Iterable[ProcessRegistry]:
        """Return nothing: the client is not known to list its processes."""
        del env, configured
        return ()

    def is_plan_file(self, path: str) -> bool:
        """Return whether the file is in a folder of the plan mode."""
        return "/.openclaude/plans/" in path and path.endswith(".md")

    def resume_command(self, session_id: str) -> str:
        """Return the command, which works only in the session's own directory."""
        return f"openclaude --resume {shlex.quote(session_id)}"


ADAPTER: AgentAdapter = OpenClaude()
