"""Values that the filters of statistics can have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable

    from leslied.queries.context import QueryContext


class FilterChoices(Struct, frozen=True):
    """Every agent, model and project that the store knows, sorted by name."""

    agents: list[str]
    models: list[str]
    projects: list[str]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "agents": self.agents,
            "models": self.models,
            "projects": self.projects,
        }


def load_choices(context: QueryContext) -> FilterChoices:
    """Return the values that filters can have."""
    reader = context.reader
    return FilterChoices(
        _list_names(context, reader.list_agent_names()),
        _list_names(context, reader.usage.list_models()),
        _list_names(context, reader.usage.list_projects().values()),
    )


def _list_names(context: QueryContext, names: Iterable[str]) -> list[str]:
    return sorted({context.redact(name) for name in set(names) if name})
