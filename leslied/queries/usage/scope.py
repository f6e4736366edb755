"""Which messages and tool calls a question about usage counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from leslied.model.query import Selection
from leslied.prices import load_prices
from leslied.queries.agent_names import check_agents
from leslied.queries.usage.totals import UsageSelection, UsageStats

if TYPE_CHECKING:
    from datetime import tzinfo

    from leslied.model.query import Filter, FilterKey
    from leslied.queries.context import QueryContext


class UsageScope(Struct, frozen=True, kw_only=True):
    """What to count: messages and calls that match the filters and the times."""

    filters: tuple[Filter, ...] = ()
    """Filters by agent, project and model."""
    since_us: int | None = None
    until_us: int | None = None
    """Exclusive upper bound."""
    zone: tzinfo | None = None
    """Time zone of days; None is the local zone."""

    @property
    def has_project(self) -> bool:
        """Whether only the sessions of a project are counted."""
        return bool(self._find_value("project"))

    def select(self, context: QueryContext) -> UsageSelection:
        """Return the selection for the store; raise UserError for unknown agents."""
        check_agents(context.reader, self.filters)
        return UsageSelection(
            agent=self._find_value("agent"),
            model=self._find_value("model"),
            since_us=self.since_us,
            until_us=self.until_us,
            sessions=self._select_sessions(context),
        )

    def _select_sessions(
        self, context: QueryContext
    ) -> frozenset[tuple[str, str]] | None:
        """Return the keys of the project's sessions; None to count all sessions."""
        if not self.has_project:
            return None
        # The model selects messages, not sessions: a session may use several models.
        filters = tuple(each for each in self.filters if each.key != "model")
        return frozenset(context.reader.select_sessions(Selection(filters=filters)))

    def _find_value(self, key: FilterKey) -> str:
        """Return the value of the first filter with this key, or an empty text."""
        return next((str(each.value) for each in self.filters if each.key == key), "")


def open_usage(context: QueryContext, scope: UsageScope) -> UsageStats:
    """Return usage statistics with list prices, and days in the scope's time zone."""
    return UsageStats(context.reader.usage, load_prices(), scope.zone)
