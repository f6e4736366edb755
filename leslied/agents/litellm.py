"""Read logs of requests that OpenAI clients and LiteLLM write.

Users import them, or name their folders in the settings. `docs/formats/litellm.md`
documents the formats.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from leslied.agents._contract import ImportedAdapter
from leslied.model.imports import ImportedFile
from leslied.model.source import Pattern

if TYPE_CHECKING:
    from collections.abc import Iterable

    from leslied.agents._contract import AgentAdapter, Capability
    from leslied.model.imports import ImportFile
    from leslied.model.record import DecodeResult
    from leslied.model.source import RawEntry


class LiteLlm(ImportedAdapter):
    """Adapter for logs of requests to a chat completions API."""

    name = "litellm"
    title = "LiteLLM and OpenAI requests"
    decoder_version = 1
    patterns = (Pattern(glob="**/*.jsonl"),)
    capabilities: frozenset[Capability] = frozenset(
        {"model", "tokens", "thinking", "tools", "turn end"}
    )

    def split_import(self, file: ImportFile) -> Iterable[ImportedFile]:
        """Return a log whose first line has the messages of a request."""
        from leslied.agents import _litellm_lines  # noqa: PLC0415 - for an import

        first = file.first_object
        if first and not file.items and _litellm_lines.find_request(first):
            # A log that has grown has the same first line.
            line = file.data.lstrip().split(b"\n", 1)[0]
            digest = hashlib.sha256(line).hexdigest()[:32]
            yield ImportedFile(f"{digest}.jsonl", file.data)

    def decode(self, entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
        """Decode one request with its response."""
        from leslied.agents import _litellm_lines  # noqa: PLC0415 - only to decode

        return _litellm_lines.decode_line(entry, state)


ADAPTER: AgentAdapter = LiteLlm()
