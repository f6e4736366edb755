"""Define a kind of entries that no decoder knows."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, structs


class UnknownKind(Struct, frozen=True, kw_only=True):
    """Entries of one agent that no decoder knows, and that are kept as they are."""

    agent: str
    version: str
    """The version of the agent that wrote them; empty if its log does not say."""
    kind: str
    """What the entries call their own type."""
    entries: int

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return structs.asdict(self)
