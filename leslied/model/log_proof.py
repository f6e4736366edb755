"""Define the proof that every entry of a log is accounted for in the store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from msgspec import Struct, structs

if TYPE_CHECKING:
    from leslied.model.unknown_kind import UnknownKind

Verdict = Literal[
    "record", "noise", "rejected", "deleted", "empty", "outdated", "unread", "missing"
]
"""What became of an entry.

`deleted` entries were pruned or forgotten. `empty` entries yield no record, for example
because they only repeat an earlier one. `outdated` entries were read by an older
decoder and will be decoded again. `unread` entries are newer than the last read.
"""
VERDICTS: tuple[Verdict, ...] = (
    "record",
    "noise",
    "rejected",
    "deleted",
    "empty",
    "outdated",
    "unread",
    "missing",
)


class EntryVerdict(NamedTuple):
    """What became of an entry, and why."""

    offset: int
    length: int
    verdict: Verdict
    reason: str = ""


class MissingEntry(Struct, frozen=True, kw_only=True):
    """Position of an entry that the store does not account for."""

    offset: int
    length: int
    reason: str


class SourceProof(Struct, frozen=True, kw_only=True):
    """Result of comparing one log with the store."""

    path: str
    bytes: int
    entries: int
    counts: dict[Verdict, int]
    """Number of entries by verdict."""
    is_same: bool | None
    """Whether the bytes that were read have not changed since; None if the log is not
    an append-only one, or was not read."""
    problem: str = ""
    """Why the log could not be read now, or was not read before."""
    is_late: bool = False
    """Whether unread entries should have been read by now."""
    examples: tuple[MissingEntry, ...] = ()
    """The first entries that are missing or unread."""

    @property
    def missing(self) -> int:
        """Number of entries that should be in the store and are not.

        Unread entries are among them only if the log is late: see `is_late`.
        """
        late_entries = self.counts.get("unread", 0) if self.is_late else 0
        return self.counts.get("missing", 0) + late_entries

    @property
    def is_failed(self) -> bool:
        """Whether entries are missing, or a late log has a problem: see `is_late`."""
        return bool(self.missing or (self.problem and self.is_late))

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "path": self.path,
            "bytes": self.bytes,
            "entries": self.entries,
            **{name: self.counts.get(name, 0) for name in VERDICTS},
            "same": self.is_same,
            "problem": self.problem,
            "late": self.is_late,
            "examples": [structs.asdict(each) for each in self.examples],
        }


class AgentProof(Struct, frozen=True, kw_only=True):
    """Result of comparing the logs of one agent with the store."""

    name: str
    sources: list[SourceProof]
    deleted_logs: int
    """Number of logs that the agent deleted, so that they cannot be compared."""

    @property
    def is_failed(self) -> bool:
        """Whether the comparison of any log failed."""
        return any(source.is_failed for source in self.sources)

    @property
    def entries(self) -> int:
        """Number of entries in all logs."""
        return sum(source.entries for source in self.sources)

    @property
    def bytes(self) -> int:
        """Size of all logs."""
        return sum(source.bytes for source in self.sources)

    def count(self, verdict: Verdict) -> int:
        """Return the number of entries with this verdict."""
        return sum(source.counts.get(verdict, 0) for source in self.sources)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "name": self.name,
            "logs": len(self.sources),
            "gone": self.deleted_logs,
            "bytes": self.bytes,
            "entries": self.entries,
            **{name: self.count(name) for name in VERDICTS},
            "complete": not self.is_failed,
            "sources": [source.to_dict() for source in self.sources],
        }


class ProofReport(Struct, frozen=True, kw_only=True):
    """Result of comparing all logs with the store, and the unknown kinds of entries."""

    agents: list[AgentProof]
    unknown_kinds: list[UnknownKind]

    @property
    def is_failed(self) -> bool:
        """Whether the comparison of any log failed."""
        return any(agent.is_failed for agent in self.agents)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "complete": not self.is_failed,
            "agents": [agent.to_dict() for agent in self.agents],
            "unknown_kinds": [kind.to_dict() for kind in self.unknown_kinds],
        }
