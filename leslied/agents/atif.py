"""Read trajectories in the Agent Trajectory Interchange Format (ATIF), when imported.

`docs/formats/atif.md` documents the format.
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


class Atif(ImportedAdapter):
    """Adapter for ATIF."""

    name = "atif"
    title = "ATIF"
    decoder_version = 1
    patterns = (Pattern(glob="**/*.json", shape=Shape.DOCUMENT),)
    capabilities: frozenset[Capability] = frozenset(
        {
            "folder",
            "title",
            "model",
            "tokens",
            "thinking",
            "tools",
            "subagents",
        }
    )

    def split_import(self, file: ImportFile) -> Iterable[ImportedFile]:
        """Return the file if it is a trajectory."""
        version = file.document.get("schema_version")
        if not isinstance(version, str) or not version.startswith("ATIF-v"):
            return
        ids = (file.document.get(name) for name in ("session_id", "trajectory_id"))
        identity = "-".join(id_ for id_ in ids if isinstance(id_, str) and id_)
        name = make_import_name(identity or file.path.stem, ".json")
        yield ImportedFile(name, file.data)

    def decode(self, entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
        """Decode one trajectory with those of its subagents."""
        from leslied.agents import _atif_steps  # noqa: PLC0415 - only to decode

        return _atif_steps.decode_trajectory(entry, state)


ADAPTER: AgentAdapter = Atif()
