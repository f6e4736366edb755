"""Read Qwen Code's logs: `~/.qwen/projects`, lines with parts of the Gemini API.

`docs/formats/qwen-code.md` documents the format.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leslied.agents._contract import BaseAdapter
from leslied.model.source import Pattern, Root, Shape

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from leslied.agents._contract import AgentAdapter, Capability
    from leslied.model.record import DecodeResult
    from leslied.model.source import Environment, RawEntry, SourceRef

PROJECT_PATTERNS = (
    Pattern(glob="*/chats/*.jsonl"),
    Pattern(glob="*/subagents/*/agent-*.jsonl"),
    Pattern(glob="*/subagents/*/agent-*.meta.json", shape=Shape.DOCUMENT),
)
LEGACY_PATTERNS = (Pattern(glob="*/chats/session-*.json", shape=Shape.DOCUMENT),)


class QwenCode(BaseAdapter):
    """Adapter for Qwen Code."""

    name = "qwen-code"
    title = "Qwen Code"
    decoder_version = 2
    verified = "0.24.4, 2026-11"
    env_vars = ("QWEN_RUNTIME_DIR", "QWEN_HOME")
    has_mutable_entries = True
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
        """Return `projects`, and `tmp` with old documents, for every home in use."""
        for folder in list(configured) or _default_folders(env):
            if folder.name == "projects":
                yield Root(path=folder, patterns=PROJECT_PATTERNS)
                continue
            yield Root(path=folder / "projects", patterns=PROJECT_PATTERNS)
            yield Root(path=folder / "tmp", patterns=LEGACY_PATTERNS)

    def decode(self, entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
        """Decode a line, a subagent's metadata file, or an old document."""
        from leslied.agents.qwen_code import (  # noqa: PLC0415 - only to decode
            decode,
            legacy,
        )

        if entry.source.shape is not Shape.DOCUMENT:
            return decode.decode_line(entry, state)
        if entry.source.path.name.endswith(".meta.json"):
            return decode.decode_meta(entry, state)
        return legacy.decode_legacy_document(entry, state)

    def find_main_log(self, source: SourceRef) -> Path | None:
        """Return `<session>.jsonl` for a file in `subagents/<session>`, or None."""
        project, folder, *session_folders, _ = source.parts
        if folder != "subagents" or not session_folders:
            return None
        return source.root / project / "chats" / f"{session_folders[0]}.jsonl"

    def resume_command(self, session_id: str) -> str:
        """Return the command, which works only in the session's own directory."""
        return f"qwen --resume {shlex.quote(session_id)}"


def _default_folders(env: Environment) -> list[Path]:
    """Return `QWEN_RUNTIME_DIR` if set, and `QWEN_HOME` or `~/.qwen`."""
    names = ("QWEN_RUNTIME_DIR", "QWEN_HOME")
    runtime, home = (env.environ.get(name, "").strip() for name in names)
    paths = [runtime, home or str(env.home / ".qwen")]
    folders = [
        env.home / path[2:] if path.startswith("~/") else Path(path)
        for path in paths
        if path
    ]
    return list(dict.fromkeys(folders))


ADAPTER: AgentAdapter = QwenCode()
