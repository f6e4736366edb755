"""Sums over messages, with what they cost."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from leslied.model.record import Usage
from leslied.model.stats import Cost, PriceBreaks, UsageSummary
from leslied.prices import PriceTable, Tariff, find_price_boundaries
from leslied.stats.blocks import UsageBlock, split_into_blocks
from leslied.stats.zone import find_offsets, format_day, to_time
from leslied.store import UsageFilter

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import tzinfo

    from leslied.model.stats import Grouping, ToolCall, UsageBucket
    from leslied.store import UsageQueries
    from leslied.store.usage_queries import StreamInfo

_MAX_NAMED_STREAMS = 500
SessionName = tuple[str, str]
"""Agent and session id."""
GroupKey = int | str | SessionName | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageFilters:
    """What counts."""

    agent: str = ""
    since_us: int | None = None
    until_us: int | None = None
    session_id: str = ""
    sessions: frozenset[SessionName] | None = None
    """Those that count; None where all do."""


@dataclass(slots=True)
class _UsageAccumulator:
    """A sum on its way."""

    usage: Usage = field(default_factory=Usage)
    messages: int = 0
    cost: Cost = field(default_factory=Cost)
    models: dict[str, None] = field(default_factory=dict)
    agents: dict[str, None] = field(default_factory=dict)
    sessions: set[int] = field(default_factory=set)
    times: list[int] = field(default_factory=list)

    def add(self, portion: UsageBucket, cost: Cost) -> None:
        self.usage += portion.usage
        self.messages += portion.messages
        self.cost = self.cost.plus(cost)
        self.models[portion.model] = None
        self.agents[portion.agent] = None
        if portion.first_us is not None and portion.last_us is not None:
            self.times += (portion.first_us, portion.last_us)

    def finish(self, key: str | None) -> UsageSummary:
        return UsageSummary(
            key=key,
            agent=next(iter(self.agents)) if len(self.agents) == 1 else "",
            usage=self.usage,
            messages=self.messages,
            sessions=len(self.sessions),
            cost=self.cost,
            models=tuple(sorted(filter(None, self.models))),
            first_at=to_time(min(self.times, default=None)),
            last_at=to_time(max(self.times, default=None)),
        )


class UsageStats:
    """What the store counts, at the prices of a table."""

    def __init__(
        self, queries: UsageQueries, prices: PriceTable, zone: tzinfo | None = None
    ) -> None:
        self._queries = queries
        self._prices = prices
        self._zone = zone

    def sum_groups(
        self, by: Grouping, filters: UsageFilters
    ) -> tuple[list[UsageSummary], UsageSummary]:
        """One sum for each group, and all together.

        Times stand in their order, else the largest sum is first.
        """
        tallies: dict[GroupKey, _UsageAccumulator] = defaultdict(_UsageAccumulator)
        with_sessions = by in ("session", "project") or filters.sessions is not None
        span = self._make_span(filters)
        for portion in self._queries.group_usage(
            by, span, self._cuts, with_sessions=with_sessions
        ):
            if not with_sessions or self.is_included(portion.session, filters):
                key = self._get_group_key(by, portion)
                tallies[key].add(portion, self.compute_cost(portion))
                if with_sessions:
                    tallies[key].sessions.add(self._get_parent(portion.session))
        if not with_sessions:
            parents = self._parents
            for group, stream in self._queries.list_owners(by, span):
                tallies[group].sessions.add(parents.get(stream, stream))
        return _sort_sums(by, tallies), _sum_all(tallies.values())

    def sum_all(self, filters: UsageFilters) -> UsageSummary:
        """All messages that count together; sessions are not counted."""
        tally = _UsageAccumulator()
        for portion in self._queries.group_usage(
            "agent", self._make_span(filters), self._cuts, with_sessions=False
        ):
            tally.add(portion, self.compute_cost(portion))
        return tally.finish(None)

    def sum_blocks(
        self, filters: UsageFilters
    ) -> tuple[list[UsageBlock], UsageSummary]:
        """Five-hour windows, the earliest first, and all together."""
        blocks: list[UsageBlock] = []
        tallies = []
        for start, messages in split_into_blocks(self._list_messages(filters)):
            tally = _UsageAccumulator()
            for message in messages:
                tally.add(message, self.compute_cost(message))
                tally.sessions.add(self._get_parent(message.session))
            tallies.append(tally)
            blocks.append(UsageBlock(start, tally.finish(start.isoformat())))
        return blocks, _sum_all(tallies)

    def sum_session_costs(self, streams: Sequence[int]) -> dict[int, Cost]:
        """What each stream's own messages cost, by the store's number."""
        costs: dict[int, Cost] = defaultdict(Cost)
        # Many are counted faster with all the others than named one by one.
        span = UsageFilter(
            streams=tuple(streams) if len(streams) <= _MAX_NAMED_STREAMS else ()
        )
        for portion in self._queries.group_usage(
            "session", span, self._cuts, with_sessions=True
        ):
            costs[portion.session] = costs[portion.session].plus(
                self.compute_cost(portion)
            )
        return costs

    def compute_cost(self, portion: UsageBucket) -> Cost:
        """What these messages cost, if anybody knows."""
        tariff = self._tariffs.get(portion.model)
        if tariff is None:
            return Cost(unpriced=portion.messages)
        pico = tariff.cost(portion.usage, portion.size, portion.first_us)
        return Cost(pico, priced=portion.messages)

    def _list_messages(self, filters: UsageFilters) -> list[UsageBucket]:
        """Every message that counts and has a time, the earliest first."""
        found = self._queries.list_messages(self._make_span(filters))
        return [each for each in found if self.is_included(each.session, filters)]

    def list_calls(self, filters: UsageFilters) -> list[ToolCall]:
        """Every call of a tool that counts."""
        found = self._queries.list_tool_calls(self._make_span(filters))
        return [each for each in found if self.is_included(each.session, filters)]

    def is_included(self, stream: int, filters: UsageFilters) -> bool:
        """Whether the stream's session is one of those asked for."""
        return filters.sessions is None or self.get_session(stream) in filters.sessions

    def get_session(self, stream: int) -> SessionName:
        """The session that a stream is, or is a subagent of."""
        return self._streams[stream][:2]

    @cached_property
    def projects(self) -> Mapping[SessionName, str]:
        """The folder each session works in; a lost session's is its subagent's."""
        found: dict[SessionName, str] = {}
        for stream in self._streams.values():
            if stream.is_main or stream[:2] not in found:
                found[stream[:2]] = stream.cwd
        return found

    def list_unpriced_models(self, total: UsageSummary) -> list[str]:
        """The models in a sum that have no known price."""
        return [model for model in total.models if self._tariffs.get(model) is None]

    def _get_parent(self, stream: int) -> int:
        return self._parents.get(stream, stream)

    @cached_property
    def _parents(self) -> Mapping[int, int]:
        return self._queries.find_parents()

    @cached_property
    def _streams(self) -> Mapping[int, StreamInfo]:
        return self._queries.list_streams()

    @cached_property
    def _tariffs(self) -> Mapping[str, Tariff | None]:
        return {
            model: self._prices.find_tariff(model)
            for model in self._queries.list_models()
        }

    @cached_property
    def _cuts(self) -> PriceBreaks:
        return find_price_boundaries(filter(None, self._tariffs.values()))

    def _make_span(self, filters: UsageFilters) -> UsageFilter:
        first, last = self._queries.get_time_range()
        return UsageFilter(
            filters.agent,
            filters.since_us,
            filters.until_us,
            filters.session_id,
            utc_offsets=find_offsets(first, last, self._zone),
        )

    def _get_group_key(self, by: Grouping, portion: UsageBucket) -> GroupKey:
        if by == "session":
            return self.get_session(portion.session)
        if by == "project":
            return self.projects.get(self.get_session(portion.session)) or None
        return portion.key


def _sum_all(tallies: Iterable[_UsageAccumulator]) -> UsageSummary:
    """All together; a session in several groups counts once."""
    total = _UsageAccumulator()
    for each in tallies:
        total.usage += each.usage
        total.messages += each.messages
        total.cost = total.cost.plus(each.cost)
        total.models |= each.models
        total.agents |= each.agents
        total.sessions |= each.sessions
        total.times += each.times
    return total.finish(None)


def _sort_sums(
    by: Grouping, tallies: Mapping[GroupKey, _UsageAccumulator]
) -> list[UsageSummary]:
    sums = [tally.finish(_format_key(by, key)) for key, tally in tallies.items()]
    if by in ("day", "week", "month"):
        return sorted(sums, key=lambda each: each.key or "")
    return sorted(
        sums, key=lambda each: (-each.cost.pico, -each.tokens, each.key or "")
    )


def _format_key(by: Grouping, key: GroupKey) -> str | None:
    if isinstance(key, tuple):
        return key[1]
    if isinstance(key, int):
        return format_day(7 * key - 3 if by == "week" else key)
    return key or None
