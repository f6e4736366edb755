"""Agents as people name them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leslied.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from leslied.model.query import Filter
    from leslied.store import StoreReader


def check_agents(reader: StoreReader, filters: Iterable[Filter]) -> None:
    """Every agent that a filter names is one; a name that is none is told."""
    wanted = [str(each.value) for each in filters if each.key == "agent"]
    if not wanted:
        return
    found = reader.list_agent_names()
    for name in wanted:
        if name not in found and not _is_supported(name):
            raise UserError(
                f"Nothing is known of an agent {name!r}.",
                f"Those with sessions: {', '.join(found) or 'none yet'}",
            )


def _is_supported(name: str) -> bool:
    """Whether leslied reads such an agent, though it has no session so far."""
    from leslied.agents import load_adapters  # noqa: PLC0415 - most have sessions

    return name in load_adapters()
