"""Endpoints about the user's stars, tags and notes, and what is unread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leslied.queries.annotations import (
    MAX_NOTE_CHARACTERS,
    MarksChange,
    change_marks,
    count_tags,
    load_marks,
    split_tags,
)
from leslied.web.endpoint import Endpoint, Param, make_object_schema

if TYPE_CHECKING:
    from leslied.queries.context import QueryContext
    from leslied.web.endpoint import Answer, Arguments


def _count_tags(queries: QueryContext, _: Arguments) -> Answer:
    return count_tags(queries).to_dict()


def _load_marks(queries: QueryContext, arguments: Arguments) -> Answer:
    return load_marks(queries, arguments["id"]).to_dict()


def _set_star(queries: QueryContext, arguments: Arguments) -> Answer:
    return _change(queries, arguments, MarksChange(is_starred=arguments["starred"]))


def _set_tags(queries: QueryContext, arguments: Arguments) -> Answer:
    return _change(queries, arguments, MarksChange(tags=arguments["tags"]))


def _change_tags(queries: QueryContext, arguments: Arguments) -> Answer:
    change = MarksChange(
        added_tags=split_tags(arguments["add"]),
        removed_tags=split_tags(arguments["remove"]),
    )
    return _change(queries, arguments, change)


def _set_note(queries: QueryContext, arguments: Arguments) -> Answer:
    return _change(queries, arguments, MarksChange(note=arguments["note"]))


def _set_visited(queries: QueryContext, arguments: Arguments) -> Answer:
    return _change(queries, arguments, MarksChange(is_visited=arguments["visited"]))


def _change(queries: QueryContext, arguments: Arguments, change: MarksChange) -> Answer:
    return change_marks(queries, arguments["id"], change).to_dict()


_SCHEMA = {
    "type": "object",
    "required": ["id", "agent", "starred", "tags", "note", "unread"],
    "properties": {
        "id": {"type": "string"},
        "agent": {"type": "string"},
        "starred": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "note": {"type": ["string", "null"]},
        "unread": {"type": "boolean"},
    },
}
ENDPOINTS = (
    Endpoint(
        path="/tags",
        about="Tags with their numbers of sessions, and the number of stars.",
        answer=_count_tags,
        schema=make_object_schema(starred_sessions="integer", tags="array"),
    ),
    Endpoint(
        path="/sessions/{id}/marks",
        about="The star, tags and note of a session, and whether it is unread.",
        answer=_load_marks,
        schema=_SCHEMA,
    ),
    Endpoint(
        path="/sessions/{id}/star",
        about="Add a star to a session, or remove it.",
        method="PUT",
        answer=_set_star,
        params=(
            Param(
                name="starred",
                about="Whether the session has a star.",
                type="flag",
                is_required=True,
            ),
        ),
        schema=_SCHEMA,
    ),
    Endpoint(
        path="/sessions/{id}/tags",
        about="Replace the tags of a session.",
        method="PUT",
        answer=_set_tags,
        params=(
            Param(
                name="tags",
                about="All tags of the session, separated by spaces.",
                maximum=2000,
                is_required=True,
            ),
        ),
        schema=_SCHEMA,
    ),
    Endpoint(
        path="/sessions/{id}/tags",
        about="Add some tags to a session and remove some; all others stay.",
        method="POST",
        answer=_change_tags,
        params=(
            Param(
                name="add",
                about="Tags to add, separated by spaces.",
                default="",
                maximum=2000,
            ),
            Param(
                name="remove",
                about="Tags to remove, separated by spaces.",
                default="",
                maximum=2000,
            ),
        ),
        schema=_SCHEMA,
    ),
    Endpoint(
        path="/sessions/{id}/note",
        about="Replace the note of a session.",
        method="PUT",
        answer=_set_note,
        params=(
            Param(
                name="note",
                about="The note; an empty one deletes it.",
                maximum=MAX_NOTE_CHARACTERS,
                is_required=True,
            ),
        ),
        schema=_SCHEMA,
    ),
    Endpoint(
        path="/sessions/{id}/visited",
        about="Mark a session as read, or as unread.",
        method="PUT",
        answer=_set_visited,
        params=(
            Param(
                name="visited",
                about="Whether the user has seen everything up to now.",
                type="flag",
                default=True,
            ),
        ),
        schema=_SCHEMA,
    ),
)
