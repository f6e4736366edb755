"""A session that is being read, its subagents, and which unit spawned each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from leslied.errors import UserError
from leslied.model.session import Unit
from leslied.queries.resolve import resolve_id
from leslied.queries.sessions import add_costs
from leslied.sessions.subagents import ParentUnit, add_spawn_calls, find_parents

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leslied.model.record import SessionKey
    from leslied.model.session import SessionSummary
    from leslied.queries.context import QueryContext
    from leslied.queries.resolve import ResolvedId


@dataclass(frozen=True, slots=True)
class ReadSession:
    """A session with its subagents; nothing in it is redacted."""

    resolved: ResolvedId
    subagents: tuple[SessionSummary, ...]
    parents: Mapping[SessionKey, ParentUnit]

    @property
    def summary(self) -> SessionSummary:
        """The session's summary."""
        return self.resolved.session

    def get_stream(self, subagent_id: str) -> SessionSummary:
        """Return the session, or one of its subagents; raise UserError if unknown."""
        if not subagent_id:
            return self.summary
        for child in self.subagents:
            if child.subagent_id == subagent_id:
                return child
        raise UserError(
            f"The session has no subagent {subagent_id!r}.", "Reload the page."
        )

    def list_spawned_subagents(self, key: SessionKey, unit: int) -> tuple[Unit, ...]:
        """Return the subagents that a unit spawned, each as a unit without entries."""
        return tuple(
            Unit(
                number=0,
                chat_id="",
                summary=child,
                entries=(),
                prompt="",
                stop_reason="unknown",
                agent_mode="agent",
            )
            for child in self.subagents
            if self.parents[child.key] == (key, unit)
        )

    def list_ancestors(self, key: SessionKey) -> list[str]:
        """Return the ids of the subagents from the outermost one down to a stream.

        The list is empty for the session itself.
        """
        ids: list[str] = []
        while key in self.parents:
            ids.insert(0, key.subagent_id)
            key = self.parents[key].key
        return ids


def open_session(
    context: QueryContext, id_prefix: str, *, with_costs: bool = False
) -> ReadSession:
    """Return the session that an id names; raise UserError if it does not exist."""
    reader = context.reader
    resolved = resolve_id(reader, id_prefix, with_costs=with_costs)
    main = resolved.session
    with_hidden = main.is_hidden or bool(resolved.subagent)
    # If the main log is missing, the subagent `stand_in` is shown as the session.
    subagents = [
        child
        for child in reader.list_children(main)
        if (with_hidden or not child.is_hidden) and child.key != main.stand_in
    ]
    if with_costs:
        subagents = add_costs(reader, subagents)
    lookup = reader.reading.get_spawn_lookup(main)
    subagents = add_spawn_calls(subagents, lookup)
    parents = find_parents(main.key, subagents, lookup)
    return ReadSession(resolved, tuple(subagents), parents)
