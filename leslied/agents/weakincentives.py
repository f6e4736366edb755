"""Read weakincentives transcripts that users import or keep in configured folders.

`docs/formats/weakincentives.md` documents the formats.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leslied.agents._contract import ImportedAdapter
from leslied.model.imports import ImportedFile, make_import_name
from leslied.model.source import Pattern

if TYPE_CHECKING:
    from collections.abc import Iterable

    from leslied.agents._contract import AgentAdapter, Capability
    from leslied.model.imports import ImportFile
    from leslied.model.record import DecodeResult
    from leslied.model.source import RawEntry


class WeakIncentives(ImportedAdapter):
    """Adapter for weakincentives."""

    name = "weakincentives"
    title = "weakincentives"
    decoder_version = 1
    patterns = (
        Pattern(glob="**/*TranscriptEntry.jsonl"),
        Pattern(glob="**/transcript.jsonl"),
    )
    capabilities: frozenset[Capability] = frozenset(
        {
            "folder",
            "model",
            "tokens",
            "thinking",
            "tools",
            "subagents",
            "turn end",
        }
    )

    def split_import(self, file: ImportFile) -> Iterable[ImportedFile]:
        """Return a slice of entries, or the transcript of a bundle."""
        from leslied.agents import _weakincentives_lines as lines  # noqa: PLC0415

        if identity := lines.find_identity(file.first_object):
            yield ImportedFile(
                make_import_name(identity, "/transcript.jsonl"), file.data
            )

    def decode(self, entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
        """Decode one line."""
        from leslied.agents import _weakincentives_lines as lines  # noqa: PLC0415

        return lines.decode_line(entry, state)


ADAPTER: AgentAdapter = WeakIncentives()
