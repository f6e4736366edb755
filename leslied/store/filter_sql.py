"""Compile filters to SQL conditions over sessions, streams and entries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leslied.model.record import MAIN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from leslied.model.query import Filter

    Condition = tuple[str, list[Any]]

SESSION_GROUPS = (
    f"(SELECT agent, session_id, max(CASE WHEN source = '{MAIN}' THEN id END) AS main, "
    "min(id) AS first, max(ended_us) AS ended_us, "
    f"sum(source <> '{MAIN}') AS subagents "
    "FROM session WHERE entries > 0 GROUP BY agent, session_id)"
)
"""One row per session with its subagents; `main` is NULL if its log is missing."""
SESSION_GROUPS_WITH_MAIN = (
    f"{SESSION_GROUPS} f JOIN session m ON m.id = ifnull(f.main, f.first)"
)

_TOOL = (
    "(r.type = 'tool_use' AND r.tool_name {like} "
    "OR r.type = 'tool_result' AND r.tool_call_id IN (SELECT c.tool_call_id "
    "FROM record c WHERE c.type = 'tool_use' AND c.tool_name {like}))"
)
_LIKE = "LIKE ? ESCAPE '\\'"
_ERROR = (
    "(r.type = 'error' OR r.type = 'tool_result' AND r.metadata <> '' "
    "AND ifnull(json_extract(r.metadata, '$.is_error'), 0))"
)


def sessions_where(filters: Iterable[Filter], quiet_us: int) -> Condition:
    """Compile session filters over SESSION_GROUPS_WITH_MAIN.

    Sessions that are quiet since `quiet_us` count as stopped.
    """
    status = (
        "CASE WHEN m.stopped_us IS NOT NULL "
        f"OR ifnull(ifnull(f.ended_us, m.started_us), 0) < {quiet_us:d} "
        "AND NOT m.is_live THEN 'stopped' "
        "WHEN m.has_turn_ended THEN 'idle' ELSE 'active' END"
    )
    tests: dict[str, Callable[[Any], Condition]] = {
        "agent": lambda name: ("m.agent = ?", [name]),
        "project": _test_project,
        "thread": _test_thread,
        "session": lambda text: (f"m.session_id {_LIKE}", [escape_like(text) + "%"]),
        "status": lambda word: (f"{status} = ?", [word]),
    }
    return _join(filters, tests)


def session_list_where(filters: Iterable[Filter], quiet_us: int) -> Condition:
    """Compile session filters, and also the session's time and model."""
    filters = list(filters)
    tests: dict[str, Callable[[Any], Condition]] = {
        "model": lambda text: (f"m.model {_LIKE}", [f"%{escape_like(text)}%"]),
        "after": lambda time: ("f.ended_us >= ?", [time]),
        "before": lambda time: ("ifnull(m.started_us, f.ended_us) < ?", [time]),
    }
    return _and(sessions_where(filters, quiet_us), _join(filters, tests))


def entries_where(filters: Iterable[Filter]) -> Condition:
    """Compile entry filters over a record `r`."""
    tests: dict[str, Callable[[Any], Condition]] = {
        "tool": _test_tool,
        "model": lambda text: (f"r.model {_LIKE}", [f"%{escape_like(text)}%"]),
        "role": lambda word: ("r.role = ?", [word]),
        "after": lambda time: ("r.created_us >= ?", [time]),
        "before": lambda time: ("r.created_us < ?", [time]),
    }
    filters = list(filters)
    return _and(_join(filters, tests), _is_condition(filters, "error", _ERROR))


def tools_where(filters: Iterable[Filter]) -> Condition:
    """Compile tool filters that are not negated, over a call `c`."""
    tool_filters = [f for f in filters if f.key == "tool" and not f.is_negated]
    return _join(
        tool_filters,
        {"tool": lambda text: (f"c.tool_name {_LIKE}", [_to_like_pattern(text)])},
    )


def streams_where(filters: Iterable[Filter], quiet_us: int) -> Condition:
    """Compile session filters over a stream `s`, a session or a subagent."""
    filters = list(filters)
    is_subagent = _is_condition(filters, "subagent", f"s.source <> '{MAIN}'")
    where, values = sessions_where(filters, quiet_us)
    if where == "1":
        return is_subagent
    in_group = (
        "(s.agent, s.session_id) IN "
        f"(SELECT f.agent, f.session_id FROM {SESSION_GROUPS_WITH_MAIN} WHERE {where})"
    )
    return _and((in_group, values), is_subagent)


def _join(
    filters: Iterable[Filter], tests: dict[str, Callable[[Any], Condition]]
) -> Condition:
    """Join filters: OR within a key, AND between keys, NOT for negated ones."""
    included: dict[str, list[Condition]] = {}
    excluded: list[Condition] = []
    for item in filters:
        if item.key in tests:
            group = excluded if item.is_negated else included.setdefault(item.key, [])
            group.append(tests[item.key](item.value))
    parts = [f"({' OR '.join(sql for sql, _ in group)})" for group in included.values()]
    parts += [f"NOT ({sql})" for sql, _ in excluded]
    values = [
        value
        for group in (*included.values(), excluded)
        for _, bound in group
        for value in bound
    ]
    return " AND ".join(parts) or "1", values


def _is_condition(filters: Iterable[Filter], word: str, test: str) -> Condition:
    """Compile `is:word` and `-is:word` to a test."""
    matching = [item for item in filters if (item.key, item.value) == ("is", word)]
    return _join(matching, {"is": lambda _: (test, [])})


def _and(one: Condition, other: Condition) -> Condition:
    return f"{one[0]} AND {other[0]}", [*one[1], *other[1]]


def _test_project(project: str) -> Condition:
    """Match an absolute folder and everything below it, or any folder of a name."""
    if project.startswith("/"):
        top = project.rstrip("/")
        return "(m.cwd = ? OR substr(m.cwd, 1, ?) = ?)", [top, len(top) + 1, top + "/"]
    return f"(m.cwd {_LIKE} OR m.cwd {_LIKE})", [
        f"%/{escape_like(project)}",
        escape_like(project),
    ]


def _test_thread(thread: str) -> Condition:
    start = "thread-" + escape_like(thread.removeprefix("thread-"))
    return f"(m.thread_id {_LIKE} OR m.thread_id = ?)", [start + "%", thread]


def _test_tool(tool: str) -> Condition:
    return _TOOL.format(like=_LIKE), [_to_like_pattern(tool)] * 2


def _to_like_pattern(text: str) -> str:
    """Return a LIKE pattern in which `*` matches any characters."""
    return escape_like(text).replace("*", "%")


def escape_like(text: str) -> str:
    """Escape the text so that `LIKE` matches it literally."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
