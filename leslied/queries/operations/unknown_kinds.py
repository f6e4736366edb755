"""Entries of unknown kinds: how many, of which kind, and by which agent's version."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from leslied.model.unknown_kind import UnknownKind
from leslied.sessions.unknown_kinds import find_kind, find_version

if TYPE_CHECKING:
    from leslied.queries.context import QueryContext

_MAX_RECORDS = 5000
"""Newest unknown records whose kinds are counted."""


def list_unknown_kinds(context: QueryContext) -> list[UnknownKind]:
    """Return the unknown kinds by agent, the most frequent of each agent first."""
    records = context.reader.unknown.list_newest(_MAX_RECORDS)
    counts = Counter(
        (
            record.agent,
            find_version(record.head) or record.session_version,
            find_kind(record.head, record.metadata),
        )
        for record in records
    )
    kinds = [
        UnknownKind(agent=agent, version=version, kind=kind, entries=entries)
        for (agent, version, kind), entries in counts.items()
    ]
    kinds.sort(key=lambda each: (each.agent, -each.entries, each.version, each.kind))
    return kinds
