"""What an id on the command line stands for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from leslied.errors import UserError
from leslied.lookup.query import sanitize_text
from leslied.lookup.sessions import load_session_summary
from leslied.model.query import Selection
from leslied.model.record import MAIN

if TYPE_CHECKING:
    from leslied.model.record import SessionKey
    from leslied.model.session import SessionSummary
    from leslied.store import StoreReader

_MAX_LISTED = 5
_ENTRY = re.compile("[0-9a-f]{8,32}")


class ResolvedId(Struct, frozen=True):
    """What an id on the command line stands for: a session, perhaps one part of it."""

    session: SessionSummary
    unit: int | None = None
    subagent: str = ""
    entry: str = ""

    @property
    def is_whole_session(self) -> bool:
        """Whether all of the session is meant."""
        return self.unit is None and not self.subagent and not self.entry


def resolve_id(
    reader: StoreReader, id_prefix: str, *, with_costs: bool = False
) -> ResolvedId:
    """What the id, or its beginning, names; a sentence where it names no one thing."""
    meant = _get_single(_find(reader, sanitize_text(id_prefix)), id_prefix)
    session = load_session_summary(
        reader, meant.agent, meant.session_id, with_costs=with_costs
    )
    return ResolvedId(session, meant.unit, meant.subagent, meant.entry)


class _IdMatch(NamedTuple):
    """What an id may stand for."""

    agent: str
    session_id: str
    unit: int | None = None
    subagent: str = ""
    entry: str = ""
    chat_id: str = ""

    @property
    def name(self) -> str:
        return self.entry or self.chat_id or self.subagent or self.session_id


def _find(reader: StoreReader, id_prefix: str) -> list[_IdMatch]:
    if id_prefix == "last":
        return [_IdMatch(*f[:2]) for f in reader.select_sessions(Selection(limit=1))]
    if not id_prefix:
        return []
    return (
        _find_sessions(reader, id_prefix)
        or _find_chats(reader, id_prefix)
        or _find_entries(reader, id_prefix)
    )


def _find_sessions(reader: StoreReader, id_prefix: str) -> list[_IdMatch]:
    bare = id_prefix.removeprefix("subagent:")
    named = reader.find_sessions_by_prefix(bare)
    exact = {key[:2] for key, thread in named if id_prefix in (key.session_id, thread)}
    if len(exact) == 1:
        return [_IdMatch(*exact.pop())]
    same = [key for key, _ in named if key.subagent_id == bare]
    if len(same) == 1:
        return [_IdMatch(*same[0][:2], subagent=bare)]
    whole = {
        key[:2]
        for key, thread in named
        if key.session_id.startswith(id_prefix) or thread.startswith(id_prefix)
    }
    below = [
        _IdMatch(*key[:2], subagent=key.subagent_id)
        for key, _ in named
        if key.subagent_id and key.subagent_id.startswith(bare)
    ]
    return [*(_IdMatch(*key) for key in sorted(whole)), *below]


def _find_chats(reader: StoreReader, id_prefix: str) -> list[_IdMatch]:
    if not "chat-".startswith(id_prefix[:5]):
        return []
    chats = reader.find_units_by_prefix(id_prefix) or reader.find_unit_zero_by_prefix(
        id_prefix
    )
    found = [(reader.find_session_by_row(row), unit, chat) for row, unit, chat in chats]
    return [
        _match_chat(session.key, unit, chat) for session, unit, chat in found if session
    ]


def _match_chat(key: SessionKey, unit: int, chat_id: str) -> _IdMatch:
    if key.source == MAIN:
        return _IdMatch(*key[:2], unit, chat_id=chat_id)
    return _IdMatch(*key[:2], subagent=key.subagent_id, chat_id=chat_id)


def _find_entries(reader: StoreReader, id_prefix: str) -> list[_IdMatch]:
    if not _ENTRY.fullmatch(id_prefix):
        return []
    found = reader.find_entries_by_prefix(id_prefix)
    return [_IdMatch(*key[:2], entry=entry) for key, entry in found]


def _get_single(matches: list[_IdMatch], id_prefix: str) -> _IdMatch:
    if not matches:
        raise UserError(
            f"No session, unit, subagent or entry has an id that starts with "
            f"{id_prefix!r}.",
            "See the ids: leslied list",
        )
    if len(matches) > 1:
        ids = ", ".join(each.name for each in matches[:_MAX_LISTED])
        raise UserError(
            f"{id_prefix!r} is the beginning of {len(matches)} ids: {ids}"
            + (", …" if len(matches) > _MAX_LISTED else "."),
            "Type more of the id.",
        )
    return matches[0]
