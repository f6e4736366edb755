"""Read chibi's contexts: `~/.chibi/contexts`, logs of entries per context.

`docs/formats/chibi.md` documents the format.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from leslied.agents._contract import BaseAdapter
from leslied.model.imports import ImportedFile, make_import_name
from leslied.model.source import Pattern, Root, Shape

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from leslied.agents._contract import AgentAdapter, Capability
    from leslied.model.imports import ImportFile
    from leslied.model.record import DecodeResult
    from leslied.model.source import Environment, RawEntry

_LOGS = (
    "transcript_archive.jsonl",
    "transcript/partitions/*.jsonl",
    "inbox.jsonl",
    "response_meta.jsonl",
    "requests.jsonl",
)
_WINDOWS = ("context.jsonl", "transcript/active.jsonl")
"""Files that the program rewrites, or replaces when they have 1000 entries."""
PATTERNS = (
    # Whatever their order here, documents are read after logs, whose entries are older.
    *(Pattern(glob=f"*/{name}", shape=Shape.DOCUMENT) for name in _WINDOWS),
    *(Pattern(glob=f"*/{name}") for name in _LOGS),
)
_ENTRY_FIELDS = ("from", "to", "content", "timestamp")


class Chibi(BaseAdapter):
    """Adapter for chibi."""

    name = "chibi"
    title = "chibi"
    decoder_version = 1
    env_vars = ("CHIBI_HOME",)
    # Entries move from the current window to the archive, under the same ids.
    has_mutable_entries = True
    capabilities: frozenset[Capability] = frozenset(
        {"model", "tokens", "tools", "subagents"}
    )

    def roots(self, env: Environment, configured: Sequence[Path]) -> Iterable[Root]:
        """Return `contexts` in `CHIBI_HOME` or `~/.chibi`, and the imported ones."""
        home = Path(env.environ.get("CHIBI_HOME") or env.home / ".chibi")
        imports = [env.imports / self.name] if env.imports else []
        for path in (*(configured or [home / "contexts"]), *imports):
            yield Root(path=path, patterns=PATTERNS)

    def split_import(self, file: ImportFile) -> Iterable[ImportedFile]:
        """Return a log of a context, in a folder with the context's name."""
        parts = file.path.parts
        in_transcript = "transcript" in parts[-3:-1]
        # How many parts of the path are below the context's folder.
        length = 3 if parts[-2:-1] == ("partitions",) else 2 if in_transcript else 1
        name = "/".join(parts[-length:])
        names = (*_WINDOWS, *_LOGS)
        is_log = any(Path(name).match(each) for each in names)
        if is_log and len(parts) > length and _is_log_line(file.first_object):
            context = make_import_name(parts[-length - 1], "")
            yield ImportedFile(f"{context}/{name}", file.data)

    def decode(self, entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
        """Decode one line, or the current window."""
        from leslied.agents import _chibi_entries  # noqa: PLC0415 - only to decode

        if entry.source.shape is Shape.DOCUMENT:
            return _chibi_entries.decode_window(entry, state)
        return _chibi_entries.decode_line(entry, state)


def _is_log_line(fields: dict[str, Any]) -> bool:
    """Return whether an object is an entry, a request or a response of a log."""
    is_entry = all(name in fields for name in _ENTRY_FIELDS)
    return is_entry or (
        "timestamp" in fields and ("request" in fields or "response" in fields)
    )


ADAPTER: AgentAdapter = Chibi()
