"""Read devflow runs that users import or keep in configured folders.

`docs/formats/devflow.md` documents the format.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leslied.agents._contract import ImportedAdapter
from leslied.decompression import decompress_gzip
from leslied.model.imports import ImportedFile, ImportFile, make_import_name
from leslied.model.source import Pattern, Shape

if TYPE_CHECKING:
    from collections.abc import Iterable

    from leslied.agents._contract import AgentAdapter, Capability
    from leslied.model.record import DecodeResult
    from leslied.model.source import RawEntry

_MAX_BYTES = 64 * 1024 * 1024
"""A run that is larger after decompression is not imported."""


class Devflow(ImportedAdapter):
    """Adapter for devflow."""

    name = "devflow"
    title = "devflow"
    decoder_version = 1
    patterns = (
        Pattern(glob="**/transcript.json", shape=Shape.DOCUMENT),
        Pattern(glob="**/transcript.json.gz", shape=Shape.DOCUMENT),
    )
    capabilities: frozenset[Capability] = frozenset(
        {"folder", "model", "tokens", "thinking", "tools", "subagents", "turn end"}
    )

    def split_import(self, file: ImportFile) -> Iterable[ImportedFile]:
        """Return the transcript of a run, decompressed."""
        if file.path.name == "transcript.json.gz":
            data = decompress_gzip(file.data, _MAX_BYTES)
            file = ImportFile(file.path, data or b"")
        run_id = file.document.get("runId")
        if isinstance(run_id, str) and isinstance(file.document.get("turns"), list):
            name = make_import_name(run_id, "/transcript.json")
            yield ImportedFile(f"runs/{name}", file.data)

    def decode(self, entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
        """Decode one run."""
        from leslied.agents import _devflow_turns  # noqa: PLC0415 - only to decode

        return _devflow_turns.decode_run(entry, state)


ADAPTER: AgentAdapter = Devflow()
