"""Endpoints of the reader: one session, unit by unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leslied.queries.reading.copies import FORMATS, render_copy
from leslied.queries.reading.entries import load_entry
from leslied.queries.reading.images import load_image, load_images
from leslied.queries.reading.messages import (
    MessageAddress,
    find_position,
    load_messages,
    load_start,
    reveal_messages,
)
from leslied.queries.reading.outline import load_outline
from leslied.web.endpoint import Content, Endpoint, Param, make_object_schema

if TYPE_CHECKING:
    from leslied.queries.context import QueryContext
    from leslied.web.endpoint import Answer, Arguments

_MAX_NUMBER = 10**9
_UNIT = Param(
    name="unit",
    about="Number of the unit: 0 for what precedes the first prompt or for a subagent.",
    type="integer",
    default=0,
    maximum=_MAX_NUMBER,
)
_PAGE = (
    _UNIT,
    Param(
        name="page",
        about="Number of the page; the first is 0.",
        type="integer",
        default=0,
        maximum=_MAX_NUMBER,
    ),
    Param(name="subagent", about="Id of a subagent of the session.", default=""),
)


def _load_outline(queries: QueryContext, arguments: Arguments) -> Answer:
    return load_outline(queries, arguments["id"], arguments["first"]).to_dict()


def _load_start(queries: QueryContext, arguments: Arguments) -> Answer:
    return load_start(queries, arguments["id"]).to_dict()


def _load_messages(queries: QueryContext, arguments: Arguments) -> Answer:
    return load_messages(queries, _make_address(arguments)).to_dict()


def _reveal_messages(queries: QueryContext, arguments: Arguments) -> Answer:
    return reveal_messages(queries, _make_address(arguments)).to_dict()


def _find_position(queries: QueryContext, arguments: Arguments) -> Answer:
    return find_position(queries, arguments["id"], arguments["entry"]).to_dict()


def _load_entry(queries: QueryContext, arguments: Arguments) -> Answer:
    return load_entry(queries, arguments["id"], arguments["entry"]).to_dict()


def _load_images(queries: QueryContext, arguments: Arguments) -> Answer:
    return load_images(queries, arguments["id"], arguments["entry"]).to_dict()


def _load_image(queries: QueryContext, arguments: Arguments) -> Answer:
    number = Param(name="number", about="", type="integer").parse(arguments["number"])
    image = load_image(queries, arguments["id"], arguments["entry"], number)
    return Content(image.data, image.media_type)


def _render_copy(queries: QueryContext, arguments: Arguments) -> Answer:
    unit = arguments["unit"]
    text = render_copy(queries, arguments["id"], arguments["format"], unit)
    return Content(text.encode(), "text/plain; charset=utf-8")


def _make_address(arguments: Arguments) -> MessageAddress:
    return MessageAddress(
        session_id=arguments["id"],
        unit=arguments["unit"],
        page=arguments["page"],
        subagent=arguments["subagent"],
    )


_MESSAGES_SCHEMA = make_object_schema(
    unit="integer",
    page="integer",
    pages="integer",
    total="integer",
    messages="array",
    subagents="array",
)
ENDPOINTS = (
    Endpoint(
        path="/sessions/{id}/start",
        about="A session's header and its first messages, quickly.",
        answer=_load_start,
        schema=make_object_schema(session="object", page="object|null"),
    ),
    Endpoint(
        path="/sessions/{id}/outline",
        about="A session's header, and a line about each of its units.",
        answer=_load_outline,
        schema=make_object_schema(
            session="object",
            resume_command="string|null",
            units="array",
            context="array",
            position="object|null",
        ),
        params=(
            Param(
                name="first",
                about="Leave out the units before this one.",
                type="integer",
                default=0,
                maximum=_MAX_NUMBER,
            ),
        ),
    ),
    Endpoint(
        path="/sessions/{id}/messages",
        about="Messages of a unit or subagent, as HTML and plain values.",
        answer=_load_messages,
        schema=_MESSAGES_SCHEMA,
        params=_PAGE,
    ),
    Endpoint(
        path="/sessions/{id}/reveal",
        about="Messages of a unit or subagent, with the secrets in them.",
        answer=_reveal_messages,
        schema=_MESSAGES_SCHEMA,
        params=_PAGE,
        method="POST",
    ),
    Endpoint(
        path="/sessions/{id}/position",
        about="Where an entry is: its unit, page and subagents.",
        answer=_find_position,
        schema=make_object_schema(unit="integer", page="integer", subagents="array"),
        params=(
            Param(name="entry", about="Id of the entry.", is_required=True, maximum=64),
        ),
    ),
    Endpoint(
        path="/sessions/{id}/entries/{entry}",
        about="An entry with its whole text, and its line in the log.",
        answer=_load_entry,
        schema=make_object_schema(entry="object", text="string", is_cut="boolean"),
    ),
    Endpoint(
        path="/sessions/{id}/entries/{entry}/images",
        about="The types and sizes of an entry's images, or why one is not shown.",
        answer=_load_images,
        schema=make_object_schema(images="array"),
    ),
    Endpoint(
        path="/sessions/{id}/entries/{entry}/images/{number}",
        about="An image of an entry; the first has number 0.",
        answer=_load_image,
        media_type="image/*",
    ),
    Endpoint(
        path="/sessions/{id}/copy",
        about="A session or one unit as text, to paste somewhere else.",
        answer=_render_copy,
        params=(
            Param(name="format", about="Format.", choices=FORMATS, default="markdown"),
            Param(
                name="unit",
                about="Only this unit.",
                type="integer",
                maximum=_MAX_NUMBER,
            ),
        ),
        media_type="text/plain",
    ),
)
