"""Decide which session owns the tokens of a shared message.

Forks and resumes contain the same API messages in several sessions; each message
counts once. A session wholly contained in another owns nothing. Otherwise the owner is
the session whose first unshared entry is earlier, or else the one with the smaller id.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

_NEVER_US = 2**63


class Ownership:
    """Choose owners of shared messages; cache each query to the store."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._sizes: dict[int, int] = {}
        self._firsts: dict[int, int] = {}
        self._commons: dict[tuple[int, int], int] = {}

    @cached_property
    def owners(self) -> dict[int, int]:
        """Owning session of every shared message, by usage row id."""
        sharers: dict[int, list[int]] = {}
        for usage, session in self._db.execute(
            "SELECT usage, session FROM usage_share"
        ):
            sharers.setdefault(usage, []).append(session)
        owner_by_group: dict[tuple[int, ...], int] = {}
        owners = {}
        for usage, sessions in sharers.items():
            group = tuple(sorted(sessions))
            if group not in owner_by_group:
                owner_by_group[group] = self._choose_owner(group)
            owners[usage] = owner_by_group[group]
        return owners

    def _choose_owner(self, group: Iterable[int]) -> int:
        outer = [s for s in group if not any(self.is_contained(s, o) for o in group)]
        return min(outer or group, key=lambda s: (self.get_first_unshared_us(s), s))

    def is_contained(self, one: int, other: int) -> bool:
        """Return whether all entries of one session are in the other.

        Of two sessions with equal entries, the later one counts as contained.
        """
        if one == other or self._count_common(one, other) < self._count_entries(one):
            return False
        return self._count_entries(other) > self._count_entries(one) or one > other

    def is_same(self, one: int, other: int) -> bool:
        """Return whether both sessions have exactly the same entries."""
        size = self._count_entries(one)
        return self._count_common(one, other) == size == self._count_entries(other)

    def _count_entries(self, session: int) -> int:
        if session not in self._sizes:
            query = "SELECT count(*) FROM placement WHERE session = ?"
            (self._sizes[session],) = self._db.execute(query, (session,)).fetchone()
        return self._sizes[session]

    def _count_common(self, one: int, other: int) -> int:
        key = (min(one, other), max(one, other))
        if key not in self._commons:
            (self._commons[key],) = self._db.execute(
                "SELECT count(*) FROM placement a JOIN placement b "
                "ON b.entry = a.entry AND b.session = ? WHERE a.session = ?",
                key,
            ).fetchone()
        return self._commons[key]

    def get_first_unshared_us(self, session: int) -> int:
        """Return the time of the session's first entry that no other session has.

        Return `_NEVER_US` if there is none.
        """
        if session not in self._firsts:
            (first,) = self._db.execute(
                "SELECT min(r.created_us) FROM placement p "
                "JOIN record r ON r.entry = p.entry AND r.is_current "
                "WHERE p.session = ? AND NOT EXISTS (SELECT 1 FROM placement o "
                "WHERE o.entry = p.entry AND o.session <> p.session)",
                (session,),
            ).fetchone()
            self._firsts[session] = _NEVER_US if first is None else first
        return self._firsts[session]
