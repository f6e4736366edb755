"""Read Leslie's transcripts and the events of its workers that users import.

`docs/formats/leslie.md` documents the formats.
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

_FIRST_FIELD = b"Thread ID: "
_MAX_HEADER_BYTES = 4096
_MAX_HEADER_LINES = 9


class Leslie(ImportedAdapter):
    """Adapter for Leslie."""

    name = "leslie"
    title = "Leslie"
    decoder_version = 1
    # Leslie's own folders also contain leslied's transcripts, which are not read.
    patterns = (
        Pattern(glob="transcripts/*.txt", shape=Shape.DOCUMENT),
        Pattern(glob="**/events.ndjson"),
    )
    capabilities: frozenset[Capability] = frozenset({"tools", "subagents", "turn end"})

    def split_import(self, file: ImportFile) -> Iterable[ImportedFile]:
        """Return a transcript, or the events of a run."""
        if file.data.startswith(_FIRST_FIELD):
            lines = file.data[:_MAX_HEADER_BYTES].decode(errors="replace").split("\n")
            # Each line of the header is `Name: value`.
            fields = dict(
                line.partition(": ")[::2] for line in lines[:_MAX_HEADER_LINES]
            )
            ids = (fields.get("Thread ID", ""), fields.get("Chat ID", ""))
            started_at = fields.get("Time Range", "").partition(" ~ ")[0]
            name = make_import_name("-".join(ids), ".txt")
            yield ImportedFile(f"transcripts/{name}", file.data, started_at)
        elif file.path.name == "events.ndjson" and "threadId" in file.first_object:
            name = make_import_name(file.path.parent.name, "/events.ndjson")
            yield ImportedFile(f"runtime/{name}", file.data)

    def decode(self, entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
        """Decode one transcript, or one event."""
        from leslied.agents import _leslie_files  # noqa: PLC0415 - only to decode

        if entry.source.shape is Shape.DOCUMENT:
            return _leslie_files.decode_transcript(entry, state)
        return _leslie_files.decode_event(entry, state)


ADAPTER: AgentAdapter = Leslie()
