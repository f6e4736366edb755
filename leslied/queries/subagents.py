"""The subagents of a session, and which of them spawned which."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from leslied.queries.resolve import resolve_id
from leslied.queries.session_list import make_listed_sessions
from leslied.queries.sessions import add_costs
from leslied.sessions.subagents import add_spawn_calls, find_parents

if TYPE_CHECKING:
    from leslied.queries.context import QueryContext
    from leslied.queries.session_list import ListedSession


class ListedSubagent(Struct, frozen=True):
    """A subagent, and the subagent that spawned it."""

    session: ListedSession
    spawned_by: str
    """Id of a subagent; empty if the main session spawned it."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form; the totals do not include subagents of this one."""
        summary = self.session.summary
        return {
            **self.session.to_dict(),
            "agent_type": summary.agent_type or None,
            "description": summary.description or None,
            "spawned_by": self.spawned_by or None,
        }


class SubagentList(Struct, frozen=True):
    """The subagents of one session, in the order in which they were read."""

    subagents: tuple[ListedSubagent, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"subagents": [subagent.to_dict() for subagent in self.subagents]}


def load_subagents(context: QueryContext, id_prefix: str) -> SubagentList:
    """Return the subagents of a session that are not hidden, with their costs.

    Raise UserError if the id is unknown or ambiguous.
    """
    reader = context.reader
    main = resolve_id(reader, id_prefix).session
    children = [child for child in reader.list_children(main) if not child.is_hidden]
    lookup = reader.reading.get_spawn_lookup(main)
    children = add_spawn_calls(children, lookup)
    parents = find_parents(main.key, children, lookup)
    sessions = make_listed_sessions(context, add_costs(reader, children))
    return SubagentList(
        tuple(
            ListedSubagent(session, context.redact(parents[child.key].key.subagent_id))
            for child, session in zip(children, sessions, strict=True)
        )
    )
