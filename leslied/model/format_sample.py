"""Define a sample of an agent's format, without anything that a user wrote."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, structs


class SampledSource(Struct, frozen=True, kw_only=True):
    """A few entries of one log, of which only the structure is left."""

    agent: str
    """Empty if the file is not a log of a supported agent."""
    version: str
    """The agent's version, if the log states it; else empty."""
    shape: str
    pattern: str
    """The glob that matches such logs of the agent; empty for an unknown agent."""
    read: int
    """Number of entries that were read."""
    lines: tuple[str, ...]
    """One entry of each kind, as JSON."""
    kinds: tuple[str, ...]
    """The kinds of the entries, each with its position."""
    unknown_kinds: tuple[str, ...]
    """Kinds that this version of leslied does not know."""
    rejected: tuple[str, ...]
    """Reasons why entries cannot be decoded."""
    schema: dict[str, Any] | None = None
    """Tables and columns of a database."""
    problem: str = ""
    """Why the log could not be read to its end."""

    def describe(self) -> dict[str, Any]:
        """Return the fields as a dict, with the number of `lines` as `entries`.

        The lines themselves and the schema are left out.
        """
        fields = structs.asdict(self)
        del fields["lines"], fields["schema"]
        return {**fields, "entries": len(self.lines)}
