"""Read Codex's logs: `~/.codex/sessions`, one rollout file per thread.

In this package, a thread is what Codex calls a thread: one session or subagent.
`docs/formats/codex.md` documents the format.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leslied.agents._contract import BaseAdapter
from leslied.agents._parsing import printable_name
from leslied.model.session import LiveProcess, ProcessRegistry
from leslied.model.source import Pattern, Root, Shape, WatchDepth

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from leslied.agents._contract import AgentAdapter, Capability
    from leslied.model.record import DecodeResult
    from leslied.model.source import Environment, RawEntry

_LOG_FOLDERS = ("sessions", "archived_sessions")
_CURRENT_PATTERNS = (
    Pattern(glob="**/rollout-*.jsonl"),
    Pattern(glob="**/rollout-*.jsonl.zst", shape=Shape.COMPRESSED_LOG),
    Pattern(glob="rollout-*.json", shape=Shape.DOCUMENT),
)
_ARCHIVED_PATTERNS = (
    Pattern(glob="rollout-*.jsonl"),
    Pattern(glob="rollout-*.jsonl.zst", shape=Shape.COMPRESSED_LOG),
)


class Codex(BaseAdapter):
    """Adapter for Codex."""

    name = "codex"
    title = "Codex"
    decoder_version = 2
    verified = "0.166.0, 2026-11"
    env_vars = ("CODEX_HOME",)
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
        """Return the directories of current and archived threads."""
        for home in _homes(env, configured):
            yield Root(path=home / "sessions", patterns=_CURRENT_PATTERNS)
            yield Root(
                path=home / "archived_sessions",
                patterns=_ARCHIVED_PATTERNS,
                watch=WatchDepth.FLAT,
            )

    def decode(self, entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
        """Decode one line, or a whole rollout of the old format."""
        from leslied.agents.codex import decode  # noqa: PLC0415 - only to decode

        if entry.source.shape is Shape.DOCUMENT:
            return decode.decode_document(entry, state)
        return decode.decode_line(entry, state)

    def live_registries(
        self, env: Environment, configured: Sequence[Path]
    ) -> Iterable[ProcessRegistry]:
        """Return the lock files `thread-writer-locks/<thread>.lock`.

        Codex holds the lock while the thread is open.
        """
        for home in _homes(env, configured):
            yield ProcessRegistry(home / "thread-writer-locks", "*.lock")

    def parse_live_process(self, path: Path, data: bytes) -> LiveProcess | None:
        """Return the thread that a lock file is named after; the file is empty."""
        del data
        if path.name.startswith("."):
            return None
        return LiveProcess(
            session_id=printable_name(path.name).removesuffix(".lock"), pid=None
        )

    def resume_command(self, session_id: str) -> str:
        """Return the command, which resumes in the current directory."""
        return f"codex resume {shlex.quote(session_id)}"


def _homes(env: Environment, configured: Sequence[Path]) -> list[Path]:
    """Return Codex's home directories: configured, `CODEX_HOME`, or `~/.codex`."""
    if configured:
        homes = (
            path.parent if path.name in _LOG_FOLDERS else path for path in configured
        )
        return list(dict.fromkeys(homes))
    codex_home = env.environ.get("CODEX_HOME", "").strip()
    return [Path(codex_home)] if codex_home else [env.home / ".codex"]


ADAPTER: AgentAdapter = Codex()
