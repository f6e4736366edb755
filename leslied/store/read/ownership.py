"""Decide which session owns the tokens of a shared message.

After a fork or resume, several sessions contain the same API messages; each message
counts once. A session wholly contained in another owns nothing. Of the others, the
session with the earliest unshared entry owns the message; if the times are equal, the
one with the smallest row id.
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
        self._entry_counts: dict[int, int] = {}
        self._first_unshared_us: dict[int, int] = {}
        self._shared_counts: dict[tuple[int, int], int] = {}

    @cached_property
    def owners(self) -> dict[int, int]:
        """Owning session of every shared message, by usage row id."""
        sessions_by_usage: dict[int, list[int]] = {}
        for usage, session in self._db.execute(
            "SELECT usage, session FROM usage_share"
        ):
            sessions_by_usage.setdefault(usage, []).append(session)
        owner_by_group: dict[tuple[int, ...], int] = {}
        owners = {}
        for usage, sessions in sessions_by_usage.items():
            group = tuple(sorted(sessions))
            if group not in owner_by_group:
                owner_by_group[group] = self._choose_owner(group)
            owners[usage] = owner_by_group[group]
        return owners

    def _choose_owner(self, group: Iterable[int]) -> int:
        """Return the session of the group that owns the messages they share."""
        candidates = [
            session
            for session in group
            if not any(self.is_contained(session, outer) for outer in group)
        ]
        return min(
            candidates or group, key=lambda s: (self.get_first_unshared_us(s), s)
        )

    def is_contained(self, inner: int, outer: int) -> bool:
        """Return whether the session `outer` contains all entries of `inner`.

        Of two sessions with equal entries, the one with the larger id is contained.
        """
        size = self._count_entries(inner)
        if inner == outer or self._count_shared(inner, outer) < size:
            return False
        return self._count_entries(outer) > size or inner > outer

    def has_same_entries(self, first: int, second: int) -> bool:
        """Return whether two sessions have exactly the same entries."""
        size = self._count_entries(first)
        return self._count_shared(first, second) == size == self._count_entries(second)

    def _count_entries(self, session: int) -> int:
        if session not in self._entry_counts:
            query = "SELECT count(*) FROM placement WHERE session = ?"
            (self._entry_counts[session],) = self._db.execute(
                query, (session,)
            ).fetchone()
        return self._entry_counts[session]

    def _count_shared(self, first: int, second: int) -> int:
        key = (min(first, second), max(first, second))
        if key not in self._shared_counts:
            (self._shared_counts[key],) = self._db.execute(
                "SELECT count(*) FROM placement a JOIN placement b "
                "ON b.entry = a.entry AND b.session = ? WHERE a.session = ?",
                key,
            ).fetchone()
        return self._shared_counts[key]

    def get_first_unshared_us(self, session: int) -> int:
        """Return the time of the session's first entry that no other session has.

        Return a time later than all others if there is none.
        """
        if session not in self._first_unshared_us:
            (first,) = self._db.execute(
                "SELECT min(r.created_us) FROM placement p "
                "JOIN record r ON r.entry = p.entry AND r.is_current "
                "WHERE p.session = ? AND NOT EXISTS (SELECT 1 FROM placement o "
                "WHERE o.entry = p.entry AND o.session <> p.session)",
                (session,),
            ).fetchone()
            self._first_unshared_us[session] = _NEVER_US if first is None else first
        return self._first_unshared_us[session]
