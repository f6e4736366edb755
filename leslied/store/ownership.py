"""Whose tokens a shared message counts as.

Forks and resumes show the same API messages in several sessions; each counts once. A
session wholly contained in another owns nothing; else the one whose first unshared
entry is earlier; else the smaller id.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

_NEVER_US = 2**63


class Ownership:
    """Decides between sessions; each question is asked of the store once."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._sizes: dict[int, int] = {}
        self._firsts: dict[int, int] = {}
        self._commons: dict[tuple[int, int], int] = {}

    @cached_property
    def owners(self) -> dict[int, int]:
        """The owning session of every shared message."""
        sharers: dict[int, list[int]] = {}
        for usage, session in self._db.execute(
            "SELECT usage, session FROM usage_share"
        ):
            sharers.setdefault(usage, []).append(session)
        chosen: dict[tuple[int, ...], int] = {}
        owners = {}
        for usage, sessions in sharers.items():
            group = tuple(sorted(sessions))
            if group not in chosen:
                chosen[group] = self._choose_owner(group)
            owners[usage] = chosen[group]
        return owners

    def _choose_owner(self, group: Iterable[int]) -> int:
        free = [s for s in group if not any(self.is_contained(s, o) for o in group)]
        return min(free or group, key=lambda s: (self.get_first_unshared_us(s), s))

    def is_contained(self, one: int, other: int) -> bool:
        """All of one is in the other; of two equal ones, the later is inside."""
        if one == other or self._common(one, other) < self._size(one):
            return False
        return self._size(other) > self._size(one) or one > other

    def is_same(self, one: int, other: int) -> bool:
        """Both show the same entries and nothing else."""
        return self._common(one, other) == self._size(one) == self._size(other)

    def _size(self, session: int) -> int:
        if session not in self._sizes:
            query = "SELECT count(*) FROM placement WHERE session = ?"
            (self._sizes[session],) = self._db.execute(query, (session,)).fetchone()
        return self._sizes[session]

    def _common(self, one: int, other: int) -> int:
        key = (min(one, other), max(one, other))
        if key not in self._commons:
            (self._commons[key],) = self._db.execute(
                "SELECT count(*) FROM placement a JOIN placement b "
                "ON b.entry = a.entry AND b.session = ? WHERE a.session = ?",
                key,
            ).fetchone()
        return self._commons[key]

    def get_first_unshared_us(self, session: int) -> int:
        """When a session first said something that stands in no other."""
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
