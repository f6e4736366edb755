"""Read the database of OpenCode and of its forks, and the older JSON files.

`docs/formats/opencode.md` documents the format.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leslied.agents._contract import BaseAdapter
from leslied.agents._opencode.feeds import FEEDS
from leslied.model.source import Pattern, Root, Shape, WatchDepth

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from leslied.agents._contract import Capability
    from leslied.model.record import DecodeResult
    from leslied.model.source import Environment, RawEntry

TREE = Pattern(
    glob="*/*.json",
    shape=Shape.JSON_TREE,
    child_folders=("../../message/{}", "../../part/{}"),
)


class OpenCodeFamily(BaseAdapter):
    """Base of the adapters of OpenCode and its forks.

    `name` is also the name of the data folder, the database and the command.
    """

    name = ""
    has_mutable_entries = True
    env_vars: tuple[str, ...] = ("XDG_DATA_HOME",)
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
        """Return the directories of the database and of older versions' JSON files."""
        database = Pattern(glob=f"{self.name}.db", shape=Shape.SQLITE, feeds=FEEDS)
        for folder in list(configured) or [_find_data_folder(env) / self.name]:
            yield Root(path=folder, patterns=(database,), watch=WatchDepth.FLAT)
            tree = folder / "storage" / "session"
            yield Root(path=tree, patterns=(TREE,), watch=WatchDepth.NONE)

    def decode(self, entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
        """Decode an entry: a message with its parts, or a session."""
        from leslied.agents._opencode import decode  # noqa: PLC0415 - only to decode

        return decode.decode_entry(entry, state)

    def resume_command(self, session_id: str) -> str:
        """Return the command to run in the session's own directory."""
        return f"{self.name} --session {shlex.quote(session_id)}"


def _find_data_folder(env: Environment) -> Path:
    """Return `$XDG_DATA_HOME` or its default, on every platform."""
    return Path(env.environ.get("XDG_DATA_HOME") or env.home / ".local" / "share")
