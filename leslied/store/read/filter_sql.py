"""Compile filters to SQL conditions over sessions, streams and entries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leslied.model.record import MAIN
from leslied.sessions.visibility import CONTENT_TOTALS, WARMUP
from leslied.store.streams import from_active_subagents

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from leslied.model.query import Filter

    Condition = tuple[str, list[Any]]
    """SQL expression, and the values of its placeholders."""


def compile_is_hidden(table: str) -> str:
    """Return SQL for whether a row of `session` is hidden; `table` is its alias.

    A session is hidden while it has no prompt and no output of its agent; a subagent is
    hidden if it only fills a cache.
    """
    is_empty = " AND ".join(f"{table}.{name} IN (0, '')" for name in CONTENT_TOTALS)
    return (
        f"CASE {table}.source WHEN '{MAIN}' THEN {is_empty} "
        f"ELSE {table}.agent_type = '{WARMUP}' END"
    )


IS_HIDDEN = compile_is_hidden("session")
IS_GROUP_HIDDEN = (
    f"({compile_is_hidden('h')} AND NOT EXISTS (SELECT 1 FROM session s "
    "WHERE s.agent = h.agent AND s.session_id = h.session_id AND s.entries > 0 "
    f"AND NOT {compile_is_hidden('s')}))"
)
"""Condition on a stream `h`: all streams of its session are hidden."""
SESSION_GROUPS = (
    f"(SELECT agent, session_id, max(CASE WHEN source = '{MAIN}' THEN id END) AS main, "
    "min(id) AS first, max(ended_us) AS ended_us, "
    f"sum(source <> '{MAIN}') AS subagents, min({IS_HIDDEN}) AS is_hidden "
    "FROM session WHERE entries > 0 GROUP BY agent, session_id)"
)
"""One row per session with its subagents; `main` is NULL if its log is missing."""
SESSION_GROUPS_WITH_MAIN = (
    f"{SESSION_GROUPS} f JOIN session m ON m.id = ifnull(f.main, f.first)"
)
"""Groups `f`, each with its main session `m`, or else its first subagent."""

ALWAYS_TRUE = "1"
"""Condition that filters compile to if none of them applies."""
_TOOL_CONDITION = (
    "(r.type = 'tool_use' AND r.tool_name {like} "
    "OR r.type = 'tool_result' AND r.tool_call_id IN (SELECT c.tool_call_id "
    "FROM record c WHERE c.type = 'tool_use' AND c.tool_name {like}))"
)
_LIKE = "LIKE ? ESCAPE '\\'"
IS_ERROR = (
    "(r.type = 'error' OR r.type = 'tool_result' AND r.metadata <> '' "
    "AND ifnull(json_extract(r.metadata, '$.is_error'), 0))"
)
"""Condition on a record `r`: it is an error, or the result of a call that failed."""


def compile_status(stop_cutoff_us: int) -> str:
    """Return SQL for the status of a session of SESSION_GROUPS_WITH_MAIN.

    A session without entries since `stop_cutoff_us` counts as stopped, unless a process
    works on it.
    """
    return (
        "CASE WHEN m.stopped_us IS NOT NULL "
        f"OR ifnull(ifnull(f.ended_us, m.started_us), 0) < {stop_cutoff_us:d} "
        "AND NOT m.is_live THEN 'stopped' "
        f"WHEN m.has_turn_ended AND NOT EXISTS (SELECT 1 {from_active_subagents('m')}) "
        "THEN 'idle' ELSE 'active' END"
    )


def compile_session_filters(
    filters: Iterable[Filter], stop_cutoff_us: int
) -> Condition:
    """Compile session filters over SESSION_GROUPS_WITH_MAIN."""
    status_sql = compile_status(stop_cutoff_us)
    compilers: dict[str, Callable[[Any], Condition]] = {
        **_make_id_compilers("m"),
        "project": _compile_project,
        "thread": _compile_thread,
        "status": lambda status: (f"{status_sql} = ?", [status]),
    }
    return _compile(filters, compilers)


def compile_session_list_filters(
    filters: Iterable[Filter], stop_cutoff_us: int
) -> Condition:
    """Compile session filters, and filters on a session's time and model.

    The condition is over SESSION_GROUPS_WITH_MAIN.
    """
    filters = list(filters)
    compilers: dict[str, Callable[[Any], Condition]] = {
        "model": lambda text: (f"m.model {_LIKE}", [f"%{escape_like(text)}%"]),
        "after": lambda time: ("f.ended_us >= ?", [time]),
        "before": lambda time: ("ifnull(m.started_us, f.ended_us) < ?", [time]),
    }
    return _and(
        compile_session_filters(filters, stop_cutoff_us), _compile(filters, compilers)
    )


def compile_entry_filters(filters: Iterable[Filter]) -> Condition:
    """Compile entry filters to a condition on a record `r`."""
    compilers: dict[str, Callable[[Any], Condition]] = {
        "tool": _compile_tool,
        "model": lambda text: (f"r.model {_LIKE}", [f"%{escape_like(text)}%"]),
        "role": lambda role: ("r.role = ?", [role]),
        "after": lambda time: ("r.created_us >= ?", [time]),
        "before": lambda time: ("r.created_us < ?", [time]),
    }
    filters = list(filters)
    return _and(
        _compile(filters, compilers),
        _compile_is_filters(filters, "error", IS_ERROR),
    )


def compile_tool_filters(filters: Iterable[Filter]) -> Condition:
    """Compile tool filters to a condition on a call `c`; ignore negated filters."""
    tool_filters = [f for f in filters if f.key == "tool" and not f.is_negated]
    return _compile(
        tool_filters,
        {"tool": lambda text: (f"c.tool_name {_LIKE}", [_to_like_pattern(text)])},
    )


def compile_stream_filters(filters: Iterable[Filter], stop_cutoff_us: int) -> Condition:
    """Compile session filters to a condition on a stream `s`."""
    filters = list(filters)
    subagent_condition = _compile_is_filters(
        filters, "subagent", f"s.source <> '{MAIN}'"
    )
    # Every stream of a session has the session's agent and id.
    direct_condition = _compile(filters, _make_id_compilers("s"))
    stream_condition = _and(direct_condition, subagent_condition)
    group_filters = [f for f in filters if f.key not in ("agent", "session")]
    where, values = compile_session_filters(group_filters, stop_cutoff_us)
    if where == ALWAYS_TRUE:
        return stream_condition
    group_condition = (
        "(s.agent, s.session_id) IN "
        f"(SELECT f.agent, f.session_id FROM {SESSION_GROUPS_WITH_MAIN} WHERE {where})"
    )
    return _and((group_condition, values), stream_condition)


def _make_id_compilers(table: str) -> dict[str, Callable[[Any], Condition]]:
    """Return compilers of the filters on the agent and the id of a session."""
    return {
        "agent": lambda name: (f"{table}.agent = ?", [name]),
        "session": lambda text: (
            f"{table}.session_id {_LIKE}",
            [escape_like(text) + "%"],
        ),
    }


def _compile(
    filters: Iterable[Filter], compilers: dict[str, Callable[[Any], Condition]]
) -> Condition:
    """Compile the filters whose key is in `compilers`; ignore other filters.

    Filters with the same key are joined with OR, different keys and negated filters
    with AND.
    """
    included: dict[str, list[Condition]] = {}
    excluded: list[Condition] = []
    for item in filters:
        if item.key in compilers:
            group = excluded if item.is_negated else included.setdefault(item.key, [])
            group.append(compilers[item.key](item.value))
    parts = [f"({' OR '.join(sql for sql, _ in group)})" for group in included.values()]
    parts += [f"NOT ({sql})" for sql, _ in excluded]
    values = [
        value
        for group in (*included.values(), excluded)
        for _, condition_values in group
        for value in condition_values
    ]
    return " AND ".join(parts) or ALWAYS_TRUE, values


def _compile_is_filters(
    filters: Iterable[Filter], value: str, condition: str
) -> Condition:
    """Compile `is:value` to a condition, and `-is:value` to its negation."""
    is_filters = [item for item in filters if (item.key, item.value) == ("is", value)]
    return _compile(is_filters, {"is": lambda _: (condition, [])})


def _and(left: Condition, right: Condition) -> Condition:
    (left_sql, left_values), (right_sql, right_values) = left, right
    if ALWAYS_TRUE in (left_sql, right_sql):
        return right if left_sql == ALWAYS_TRUE else left
    return f"{left_sql} AND {right_sql}", [*left_values, *right_values]


def make_project_sql(session: str) -> str:
    """Return SQL for the project of a session, by the alias of its table."""
    return (
        f"ifnull((SELECT project FROM project_folder WHERE path = {session}.cwd), "
        f"{session}.cwd)"
    )


def _compile_project(project: str) -> Condition:
    """Match the projects with a name, or those that belong to an absolute path."""
    if project.startswith("/"):
        return _compile_project_path(project.rstrip("/"))
    is_named = " OR ".join(
        f"{column} {_LIKE} OR {column} {_LIKE}"
        for column in ("project", "repository", "worktree")
    )
    patterns = [f"%/{escape_like(project)}", escape_like(project)]
    # A working directory that is not looked up yet counts as a project.
    condition = (
        "(m.cwd IN (SELECT path FROM project_folder WHERE project IN "
        f"(SELECT project FROM project_folder WHERE {is_named})) "
        f"OR (m.cwd {_LIKE} OR m.cwd {_LIKE}) "
        "AND m.cwd NOT IN (SELECT path FROM project_folder))"
    )
    return condition, patterns * 4


def _compile_project_path(path: str) -> Condition:
    """Match the project that contains the path, and everything at or below the path.

    The path may be in any working tree, and in a folder that no longer exists.
    """
    # All folders that contain the path are prefixes of it, so max() is the innermost.
    innermost = (
        "(SELECT max(folder) FROM (SELECT worktree AS folder FROM project_folder "
        "UNION SELECT repository FROM project_folder WHERE worktree <> '') "
        "WHERE folder <> '' AND substr(?, 1, length(folder) + 1) = folder || '/')"
    )
    projects = (
        "SELECT project FROM project_folder WHERE project = ? "
        f"OR substr(project, 1, ?) = ? OR worktree = {innermost} "
        f"OR worktree <> '' AND repository = {innermost}"
    )
    prefix = path + "/"
    path_values = [path, len(prefix), prefix]
    condition = (
        f"(m.cwd IN (SELECT path FROM project_folder WHERE project IN ({projects})) "
        "OR m.cwd = ? OR substr(m.cwd, 1, ?) = ?)"
    )
    return condition, [*path_values, prefix, prefix, *path_values]


def _compile_thread(thread: str) -> Condition:
    """Match a prefix of the id, with or without `thread-`, or the whole id."""
    prefix = "thread-" + escape_like(thread.removeprefix("thread-"))
    return f"(m.thread_id {_LIKE} OR m.thread_id = ?)", [prefix + "%", thread]


def _compile_tool(tool: str) -> Condition:
    """Match the calls of a tool, and their results."""
    return _TOOL_CONDITION.format(like=_LIKE), [_to_like_pattern(tool)] * 2


def _to_like_pattern(text: str) -> str:
    """Return a LIKE pattern in which `*` matches any characters."""
    return escape_like(text).replace("*", "%")


def escape_like(text: str) -> str:
    """Escape the text so that `LIKE` matches it literally."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
