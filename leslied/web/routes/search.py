"""Endpoints that find entries and sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from msgspec import structs

from leslied.queries.query_text import match_last_word_as_prefix
from leslied.queries.search import SearchMode
from leslied.queries.search_groups import GroupLimits, search_by_session
from leslied.queries.search_query import parse_query
from leslied.queries.session_titles import find_sessions_by_title
from leslied.queries.value_parsers import make_value_parsers
from leslied.web.endpoint import Endpoint, Param, make_object_schema

if TYPE_CHECKING:
    from leslied.queries.context import QueryContext
    from leslied.web.endpoint import Answer, Arguments

MAX_SEARCH_SECONDS = 2.0
"""Time after which a search in a large store stops and shows the hits so far."""


def _search(queries: QueryContext, arguments: Arguments) -> Answer:
    text = arguments["q"]
    # The mode `substring` finds parts of words anyway.
    is_completed = arguments["typing"] and arguments["sort"] != "substring"
    query = parse_query(
        match_last_word_as_prefix(text) if is_completed else text,
        make_value_parsers(queries.now, queries.home),
    )
    limits = GroupLimits(
        sessions=arguments["sessions"],
        hits_per_session=arguments["hits"],
        seconds=MAX_SEARCH_SECONDS,
    )
    return search_by_session(
        queries,
        text,
        structs.replace(query, with_hidden=arguments["all"]),
        arguments["sort"],
        limits,
    ).to_dict()


def _find_titles(queries: QueryContext, arguments: Arguments) -> Answer:
    return find_sessions_by_title(queries, arguments["q"], arguments["limit"]).to_dict()


ENDPOINTS = (
    Endpoint(
        path="/search",
        about="Entries that match a query, grouped by session, with facets.",
        answer=_search,
        schema=make_object_schema(
            sessions="array",
            session_count="integer",
            hit_count="integer",
            has_more="boolean",
            facets="array",
            filters="array",
            notes="array",
        ),
        params=(
            Param(
                name="q",
                about="The query, in the language of `leslied search`.",
                is_required=True,
                maximum=2000,
            ),
            Param(
                name="sort",
                about="Newest or best match first; `substring` also finds parts of "
                "words, newest first.",
                choices=get_args(SearchMode),
                default="newest",
            ),
            Param(
                name="typing",
                about="Complete the last word.",
                type="flag",
                default=False,
            ),
            Param(
                name="sessions",
                about="At most so many sessions.",
                type="integer",
                default=20,
                maximum=200,
            ),
            Param(
                name="hits",
                about="At most so many entries of each session.",
                type="integer",
                default=3,
                maximum=200,
            ),
            Param(
                name="all",
                about="Also search sessions with neither a prompt nor an answer.",
                type="flag",
                default=False,
            ),
        ),
    ),
    Endpoint(
        path="/titles",
        about="Sessions with these words in their title, last active first.",
        answer=_find_titles,
        schema=make_object_schema(sessions="array"),
        params=(
            Param(name="q", about="Words, or the beginning of an id.", default=""),
            Param(
                name="limit",
                about="At most so many sessions.",
                type="integer",
                default=8,
                maximum=50,
            ),
        ),
    ),
)
