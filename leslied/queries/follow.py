"""New entries and stops of the followed sessions, as they arrive in the store."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from msgspec import structs

from leslied.model.query import Selection
from leslied.model.record import SessionKey
from leslied.model.times import to_us
from leslied.queries.agent_names import check_agents
from leslied.queries.resolve import resolve_id
from leslied.store import SessionGroup

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from leslied.model.query import Filter
    from leslied.model.record import PlacedRecord
    from leslied.model.session import SessionSummary
    from leslied.queries.context import QueryContext
    from leslied.store import StoreQueries
    from leslied.store.read.queries import FeedProtocol

_LAST_TYPES = ("user_message", "assistant_message", "tool_use", "tool_result", "error")
"""Types of the entries that `start` yields."""


class SessionStop(NamedTuple):
    """The end of a session."""

    key: SessionKey


class Follower:
    """Reader of the store's change feed; it remembers its position.

    The entries have no sequence number; `add_sequence` adds it.
    """

    def __init__(
        self, context: QueryContext, ids: Sequence[str], filters: tuple[Filter, ...]
    ) -> None:
        """Follow the sessions with these ids that match the filters.

        Without ids, follow all sessions that match.

        Raise UserError for an unknown or ambiguous id and for an unknown agent.
        """
        self._context = context
        self._filter = _SessionFilter(
            context.reader, _resolve_streams(context.reader, ids), filters
        )
        self._feed: FeedProtocol = context.reader.change_feed
        self._cursor = 0
        """`read_order` of the newest entry that was returned or skipped."""
        self._stopped_us = 0
        """Time of the newest stop that was returned or skipped."""
        self._stopped_sessions: set[SessionKey] = set()
        """Sessions whose stop was returned and that got no prompt since. An agent may
        write its last lines while it exits; the session then stops once more."""
        self._version = -1
        """Data version of the store at the last poll."""
        self._stored_keys: dict[SessionKey, SessionKey] = {}
        """The stored key of each session, by its redacted key."""

    def start(self, last: int | None) -> Iterator[PlacedRecord]:
        """Skip the existing entries; yield the `last` newest ones of `_LAST_TYPES`."""
        self._cursor = self._feed.get_newest_read_order()
        self._stopped_us = to_us(self._context.now)
        if last is None:
            return
        streams = None
        if not self._filter.includes_all:
            self._filter.refresh()
            streams = list(filter(self._filter.includes, self._feed.list_streams()))
        for placed in self._feed.list_last(last, _LAST_TYPES, streams):
            yield self._redact_entry(placed)
            self._cursor = max(self._cursor, placed.read_order)

    def poll(self) -> Iterator[PlacedRecord | SessionStop]:
        """Yield new entries, then stops; nothing if the store did not change."""
        version = self._feed.get_data_version()
        if version == self._version:
            return
        self._version = version
        while records := self._feed.list_after(self._cursor):
            self._filter.update(placed.record.session for placed in records)
            for placed in records:
                self._cursor = placed.read_order
                if placed.record.type == "user_message":
                    self._stopped_sessions.discard(placed.record.session)
                if self._filter.includes(placed.record.session):
                    yield self._redact_entry(placed)
        yield from self._iter_stops()

    def find_session(self, key: SessionKey) -> SessionSummary | None:
        """Return the summary of a session or subagent, None if it has no entries."""
        session = self._context.reader.find_session(self._stored_keys.get(key, key))
        return self._context.redact_summary(session) if session else None

    def add_sequence(self, placed: PlacedRecord) -> PlacedRecord:
        """Return the entry with its position in its session; this takes a while."""
        key = placed.record.session
        # The key of a returned entry is redacted; the store needs the original one.
        record = structs.replace(placed.record, session=self._stored_keys.get(key, key))
        sequence = self._feed.get_sequence(structs.replace(placed, record=record))
        return structs.replace(placed, sequence=sequence)

    def list_similar_ids(self, ids: list[str]) -> list[str]:
        """Return ids of sessions and subagents that begin like one of these ids."""
        return self._context.reader.list_similar_ids(ids)

    def _iter_stops(self) -> Iterator[SessionStop]:
        """Yield new stops, at most one for a session between two of its prompts."""
        stops = self._feed.list_stopped(self._stopped_us)
        self._filter.update(key for key, _ in stops)
        for key, stopped_us in stops:
            self._stopped_us = stopped_us
            if self._filter.includes(key) and key not in self._stopped_sessions:
                self._stopped_sessions.add(key)
                yield SessionStop(self._redact_key(key))

    def _redact_entry(self, placed: PlacedRecord) -> PlacedRecord:
        self._redact_key(placed.record.session)
        return self._context.redact_entry(placed)

    def _redact_key(self, key: SessionKey) -> SessionKey:
        """Return the key for output, and remember which session it names."""
        redacted_key = self._context.redact_key(key)
        self._stored_keys[redacted_key] = key
        return redacted_key


def _resolve_streams(
    reader: StoreQueries, session_ids: Sequence[str]
) -> frozenset[tuple[str, ...]] | None:
    """Return the keys of the sessions and subagents to follow; None for all."""
    streams: set[tuple[str, ...]] = set()
    for session_id in session_ids:
        resolved = resolve_id(reader, session_id)
        agent_and_id = resolved.session.key[:2]
        if resolved.subagent:
            streams.add(SessionKey(*agent_and_id, f"subagent:{resolved.subagent}"))
        else:
            streams.add(agent_and_id)
    return frozenset(streams) if session_ids else None


@dataclass(slots=True)
class _SessionFilter:
    """Filter of the sessions to follow, with a cache of the store's answers."""

    reader: StoreQueries
    streams: frozenset[tuple[str, ...]] | None
    """Sessions by agent and id, or subagents by their full key; None for all."""
    filters: tuple[Filter, ...]
    matching_sessions: set[SessionGroup] = field(default_factory=set)
    """Sessions that matched the filters at the last query."""
    decided_sessions: set[SessionGroup] = field(default_factory=set)
    """Sessions for which it cannot change any more whether they match the filters."""

    def __post_init__(self) -> None:
        check_agents(self.reader, self.filters)

    @property
    def includes_all(self) -> bool:
        """Return whether all sessions are followed."""
        return self.streams is None and not self.filters

    def update(self, keys: Iterable[SessionKey]) -> None:
        """Query the store if one of these sessions is not in `decided_sessions` yet."""
        groups = {SessionGroup(*key[:2]) for key in keys} - self.decided_sessions
        if self.filters and groups:
            self.refresh()
            self.decided_sessions |= {
                group for group in groups if self._is_decided(group)
            }

    def refresh(self) -> None:
        """Query the store for the sessions that match the filters."""
        self.matching_sessions = set(
            self.reader.select_sessions(Selection(filters=self.filters))
        )

    def _is_decided(self, group: SessionGroup) -> bool:
        """Return whether it is final that the session matches, or that it does not."""
        # A session's folder may be unknown until after its first entry.
        session = self.reader.find_session(SessionKey(*group))
        is_project_known = bool(session and session.is_project_known)
        return group in self.matching_sessions or is_project_known

    def includes(self, key: SessionKey) -> bool:
        """Return whether a session or subagent is followed.

        Call `update` or `refresh` first, because the store is not queried here.
        """
        streams = self.streams
        # `key[:2]` is the key of the whole session.
        if streams is not None and key[:2] not in streams and key not in streams:
            return False
        return not self.filters or key[:2] in self.matching_sessions
