"""Endpoints about sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from leslied.model.query import Order, Selection
from leslied.model.session import Status
from leslied.queries.annotations import select_marked
from leslied.queries.search_query import make_filter
from leslied.queries.session_list import load_session_list, load_sessions_by_id
from leslied.queries.show import show_session
from leslied.queries.unit_selection import UnitSelection
from leslied.queries.value_parsers import SESSION_FILTER_KEYS, make_value_parsers
from leslied.web.endpoint import Endpoint, Param, make_object_schema

if TYPE_CHECKING:
    from leslied.queries.context import QueryContext
    from leslied.web.endpoint import Answer, Arguments

_FILTERS = (
    Param(name="agent", about="Only sessions of this agent."),
    Param(name="project", about="Only sessions of this project."),
    Param(name="model", about="Only sessions whose model contains this text."),
    Param(
        name="status", about="Only sessions with this status.", choices=get_args(Status)
    ),
    Param(name="since", about="Only sessions active since: 2026-01-31, today, 7d."),
    Param(name="until", about="Only sessions that started on this day or before."),
)
_MARK_FILTERS = (
    Param(name="tag", about="Only sessions with this tag."),
    Param(
        name="starred", about="Only sessions with a star.", type="flag", default=False
    ),
)


def _list_sessions(queries: QueryContext, arguments: Arguments) -> Answer:
    if arguments["ids"]:
        return load_sessions_by_id(queries, arguments["ids"].split(",")).to_dict()
    parsers = make_value_parsers(queries.now, queries.home, is_end=True)
    selection = Selection(
        filters=tuple(
            make_filter(key, arguments[name], parsers)
            for name, key in SESSION_FILTER_KEYS.items()
            if arguments[name]
        ),
        order=arguments["sort"],
        limit=arguments["limit"],
        with_hidden=arguments["all"],
        only=select_marked(
            queries, is_starred=arguments["starred"], tag=arguments["tag"]
        ),
    )
    return load_session_list(queries, selection, with_costs=True).to_dict()


def _show_session(queries: QueryContext, arguments: Arguments) -> Answer:
    return show_session(queries, arguments["id"], UnitSelection()).to_dict()


ENDPOINTS = (
    Endpoint(
        path="/sessions",
        about="Sessions, most recently active first.",
        answer=_list_sessions,
        schema=make_object_schema(sessions="array", hidden_sessions="integer"),
        params=(
            *_FILTERS,
            *_MARK_FILTERS,
            Param(
                name="ids",
                about="Exactly the sessions with these ids, joined by commas; other "
                "parameters are ignored.",
                maximum=8000,
            ),
            Param(
                name="sort", about="Order.", choices=get_args(Order), default="recent"
            ),
            Param(
                name="limit",
                about="At most so many sessions.",
                type="integer",
                default=200,
                maximum=50_000,
            ),
            Param(
                name="all",
                about="Also sessions with neither a prompt nor an answer.",
                type="flag",
                default=False,
            ),
        ),
    ),
    Endpoint(
        path="/sessions/{id}",
        about="A session with its units and entries.",
        answer=_show_session,
        schema=make_object_schema(
            session="object", units="array", resume_command="string|null"
        ),
    ),
)
