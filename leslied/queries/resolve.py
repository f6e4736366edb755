"""Resolution of ids and id prefixes to sessions and their parts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from leslied.errors import UserError
from leslied.model.query import Selection
from leslied.model.record import MAIN
from leslied.queries.search_query import sanitize_text
from leslied.queries.sessions import load_session_summary

if TYPE_CHECKING:
    from leslied.model.record import SessionKey
    from leslied.model.session import SessionSummary
    from leslied.store import StoreQueries

_LAST = "last"
"""Names the session that was active last."""
_MAX_LISTED_IDS = 5
_ENTRY_ID_PREFIX = re.compile("[0-9a-f]{8,32}")


class ResolvedId(Struct, frozen=True):
    """A session, and the part of it that an id names."""

    session: SessionSummary
    unit: int | None = None
    subagent: str = ""
    """Id of the subagent; empty if the id names none."""
    entry: str = ""
    """Id of the entry; empty if the id names none."""

    @property
    def is_whole_session(self) -> bool:
        """Whether the id names the whole session."""
        return self.unit is None and not self.subagent and not self.entry


def resolve_id(
    reader: StoreQueries, id_prefix: str, *, with_costs: bool = False
) -> ResolvedId:
    """Resolve an id, the prefix of an id, or `last`; `AGENT:` may precede an id.

    Raise UserError if nothing matches or the prefix is ambiguous.
    """
    text = sanitize_text(id_prefix)
    matches = _find_matches(reader, text)
    agent, separator, id_text = text.partition(":")
    if separator and not matches:
        matches = [m for m in _find_matches(reader, id_text) if m.agent == agent]
    match = _get_single(matches, id_prefix)
    session = load_session_summary(
        reader, match.agent, match.session_id, with_costs=with_costs
    )
    return ResolvedId(session, match.unit, match.subagent, match.entry)


class _IdMatch(NamedTuple):
    """One session, unit, subagent or entry with a matching id."""

    agent: str
    session_id: str
    unit: int | None = None
    subagent: str = ""
    entry: str = ""
    chat_id: str = ""

    @property
    def id(self) -> str:
        """The id that matches."""
        return self.entry or self.chat_id or self.subagent or self.session_id


def _find_matches(reader: StoreQueries, id_prefix: str) -> list[_IdMatch]:
    """Return the matching sessions and subagents, else units, else entries."""
    if id_prefix == _LAST:
        # A hidden session is the last one only if all sessions are hidden.
        groups = reader.select_sessions(
            Selection(limit=1, with_hidden=False)
        ) or reader.select_sessions(Selection(limit=1))
        return [_IdMatch(group.agent, group.session_id) for group in groups]
    if not id_prefix:
        return []
    return (
        _find_sessions(reader, id_prefix)
        or _find_units(reader, id_prefix)
        or _find_entries(reader, id_prefix)
    )


def _find_sessions(reader: StoreQueries, id_prefix: str) -> list[_IdMatch]:
    """Return only the exact match, else all sessions and subagents with the prefix."""
    subagent_prefix = id_prefix.removeprefix("subagent:")
    rows = reader.find_sessions_by_prefix(subagent_prefix)
    exact_sessions = {
        key[:2] for key, thread_id in rows if id_prefix in (key.session_id, thread_id)
    }
    if len(exact_sessions) == 1:
        return [_IdMatch(*exact_sessions.pop())]
    exact_subagents = [key for key, _ in rows if key.subagent_id == subagent_prefix]
    if len(exact_subagents) == 1:
        return [_IdMatch(*exact_subagents[0][:2], subagent=subagent_prefix)]
    sessions = {
        key[:2]
        for key, thread_id in rows
        if key.session_id.startswith(id_prefix) or thread_id.startswith(id_prefix)
    }
    subagents = [
        _IdMatch(key.agent, key.session_id, subagent=key.subagent_id)
        for key, _ in rows
        if key.subagent_id and key.subagent_id.startswith(subagent_prefix)
    ]
    return [*(_IdMatch(*key) for key in sorted(sessions)), *subagents]


def _find_units(reader: StoreQueries, id_prefix: str) -> list[_IdMatch]:
    """Return the units and subagents whose chat id has the prefix."""
    if not "chat-".startswith(id_prefix[:5]):
        return []
    units = reader.find_units_by_prefix(id_prefix) or reader.find_unit_zero_by_prefix(
        id_prefix
    )
    return [_make_unit_match(key, unit, chat_id) for key, unit, chat_id in units]


def _make_unit_match(key: SessionKey, unit: int, chat_id: str) -> _IdMatch:
    """Return the match of a chat id: a unit, or a subagent, which has one unit."""
    if key.source == MAIN:
        return _IdMatch(key.agent, key.session_id, unit, chat_id=chat_id)
    return _IdMatch(
        key.agent, key.session_id, subagent=key.subagent_id, chat_id=chat_id
    )


def _find_entries(reader: StoreQueries, id_prefix: str) -> list[_IdMatch]:
    if not _ENTRY_ID_PREFIX.fullmatch(id_prefix):
        return []
    entries = reader.find_entries_by_prefix(id_prefix)
    return [
        _IdMatch(key.agent, key.session_id, entry=entry_id) for key, entry_id in entries
    ]


def _get_single(matches: list[_IdMatch], id_prefix: str) -> _IdMatch:
    """Return the only match; raise UserError if there is none or more than one."""
    if not matches and id_prefix == _LAST:
        raise UserError("There are no sessions yet.", "Read logs with `leslied sync`.")
    if not matches:
        raise UserError(
            f"No session, unit, subagent or entry has an id that starts with "
            f"{id_prefix!r}.",
            "List sessions with `leslied list`.",
        )
    if len(matches) > 1 and len({(match.agent, match.id) for match in matches}) == 1:
        sessions = ", ".join(match.session_id for match in matches[:_MAX_LISTED_IDS])
        raise UserError(
            f"{len(matches)} sessions have a subagent with the id {matches[0].id}.",
            f"Show one of these sessions: {sessions}",
        )
    if len(matches) > 1 and len({match.id for match in matches}) == 1:
        names = " or ".join(f"{match.agent}:{match.id}" for match in matches)
        raise UserError(
            f"{len(matches)} agents have a session with the id {matches[0].id}.",
            f"Name the agent, too: {names}",
        )
    if len(matches) > 1:
        ids = ", ".join(match.id for match in matches[:_MAX_LISTED_IDS])
        raise UserError(
            f"{len(matches)} ids start with {id_prefix!r}: {ids}"
            + (", …" if len(matches) > _MAX_LISTED_IDS else "."),
            "Type more of the id.",
        )
    return matches[0]
