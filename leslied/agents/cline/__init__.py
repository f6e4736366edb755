"""Read Cline's sessions: `~/.cline/data/sessions`, documents that grow.

`docs/formats/cline.md` documents the format.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leslied.agents._contract import BaseAdapter
from leslied.agents._parsing import parse_object, printable_name
from leslied.errors import DecodeError
from leslied.model.session import LiveProcess, ProcessRegistry
from leslied.model.source import Pattern, Root, Shape

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from leslied.agents._contract import AgentAdapter, Capability
    from leslied.model.record import DecodeResult
    from leslied.model.source import Environment, RawEntry, SourceRef
    from leslied.sessions.tools import ToolKind

MESSAGES_SUFFIX, COMPACTION_SUFFIX = ".messages.json", ".compaction.json"
MANIFEST_GLOB = "*_?????.json"
"""Names of manifests, `TIME_RANDOM.json`; other files end with more than one suffix."""
PATTERNS = (
    Pattern(glob=f"*/*{MESSAGES_SUFFIX}", shape=Shape.DOCUMENT, side_file="{}.json"),
    Pattern(glob="*/*.json", shape=Shape.DOCUMENT),
)
FINAL_STATUSES = frozenset({"completed", "failed", "cancelled"})
"""Values of `status` in the manifests of sessions that no process has open."""
_MAX_PID = 2**31


class Cline(BaseAdapter):
    """Adapter for Cline's command-line client and SDK."""

    name = "cline"
    title = "Cline"
    decoder_version = 1
    verified = "3.0.65, 2026-11"
    env_vars = ("CLINE_SESSION_DATA_DIR", "CLINE_DATA_DIR", "CLINE_DIR")
    has_mutable_entries = True
    tools: Mapping[str, ToolKind] = {"run_commands": "shell", "editor": "edit"}
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
        """Return the directory of the sessions."""
        for path in configured or [_default_folder(env)]:
            yield Root(path=path, patterns=PATTERNS)

    def decode(self, entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
        """Decode all messages of a session or subagent, a manifest or a summary."""
        from leslied.agents.cline import decode  # noqa: PLC0415 - only to decode

        name = entry.source.path.name
        if name.endswith(MESSAGES_SUFFIX):
            return decode.decode_messages(entry, state)
        if name.endswith(COMPACTION_SUFFIX):
            return decode.decode_compaction(entry, state)
        return decode.decode_manifest(entry, state)

    def live_registries(
        self, env: Environment, configured: Sequence[Path]
    ) -> Iterable[ProcessRegistry]:
        """Return the manifests of sessions."""
        for path in configured or [_default_folder(env)]:
            yield ProcessRegistry(path, f"*/{MANIFEST_GLOB}")

    def parse_live_process(self, path: Path, data: bytes) -> LiveProcess | None:
        """Return the process that a manifest names; None after the session's end."""
        try:
            fields = parse_object(data)
        except DecodeError:
            return None
        pid = fields.get("pid")
        has_pid = type(pid) is int and 0 < pid < _MAX_PID
        if not has_pid or fields.get("status") in FINAL_STATUSES:
            return None
        return LiveProcess(printable_name(path.parent.name), pid)

    def find_main_log(self, source: SourceRef) -> Path | None:
        """Return the main session's messages; None for these messages themselves."""
        folder = source.path.parent
        main_path = folder / f"{folder.name}{MESSAGES_SUFFIX}"
        return None if source.path == main_path else main_path

    def resume_command(self, session_id: str) -> str:
        """Return the command to run in the session's own directory."""
        return f"cline --id {shlex.quote(session_id)}"


def _default_folder(env: Environment) -> Path:
    """Return the directory of the sessions, which three variables can move."""
    paths = {name: env.environ.get(name, "").strip() for name in Cline.env_vars}
    if paths["CLINE_SESSION_DATA_DIR"]:
        return Path(paths["CLINE_SESSION_DATA_DIR"])
    if paths["CLINE_DATA_DIR"]:
        return Path(paths["CLINE_DATA_DIR"]) / "sessions"
    home = Path(paths["CLINE_DIR"]) if paths["CLINE_DIR"] else env.home / ".cline"
    return home / "data" / "sessions"


ADAPTER: AgentAdapter = Cline()
