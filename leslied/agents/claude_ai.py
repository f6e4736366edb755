"""Read conversations of an export of Claude.ai that users import.

`docs/formats/claude-ai.md` documents the format.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leslied.agents._contract import ImportedAdapter
from leslied.model.imports import ImportedFile, make_import_name
from leslied.model.source import Pattern, Shape

if TYPE_CHECKING:
    from collections.abc import Iterable

    from leslied.agents._contract import AgentAdapter, Capability
    from leslied.model.imports import ImportFile
    from leslied.model.record import DecodeResult
    from leslied.model.source import RawEntry


class ClaudeAi(ImportedAdapter):
    """Adapter for Claude.ai."""

    name = "claude-ai"
    title = "Claude.ai"
    decoder_version = 1
    patterns = (Pattern(glob="**/*.json", shape=Shape.DOCUMENT),)
    capabilities: frozenset[Capability] = frozenset(
        {"title", "model", "thinking", "tools", "turn end"}
    )

    def split_import(self, file: ImportFile) -> Iterable[ImportedFile]:
        """Return each conversation of a list, or the file if it is one conversation."""
        if "chat_messages" in file.document:
            yield _make_file(file.document, file.data)
        elif "chat_messages" in file.first_object:
            for fields, data in file.list_objects():
                yield _make_file(fields, data)

    def decode(self, entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
        """Decode one conversation."""
        from leslied.agents import _claude_ai_messages  # noqa: PLC0415 - only to decode

        return _claude_ai_messages.decode_conversation(entry, state)


def _make_file(fields: dict[str, Any], data: bytes) -> ImportedFile:
    return ImportedFile(make_import_name(str(fields.get("uuid", "")), ".json"), data)


ADAPTER: AgentAdapter = ClaudeAi()
