"""Read Amp's threads: `~/.local/share/amp/threads`, one JSON document per thread.

`docs/formats/amp.md` documents the format.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leslied.agents._contract import BaseAdapter
from leslied.model.source import Pattern, Root, Shape, WatchDepth

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from leslied.agents._contract import AgentAdapter, Capability
    from leslied.model.record import DecodeResult
    from leslied.model.source import Environment, RawEntry
    from leslied.sessions.tools import ToolKind

THREADS = (Pattern(glob="T-*.json", shape=Shape.DOCUMENT),)


class Amp(BaseAdapter):
    """Adapter for Amp, based on other programs that read its files."""

    name = "amp"
    title = "Amp"
    decoder_version = 1
    has_mutable_entries = True
    env_vars = ("XDG_DATA_HOME",)
    tools: Mapping[str, ToolKind] = {"todo_write": "todos"}
    capabilities: frozenset[Capability] = frozenset(
        {"folder", "title", "model", "tokens", "thinking", "tools", "turn end"}
    )

    def roots(self, env: Environment, configured: Sequence[Path]) -> Iterable[Root]:
        """Return `amp/threads` in the user's data directory."""
        data = env.environ.get("XDG_DATA_HOME") or env.home / ".local" / "share"
        for path in configured or [Path(data) / "amp" / "threads"]:
            yield Root(path=path, patterns=THREADS, watch=WatchDepth.FLAT)

    def decode(self, entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
        """Decode one thread."""
        from leslied.agents import _amp_threads  # noqa: PLC0415 - only to decode

        return _amp_threads.decode_thread(entry, state)

    def resume_command(self, session_id: str) -> str:
        """Return the command that continues a thread."""
        return f"amp threads continue {shlex.quote(session_id)}"


ADAPTER: AgentAdapter = Amp()
