"""Sums of tokens and costs over messages."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field

from leslied.model.record import MAIN, Usage
from leslied.model.stats import Cost, PriceBreaks, UsageSummary
from leslied.prices import PriceTable, Tariff, find_price_breaks
from leslied.queries.usage.blocks import UsageBlock, split_into_blocks
from leslied.queries.usage.local_days import find_offsets, format_day, to_time
from leslied.store import UsageFilter

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import tzinfo

    from leslied.model.record import SessionKey
    from leslied.model.stats import Grouping, StoreGrouping, ToolCall, UsageBucket
    from leslied.store.read.queries import UsageProtocol

_MAX_LISTED_STREAMS = 500
"""For more streams than this, the costs of all streams are computed."""
SessionName = tuple[str, str]
"""Agent and session id."""
GroupKey = int | str | SessionName | None
"""Number of a day or week, a name, or a session; None for messages without a group."""
SumOrder = Literal["cost", "tokens", "duration"]
"""What groups that have no order in time are sorted by, the largest first."""


class UsageSelection(Struct, frozen=True, kw_only=True):
    """Selection of the messages and tool calls to count."""

    agent: str = ""
    model: str = ""
    """Part of the names of the models to count; empty for all."""
    since_us: int | None = None
    until_us: int | None = None
    session_id: str = ""
    sessions: frozenset[SessionName] | None = None
    """The selected sessions; None selects all."""


class _UsageAccumulator(Struct):
    """Running totals of a group of messages."""

    usage: Usage = field(default_factory=Usage)
    messages: int = 0
    cost: Cost = field(default_factory=Cost)
    models: dict[str, None] = field(default_factory=dict)
    agents: dict[str, None] = field(default_factory=dict)
    sessions: set[SessionName] = field(default_factory=set)
    times: list[int] = field(default_factory=list)

    def add(self, bucket: UsageBucket, cost: Cost) -> None:
        """Add the messages of a bucket; the caller adds to `sessions`."""
        self.usage += bucket.usage
        self.messages += bucket.messages
        self.cost = self.cost.plus(cost)
        self.models[bucket.model] = None
        self.agents[bucket.agent] = None
        if bucket.first_us is not None and bucket.last_us is not None:
            self.times += (bucket.first_us, bucket.last_us)

    def make_summary(self, key: str | None) -> UsageSummary:
        """Return the totals; `key` names the group."""
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


def is_included(stream: SessionKey, selection: UsageSelection) -> bool:
    """Return whether the stream belongs to a selected session."""
    return selection.sessions is None or get_session(stream) in selection.sessions


def get_session(stream: SessionKey) -> SessionName:
    """Return the agent and the id of the session that a stream belongs to."""
    return (stream.agent, stream.session_id)


class UsageStats:
    """Usage statistics of the store, at the prices of a table.

    A stream is a session without its subagents, or one subagent. The tariffs of models
    are looked up once. Days are those of `zone`; None stands for the local zone.
    """

    def __init__(
        self, queries: UsageProtocol, prices: PriceTable, zone: tzinfo | None = None
    ) -> None:
        self._queries = queries
        self._prices = prices
        self._zone = zone

    def sum_groups(
        self, by: Grouping, selection: UsageSelection, order: SumOrder = "cost"
    ) -> tuple[list[UsageSummary], UsageSummary]:
        """Return a summary for each group, and the total.

        Days, weeks and months are in chronological order, other groups start with the
        highest cost, the most tokens or the longest time.
        """
        accumulators: dict[GroupKey, _UsageAccumulator] = defaultdict(_UsageAccumulator)
        with_sessions = by in ("session", "project") or selection.sessions is not None
        for bucket in self.list_buckets(by, selection, with_sessions=with_sessions):
            key = self._get_group_key(by, bucket)
            accumulators[key].add(bucket, self.compute_cost(bucket))
            if bucket.session:
                self._add_session(accumulators[key], bucket.session)
        if not with_sessions:
            # The buckets do not contain the sessions of the groups.
            store_filter = self._make_store_filter(selection)
            for key, session in self._queries.list_owners(by, store_filter):
                accumulators[key].sessions.add(session)
            for accumulator in accumulators.values():
                accumulator.sessions -= self._hidden_sessions
        summaries = _sort_summaries(by, accumulators, order)
        return summaries, _sum_all(accumulators.values())

    def list_buckets(
        self, by: StoreGrouping, selection: UsageSelection, *, with_sessions: bool
    ) -> list[UsageBucket]:
        """Return sums of the selected messages by group, model and price band.

        With `with_sessions`, they are by session, too; else `session` may be None.
        """
        buckets = self._queries.group_usage(
            by,
            self._make_store_filter(selection),
            self._price_breaks,
            with_sessions=with_sessions or selection.sessions is not None,
        )
        return [
            bucket
            for bucket in buckets
            if bucket.session is None or is_included(bucket.session, selection)
        ]

    def sum_all(self, selection: UsageSelection) -> UsageSummary:
        """Return the total of the selected messages; sessions are not counted."""
        accumulator = _UsageAccumulator()
        for bucket in self._queries.group_usage(
            "agent",
            self._make_store_filter(selection),
            self._price_breaks,
            with_sessions=False,
        ):
            accumulator.add(bucket, self.compute_cost(bucket))
        return accumulator.make_summary(None)

    def sum_blocks(
        self, selection: UsageSelection
    ) -> tuple[list[UsageBlock], UsageSummary]:
        """Return the five-hour blocks, earliest first, and the total."""
        blocks: list[UsageBlock] = []
        accumulators = []
        for start, messages in split_into_blocks(self._list_messages(selection)):
            accumulator = _UsageAccumulator()
            for message in messages:
                accumulator.add(message, self.compute_cost(message))
                if message.session:
                    self._add_session(accumulator, message.session)
            accumulators.append(accumulator)
            blocks.append(
                UsageBlock(start, accumulator.make_summary(start.isoformat()))
            )
        return blocks, _sum_all(accumulators)

    def sum_session_costs(
        self, streams: Sequence[SessionKey]
    ) -> dict[SessionKey, Cost]:
        """Return the cost of each stream's own messages.

        A message that several streams share counts for only one of them. If that one is
        not among `streams`, the result has it, too, but its cost may be incomplete.
        """
        costs: dict[SessionKey, Cost] = defaultdict(Cost)
        # An empty tuple selects all streams, which is faster than a long list.
        store_filter = UsageFilter(
            streams=tuple(streams) if len(streams) <= _MAX_LISTED_STREAMS else ()
        )
        for bucket in self._queries.group_usage(
            "session", store_filter, self._price_breaks, with_sessions=True
        ):
            if bucket.session:
                cost = costs[bucket.session].plus(self.compute_cost(bucket))
                costs[bucket.session] = cost
        return costs

    def compute_cost(self, bucket: UsageBucket) -> Cost:
        """Return the cost of a bucket; without a known price, count it as unpriced."""
        tariff = self._tariffs.get(bucket.model)
        if tariff is None:
            return Cost(unpriced=bucket.messages)
        pico = tariff.compute_cost(bucket.usage, bucket.size, bucket.first_us)
        return Cost(pico, priced=bucket.messages)

    def _list_messages(self, selection: UsageSelection) -> list[UsageBucket]:
        """Return the selected messages that have a time, earliest first."""
        messages = self._queries.list_messages(self._make_store_filter(selection))
        return [
            message
            for message in messages
            if message.session and is_included(message.session, selection)
        ]

    def list_calls(self, selection: UsageSelection) -> list[ToolCall]:
        """Return the selected tool calls."""
        calls = self._queries.list_tool_calls(self._make_store_filter(selection))
        return [call for call in calls if is_included(call.session, selection)]

    def _add_session(self, accumulator: _UsageAccumulator, stream: SessionKey) -> None:
        """Count the stream's session; of a hidden session, only tokens are counted."""
        session = get_session(stream)
        if session not in self._hidden_sessions:
            accumulator.sessions.add(session)

    @cached_property
    def _hidden_sessions(self) -> frozenset[SessionName]:
        return frozenset(self._queries.list_hidden_sessions())

    @cached_property
    def projects(self) -> Mapping[SessionName, str]:
        """Project of each session.

        If the main log is missing, it is the project of a subagent.
        """
        projects: dict[SessionName, str] = {}
        for stream, project in self._queries.list_projects().items():
            if stream.source == MAIN or get_session(stream) not in projects:
                projects[get_session(stream)] = project
        return projects

    def list_unpriced_models(self, total: UsageSummary) -> list[str]:
        """Return the models of a total that have no known price."""
        return [model for model in total.models if self._tariffs.get(model) is None]

    @cached_property
    def _tariffs(self) -> Mapping[str, Tariff | None]:
        return {
            model: self._prices.find_tariff(model)
            for model in self._queries.list_models()
        }

    @cached_property
    def _price_breaks(self) -> PriceBreaks:
        return find_price_breaks(filter(None, self._tariffs.values()))

    def _make_store_filter(self, selection: UsageSelection) -> UsageFilter:
        first, last = self._queries.get_time_range()
        return UsageFilter(
            selection.agent,
            selection.since_us,
            selection.until_us,
            selection.session_id,
            utc_offsets=find_offsets(first, last, self._zone),
            model=selection.model,
        )

    def _get_group_key(self, by: Grouping, bucket: UsageBucket) -> GroupKey:
        """Return the key of a bucket's group; the store cannot group by project."""
        if by == "session" and bucket.session:
            return get_session(bucket.session)
        if by == "project" and bucket.session:
            return self.get_name(by, bucket)
        return bucket.key

    def get_name(
        self, by: Literal["model", "project", "agent"], bucket: UsageBucket
    ) -> str | None:
        """Return the model, project or agent of a bucket; None if it has none."""
        if by != "project":
            return getattr(bucket, by) or None
        if bucket.session is None:
            return None
        return self.projects.get(get_session(bucket.session)) or None

    def find_window(self, model: str) -> int | None:
        """Return the tokens that fit in a model's window, None if it is unknown."""
        tariff = self._tariffs.get(model)
        return tariff.window if tariff else None


def _sum_all(accumulators: Iterable[_UsageAccumulator]) -> UsageSummary:
    """Return the total; a session in several groups counts once."""
    total = _UsageAccumulator()
    for accumulator in accumulators:
        total.usage += accumulator.usage
        total.messages += accumulator.messages
        total.cost = total.cost.plus(accumulator.cost)
        total.models |= accumulator.models
        total.agents |= accumulator.agents
        total.sessions |= accumulator.sessions
        total.times += accumulator.times
    return total.make_summary(None)


def _sort_summaries(
    by: Grouping, accumulators: Mapping[GroupKey, _UsageAccumulator], order: SumOrder
) -> list[UsageSummary]:
    """Return summaries: days, weeks and months by time, others the largest first."""
    summaries = [
        accumulator.make_summary(_format_key(by, key))
        for key, accumulator in accumulators.items()
    ]
    if by in ("day", "week", "month"):
        return sorted(summaries, key=lambda summary: summary.key or "")
    return sorted(
        summaries,
        key=lambda summary: (
            -_get_rank(summary, order),
            -summary.cost.pico,
            -summary.tokens,
            summary.key or "",
        ),
    )


def _get_rank(summary: UsageSummary, order: SumOrder) -> float:
    """Return the value of a summary that an order sorts by."""
    match order:
        case "cost":
            return summary.cost.pico
        case "tokens":
            return summary.tokens
        case "duration":
            return summary.seconds


def _format_key(by: Grouping, key: GroupKey) -> str | None:
    """Return the name of a group: a date, a session id or another text."""
    if isinstance(key, tuple):
        _, session_id = key
        return session_id
    if isinstance(key, int):
        # Week 0 starts on the Monday three days before 1970-01-01.
        return format_day(7 * key - 3 if by == "week" else key)
    return key or None
