"""Fast queries for shell completion: ids, agents and folders."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self

from leslied.store.connection import open_reader, translate_sqlite_errors
from leslied.store.read.filter_sql import make_project_sql
from leslied.store.read.session_queries import list_agent_names

if TYPE_CHECKING:
    from pathlib import Path

_TITLE = "coalesce(nullif(title, ''), substr(first_prompt, 1, 1000))"
_LAST_ACTIVE_US = "coalesce(ended_us, started_us, 0)"


class SessionCompletion(NamedTuple):
    """Ids and title of a session, to offer as a completion."""

    session_id: str
    thread_id: str
    title: str


class CompletionReader:
    """Read-only connection for completion queries. Use it as a context manager."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._db = open_reader(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    @translate_sqlite_errors
    def list_sessions(self, prefix: str, limit: int) -> list[SessionCompletion]:
        """List sessions whose id or thread id has this prefix, last active first."""
        rows = self._db.execute(
            f"SELECT session_id, thread_id, {_TITLE} FROM session "
            "WHERE source = 'main' AND entries > 0 "
            "AND (instr(session_id, ?1) = 1 OR instr(thread_id, ?1) = 1 OR ?1 = '') "
            f"ORDER BY {_LAST_ACTIVE_US} DESC LIMIT ?2",
            (prefix, limit),
        )
        return [SessionCompletion(*row) for row in rows]

    @translate_sqlite_errors
    def list_agents(self) -> list[str]:
        """List the agents that have sessions."""
        return list_agent_names(self._db)

    @translate_sqlite_errors
    def list_projects(self) -> list[str]:
        """List the projects of sessions, last active first."""
        rows = self._db.execute(
            f"SELECT {make_project_sql('s')} FROM session s "
            "WHERE cwd <> '' AND source = 'main' "
            f"GROUP BY 1 ORDER BY max({_LAST_ACTIVE_US}) DESC"
        )
        return [project for (project,) in rows]
