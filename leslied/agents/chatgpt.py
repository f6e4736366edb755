"""Read conversations of an export of ChatGPT that users import.

`docs/formats/chatgpt.md` documents the format.
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


class ChatGpt(ImportedAdapter):
    """Adapter for ChatGPT."""

    name = "chatgpt"
    title = "ChatGPT"
    decoder_version = 1
    patterns = (Pattern(glob="**/*.json", shape=Shape.DOCUMENT),)
    capabilities: frozenset[Capability] = frozenset(
        {"title", "model", "thinking", "tools", "turn end"}
    )

    def split_import(self, file: ImportFile) -> Iterable[ImportedFile]:
        """Return each conversation of a list, or the file if it is one conversation."""
        if _is_conversation(file.document):
            yield _make_file(file.document, file.data)
        elif _is_conversation(file.first_object):
            for fields, data in file.list_objects():
                yield _make_file(fields, data)

    def decode(self, entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
        """Decode one conversation."""
        from leslied.agents import _chatgpt_nodes  # noqa: PLC0415 - only to decode

        return _chatgpt_nodes.decode_conversation(entry, state)


def _is_conversation(fields: dict[str, Any]) -> bool:
    return isinstance(fields.get("mapping"), dict) and "current_node" in fields


def _make_file(fields: dict[str, Any], data: bytes) -> ImportedFile:
    identity = fields.get("conversation_id") or fields.get("id") or ""
    return ImportedFile(make_import_name(str(identity), ".json"), data)


ADAPTER: AgentAdapter = ChatGpt()
