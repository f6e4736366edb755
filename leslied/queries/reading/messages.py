"""The messages of a unit or subagent, page by page, as HTML and plain values.

Only the entries of one page are loaded, redacted and rendered.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import structs

from leslied.errors import UserError
from leslied.model.session import Unit
from leslied.queries.reading.encoding import MessageEncoder
from leslied.queries.reading.pages import (
    PAGE_MESSAGES,
    list_page_entries,
    make_shown_unit,
)
from leslied.queries.reading.session import open_session
from leslied.queries.session_list import make_listed_sessions
from leslied.sessions.calls import link_results
from leslied.sessions.units import make_unit

if TYPE_CHECKING:
    from leslied.model.record import PlacedRecord
    from leslied.model.session import SessionSummary
    from leslied.queries.context import QueryContext
    from leslied.queries.reading.pages import ShownUnit
    from leslied.queries.reading.session import ReadSession
    from leslied.queries.session_list import ListedSession

_MAX_TEXT_CHARACTERS = 200_000
"""Texts are cut to this length before they are redacted, because redaction is slow.

Far less is shown, so a secret that was cut is not shown, either.
"""
_MAX_INDEXES = 64
_START_ENTRIES = 1_000
"""Number of entries that nearly always have enough messages for a page."""
_TEXTS = ("content", "spilled", "tool_input")


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageAddress:
    """A page of messages: in a unit of a session, or in a subagent."""

    session_id: str
    unit: int = 0
    page: int = 0
    subagent: str = ""
    """Id of the subagent, whose only unit is 0; empty for the session itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagePage:
    """Redacted messages of a page."""

    context: QueryContext
    address: MessageAddress
    shown: ShownUnit
    """The messages of the page."""
    total: int
    """Number of messages in the unit; in `SessionStart`, of the entries read so far."""
    pages: int
    cwd: str
    secret_ids: frozenset[str]
    """Ids of entries in which something was redacted."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        encoder = MessageEncoder(self.context.now, self.cwd, self.secret_ids)
        is_last = self.address.page + 1 >= self.pages
        subagents = self.shown.subagents if is_last else ()
        return {
            "unit": self.address.unit,
            "page": self.address.page,
            "pages": self.pages,
            "total": self.total,
            "messages": [encoder.encode(shown) for shown in self.shown.messages],
            "subagents": [encoder.encode_subagent(child) for child in subagents],
        }


class PageIndex(NamedTuple):
    """Which entries are on each page of a unit."""

    pages: list[array[int]]
    total: int
    """Number of messages in the unit."""


_indexes: dict[object, PageIndex] = {}
"""Indexes of units that were read lately; that of a long unit takes long to make."""


@dataclass(frozen=True, slots=True)
class SessionStart:
    """The header of a session, and its first messages."""

    session: ListedSession
    page: MessagePage | None
    """None if the session has no entries."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        page = self.page.to_dict() if self.page else None
        return {"session": self.session.to_dict(), "page": page}


@dataclass(frozen=True, slots=True)
class EntryPosition:
    """Where an entry is in the reader."""

    unit: int
    page: int
    subagents: list[str]
    """Ids of the subagents to open, outermost first."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"unit": self.unit, "page": self.page, "subagents": self.subagents}


def load_messages(context: QueryContext, address: MessageAddress) -> MessagePage:
    """Return a page of messages; raise UserError if it does not exist."""
    session = open_session(context, address.session_id)
    stream = session.get_stream(address.subagent)
    index = _load_index(context, stream, address.unit)
    return _load_page(context, session, address, index)


def load_start(context: QueryContext, session_id: str) -> SessionStart:
    """Return a session's header and its first messages without reading all of it."""
    session = open_session(context, session_id)
    summary = session.summary
    page: MessagePage | None = None
    for number in (0, 1):
        count, _ = context.reader.reading.get_extent(summary.stream, number)
        # Unit 0, before the first prompt, often has no message to show.
        if count and not (page and page.shown.messages):
            address = MessageAddress(session_id=summary.key.session_id, unit=number)
            index = _load_start_index(context, summary, number, count)
            page = _load_page(context, session, address, index)
    (listed,) = make_listed_sessions(context, [summary])
    return SessionStart(listed, page)


def _load_page(
    context: QueryContext,
    session: ReadSession,
    address: MessageAddress,
    index: PageIndex,
) -> MessagePage:
    stream = session.get_stream(address.subagent)
    has_page = address.page < len(index.pages)
    orders = index.pages[address.page] if has_page else array("q")
    entries = context.reader.reading.list_entries(orders)
    redacted_entries = [context.redact_entry(_cut(placed)) for placed in entries]
    spawned_units = session.list_spawned_subagents(stream.key, address.unit)
    unit = Unit(
        number=address.unit,
        chat_id="",
        summary=stream,
        entries=tuple(link_results(redacted_entries)),
        prompt="",
        stop_reason="unknown",
        agent_mode="agent",
        subagents=_redact_subagents(context, spawned_units),
    )
    shown = make_shown_unit(unit)
    return MessagePage(
        context=context,
        address=address,
        shown=shown._replace(messages=shown.messages[:PAGE_MESSAGES]),
        total=index.total,
        pages=max(len(index.pages), 1),
        cwd=context.redact(session.summary.cwd),
        secret_ids=_find_secret_ids(entries, redacted_entries),
    )


def _load_index(
    context: QueryContext, stream: SessionSummary, number: int
) -> PageIndex:
    """Return which entries are on which page; raise UserError if there are none."""
    unit_number = None if stream.is_subagent else number
    extent = context.reader.reading.get_extent(stream.stream, unit_number)
    key = (str(context.reader.path), stream.stream, unit_number, extent)
    if index := _indexes.get(key):
        return index
    index = _make_index(_load_heads(context, stream, number))
    while len(_indexes) >= _MAX_INDEXES:
        _indexes.pop(next(iter(_indexes)), None)
    _indexes[key] = index
    return index


def _load_start_index(
    context: QueryContext, stream: SessionSummary, number: int, count: int
) -> PageIndex:
    """Return the index of at least the first page of a unit with `count` entries.

    Of a long unit, only the first entries are read. The page then lacks tool results
    that come much later; the reader loads it again when it knows the whole unit.
    """
    limit = _START_ENTRIES
    while limit < count:
        index = _make_index(_load_heads(context, stream, number, limit))
        # The last page may lack messages, and its last message may lack entries.
        if len(index.pages) > 1:
            return index
        limit *= 8
    return _load_index(context, stream, number)


def _make_index(unit: Unit) -> PageIndex:
    messages = make_shown_unit(unit).messages
    return PageIndex(list_page_entries(unit, messages), len(messages))


def reveal_messages(context: QueryContext, address: MessageAddress) -> MessagePage:
    """Return a page of messages with the secrets in it."""
    revealing_context = structs.replace(
        context, load_redact=None, open_reader=lambda: context.reader
    )
    return load_messages(revealing_context, address)


def find_position(
    context: QueryContext, session_id: str, entry_id: str
) -> EntryPosition:
    """Return where an entry is shown; raise UserError if the session lacks it."""
    session = open_session(context, session_id)
    streams = [session.summary.stream, *(child.key for child in session.subagents)]
    placed = context.reader.reading.find_entry(streams, entry_id)
    if placed is None:
        raise UserError(
            f"The session has no entry {entry_id!r}.",
            "It may have been deleted, or belong to another session.",
        )
    key = placed.record.session
    is_main = key == session.summary.stream
    ancestors = [] if is_main else session.list_ancestors(key)
    stream = session.get_stream("" if is_main else key.subagent_id)
    unit = _load_heads(context, stream, placed.unit)
    page = make_shown_unit(unit).find_page(entry_id) or 0
    number = placed.unit if is_main else _find_main_unit(session, ancestors[0])
    return EntryPosition(number, page, ancestors)


def _find_main_unit(session: ReadSession, subagent_id: str) -> int:
    return session.parents[session.get_stream(subagent_id).key].unit


def _load_heads(
    context: QueryContext, stream: SessionSummary, number: int, limit: int = -1
) -> Unit:
    """Return the unit with light copies of its entries; at most the first `limit`."""
    # All entries of a subagent are one unit, whatever their numbers are.
    first, last = (0, None) if stream.is_subagent else (number, number)
    heads = context.reader.reading.list_heads(stream.stream, first, last, limit)
    if not heads:
        raise UserError(
            f"The session has no unit {number}.", "Reload the page to see what it has."
        )
    return make_unit(stream, number, tuple(heads))


def _redact_subagents(
    context: QueryContext, subagents: tuple[Unit, ...]
) -> tuple[Unit, ...]:
    return tuple(
        structs.replace(child, summary=context.redact_summary(child.summary))
        for child in subagents
    )


def _cut(placed: PlacedRecord) -> PlacedRecord:
    """Return the entry without the ends of texts that are far too long to show."""
    record = placed.record
    texts = {
        name: text[:_MAX_TEXT_CHARACTERS]
        for name in _TEXTS
        if len(text := getattr(record, name)) > _MAX_TEXT_CHARACTERS
    }
    return structs.replace(placed, record=structs.replace(record, **texts))


def _find_secret_ids(
    entries: list[PlacedRecord], redacted_entries: list[PlacedRecord]
) -> frozenset[str]:
    """Return the ids of the entries that redaction changed.

    The redacted entries are in the same order, with texts cut by `_cut`.
    """
    pairs = zip(entries, redacted_entries, strict=True)
    return frozenset(
        before.entry_id
        for before, after in pairs
        if any(
            getattr(before.record, name)[:_MAX_TEXT_CHARACTERS]
            != getattr(after.record, name)
            for name in _TEXTS
        )
    )
