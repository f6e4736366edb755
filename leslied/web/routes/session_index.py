"""Endpoints of the page's list: all sessions in short, their costs, their subagents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leslied.queries.session_index import load_session_costs, load_session_index
from leslied.queries.subagents import load_subagents
from leslied.web.endpoint import Endpoint, make_object_schema

if TYPE_CHECKING:
    from leslied.queries.context import QueryContext
    from leslied.web.endpoint import Answer, Arguments


def _load_index(queries: QueryContext, _: Arguments) -> Answer:
    return load_session_index(queries).to_dict()


def _load_costs(queries: QueryContext, _: Arguments) -> Answer:
    return load_session_costs(queries).to_dict()


def _load_subagents(queries: QueryContext, arguments: Arguments) -> Answer:
    return load_subagents(queries, arguments["id"]).to_dict()


ENDPOINTS = (
    Endpoint(
        path="/sessions/index",
        about="All sessions in short, also hidden ones, most recently active first.",
        answer=_load_index,
        schema=make_object_schema(
            fields="array",
            agents="array",
            projects="array",
            models="array",
            sessions="array",
        ),
    ),
    Endpoint(
        path="/sessions/costs",
        about="What each session cost, by agent and id.",
        answer=_load_costs,
        schema=make_object_schema(costs="object"),
    ),
    Endpoint(
        path="/sessions/{id}/subagents",
        about="The subagents of a session, and which of them spawned which.",
        answer=_load_subagents,
        schema=make_object_schema(subagents="array"),
    ),
)
