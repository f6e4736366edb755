"""Facts about supported agents: their names and their environment variables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leslied.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from leslied.model.query import Filter
    from leslied.store import StoreQueries


def check_agents(reader: StoreQueries, filters: Iterable[Filter]) -> None:
    """Raise UserError if a filter names an unknown agent."""
    names = [str(condition.value) for condition in filters if condition.key == "agent"]
    if not names:
        return
    agents_with_sessions = reader.list_agent_names()
    for name in names:
        if name not in agents_with_sessions and not _is_supported(name):
            raise UserError(
                f"There is no agent {name!r}.",
                "Agents with sessions: "
                f"{', '.join(agents_with_sessions) or 'none yet'}",
            )


def _is_supported(name: str) -> bool:
    """Return whether leslied supports the agent, even if it has no session yet."""
    from leslied.agents import load_adapters  # noqa: PLC0415 - rarely needed

    return name in load_adapters()


def list_agent_variables() -> set[str]:
    """Return the environment variables that say where agents keep their files."""
    from leslied.agents import load_adapters  # noqa: PLC0415 - rarely needed

    return {name for each in load_adapters().values() for name in each.env_vars}
