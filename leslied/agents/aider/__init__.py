"""Read Aider's chat histories: `.aider.chat.history.md` in the user's projects.

`docs/formats/aider.md` documents the format.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leslied.agents._contract import BaseAdapter
from leslied.model.source import Pattern, Root, Shape, WatchDepth

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from leslied.agents._contract import AgentAdapter, Capability
    from leslied.model.record import DecodeResult
    from leslied.model.source import Environment, RawEntry

HISTORY = ".aider.chat.history.md"
# The client appends, but an answer has many lines, and only the lines around it say
# where it ends. So the history is one entry.
PATTERNS = (Pattern(glob=HISTORY, shape=Shape.DOCUMENT),)


class Aider(BaseAdapter):
    """Adapter for Aider."""

    name = "aider"
    title = "Aider"
    decoder_version = 1
    verified = "0.86.2, 2026-11"
    has_mutable_entries = True
    project_log = HISTORY
    capabilities: frozenset[Capability] = frozenset(
        {"folder", "model", "tokens", "thinking", "tools", "turn end"}
    )

    def roots(self, env: Environment, configured: Sequence[Path]) -> Iterable[Root]:
        """Return the configured projects; by default, there are none."""
        del env
        for path in configured:
            yield Root(
                path=path, patterns=PATTERNS, watch=WatchDepth.FLAT, is_project=True
            )

    def decode(self, entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
        """Decode the history of a project."""
        from leslied.agents.aider import decode  # noqa: PLC0415 - only to decode

        del state
        return decode.decode_history(entry)


ADAPTER: AgentAdapter = Aider()
