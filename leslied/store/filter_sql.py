"""Filters as SQL: over sessions with their subagents, and over entries."""

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
"""Sessions with their subagents, one row each; `main` is NULL where its log is gone."""
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
    """Over `HEADS`; sessions silent since `quiet_us` count as stopped."""
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
    """As above, and the whole session's time and model."""
    filters = list(filters)
    tests: dict[str, Callable[[Any], Condition]] = {
        "model": lambda text: (f"m.model {_LIKE}", [f"%{escape_like(text)}%"]),
        "after": lambda time: ("f.ended_us >= ?", [time]),
        "before": lambda time: ("ifnull(m.started_us, f.ended_us) < ?", [time]),
    }
    return _and(sessions_where(filters, quiet_us), _join(filters, tests))


def entries_where(filters: Iterable[Filter]) -> Condition:
    """Over a record `r`."""
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
    """Over a call `c`: whether it is of a wanted tool."""
    names = [each for each in filters if each.key == "tool" and not each.is_negated]
    return _join(
        names, {"tool": lambda text: (f"c.tool_name {_LIKE}", [_to_like_pattern(text)])}
    )


def streams_where(filters: Iterable[Filter], quiet_us: int) -> Condition:
    """Over a session `s`, which may be a subagent."""
    filters = list(filters)
    below = _is_condition(filters, "subagent", f"s.source <> '{MAIN}'")
    where, values = sessions_where(filters, quiet_us)
    if where == "1":
        return below
    family = (
        "(s.agent, s.session_id) IN "
        f"(SELECT f.agent, f.session_id FROM {SESSION_GROUPS_WITH_MAIN} WHERE {where})"
    )
    return _and((family, values), below)


def _join(
    filters: Iterable[Filter], tests: dict[str, Callable[[Any], Condition]]
) -> Condition:
    """All keys hold, each by one of its values; nothing that is left out does."""
    wanted: dict[str, list[Condition]] = {}
    refused: list[Condition] = []
    for each in filters:
        if each.key in tests:
            test = tests[each.key](each.value)
            (refused if each.is_negated else wanted.setdefault(each.key, [])).append(
                test
            )
    parts = [f"({' OR '.join(sql for sql, _ in group)})" for group in wanted.values()]
    parts += [f"NOT ({sql})" for sql, _ in refused]
    values = [
        value
        for group in (*wanted.values(), refused)
        for _, bound in group
        for value in bound
    ]
    return " AND ".join(parts) or "1", values


def _is_condition(filters: Iterable[Filter], word: str, test: str) -> Condition:
    """`is:word` and `-is:word`."""
    named = [each for each in filters if (each.key, each.value) == ("is", word)]
    return _join(named, {"is": lambda _: (test, [])})


def _and(one: Condition, other: Condition) -> Condition:
    return f"{one[0]} AND {other[0]}", [*one[1], *other[1]]


def _test_project(project: str) -> Condition:
    """A folder and what is below it, or every folder of a name."""
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
    """`*` stands for any characters."""
    return escape_like(text).replace("*", "%")


def escape_like(text: str) -> str:
    """The text as `LIKE` takes it literally."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
