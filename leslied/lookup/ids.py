"""What an id on the command line stands for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from leslied.errors import UserError
from leslied.lookup.query import mend_text
from leslied.lookup.sessions import load_family
from leslied.model.query import Selection
from leslied.model.record import MAIN

if TYPE_CHECKING:
    from leslied.model.record import SessionKey
    from leslied.model.session import SessionSummary
    from leslied.store import StoreReader

_MOST_TOLD = 5
_ENTRY = re.compile("[0-9a-f]{8,32}")


class Found(Struct, frozen=True):
    """What an id on the command line stands for: a session, perhaps one part of it."""

    session: SessionSummary
    unit: int | None = None
    subagent: str = ""
    entry: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether all of the session is meant."""
        return self.unit is None and not self.subagent and not self.entry


def resolve(reader: StoreReader, wanted: str, *, with_costs: bool = False) -> Found:
    """What the id, or its beginning, names; a sentence where it names no one thing."""
    meant = _only(_find(reader, mend_text(wanted)), wanted)
    session = load_family(reader, meant.agent, meant.session_id, with_costs=with_costs)
    return Found(session, meant.unit, meant.subagent, meant.entry)


class _Meant(NamedTuple):
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


def _find(reader: StoreReader, wanted: str) -> list[_Meant]:
    if wanted == "last":
        return [_Meant(*f[:2]) for f in reader.select_sessions(Selection(limit=1))]
    if not wanted:
        return []
    return (
        _find_sessions(reader, wanted)
        or _find_chats(reader, wanted)
        or _find_entries(reader, wanted)
    )


def _find_sessions(reader: StoreReader, wanted: str) -> list[_Meant]:
    bare = wanted.removeprefix("subagent:")
    named = reader.find_sessions_by_prefix(bare)
    exact = {key[:2] for key, thread in named if wanted in (key.session_id, thread)}
    if len(exact) == 1:
        return [_Meant(*exact.pop())]
    same = [key for key, _ in named if key.subagent_id == bare]
    if len(same) == 1:
        return [_Meant(*same[0][:2], subagent=bare)]
    whole = {
        key[:2]
        for key, thread in named
        if key.session_id.startswith(wanted) or thread.startswith(wanted)
    }
    below = [
        _Meant(*key[:2], subagent=key.subagent_id)
        for key, _ in named
        if key.subagent_id and key.subagent_id.startswith(bare)
    ]
    return [*(_Meant(*key) for key in sorted(whole)), *below]


def _find_chats(reader: StoreReader, wanted: str) -> list[_Meant]:
    if not "chat-".startswith(wanted[:5]):
        return []
    chats = reader.find_units_by_prefix(wanted) or reader.find_unit_zero_by_prefix(
        wanted
    )
    found = [(reader.find_session_by_row(row), unit, chat) for row, unit, chat in chats]
    return [
        _mean_chat(session.key, unit, chat) for session, unit, chat in found if session
    ]


def _mean_chat(key: SessionKey, unit: int, chat_id: str) -> _Meant:
    if key.source == MAIN:
        return _Meant(*key[:2], unit, chat_id=chat_id)
    return _Meant(*key[:2], subagent=key.subagent_id, chat_id=chat_id)


def _find_entries(reader: StoreReader, wanted: str) -> list[_Meant]:
    if not _ENTRY.fullmatch(wanted):
        return []
    found = reader.find_entries_by_prefix(wanted)
    return [_Meant(*key[:2], entry=entry) for key, entry in found]


def _only(found: list[_Meant], wanted: str) -> _Meant:
    if not found:
        raise UserError(
            f"No session, unit, subagent or entry has an id that starts with "
            f"{wanted!r}.",
            "See the ids: leslied list",
        )
    if len(found) > 1:
        ids = ", ".join(each.name for each in found[:_MOST_TOLD])
        raise UserError(
            f"{wanted!r} is the beginning of {len(found)} ids: {ids}"
            + (", …" if len(found) > _MOST_TOLD else "."),
            "Type more of the id.",
        )
    return found[0]
