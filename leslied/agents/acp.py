"""Read streams of the Agent Client Protocol (ACP) that users import.

`docs/formats/acp.md` documents the format.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from leslied.agents._contract import ImportedAdapter
from leslied.model.imports import ImportedFile, make_import_name
from leslied.model.source import Pattern, Shape

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from leslied.agents._contract import AgentAdapter, Capability
    from leslied.model.imports import ImportFile
    from leslied.model.record import DecodeResult
    from leslied.model.source import RawEntry


class Acp(ImportedAdapter):
    """Adapter for streams of messages between a client and an agent."""

    name = "acp"
    title = "ACP"
    decoder_version = 1
    # A text may be split over many lines, so only the whole stream can be decoded.
    patterns = (Pattern(glob="**/*.jsonl", shape=Shape.DOCUMENT),)
    capabilities: frozenset[Capability] = frozenset(
        {"folder", "title", "thinking", "tools", "turn end"}
    )

    def split_import(self, file: ImportFile) -> Iterable[ImportedFile]:
        """Return the stream under a name that contains a hash of its first line."""
        from leslied.agents import _acp_lines  # noqa: PLC0415 - for an import

        if _acp_lines.is_message(file.first_object):
            line = file.data.lstrip().split(b"\n", 1)[0]
            digest = hashlib.sha256(line).hexdigest()[:16]
            name = make_import_name(file.path.stem, f"-{digest}.jsonl")
            yield ImportedFile(name, file.data)

    def erase_sessions(
        self, name: str, data: bytes, session_ids: Collection[str]
    ) -> bytes:
        """Return the stream without the messages of these sessions."""
        from leslied.agents import _acp_lines  # noqa: PLC0415 - to forget an import

        return _acp_lines.erase_sessions(name, data, session_ids)

    def decode(self, entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
        """Decode one stream."""
        from leslied.agents import _acp_lines  # noqa: PLC0415 - only to decode

        return _acp_lines.decode_stream(entry, state)


ADAPTER: AgentAdapter = Acp()
