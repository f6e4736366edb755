"""Parse entries of the database and of the older JSON files into one form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from leslied.agents._parsing import parse_object, reject_entry
from leslied.model.record import MAIN, SessionKey

if TYPE_CHECKING:
    from leslied.model.source import RawEntry


class OpenCodeSession(NamedTuple):
    """Facts about the session of a message."""

    id: str
    root: str
    """Id of the main session: for a subagent, the topmost parent; else its own id."""
    parent: str
    directory: str
    title: str
    version: str
    created: Any

    def key(self, agent: str) -> SessionKey:
        """Return the session's key; a subagent has the id of its main session."""
        source = MAIN if self.root == self.id else f"subagent:{self.id}"
        return SessionKey(agent, self.root, source)


class OpenCodePart(NamedTuple):
    """One part of a message."""

    id: str
    data: Any

    @property
    def type(self) -> str:
        """The kind of the part."""
        return text_field(self.data, "type")


class OpenCodeMessage(NamedTuple):
    """Current state of a message; with an empty id, the state of a session alone."""

    id: str
    session: OpenCodeSession
    info: dict[str, Any]
    """The message's data if it is an object, or an empty object."""
    parts: list[OpenCodePart]
    raw: Any = None
    """The message's data as it is in the entry, even if it is not an object."""

    @property
    def is_complete(self) -> bool:
        """True if the agent will not change the message any more."""
        return bool(
            object_field(self.info, "time").get("completed") or self.info.get("error")
        )


def parse_entry(entry: RawEntry, *, is_lenient: bool = False) -> OpenCodeMessage | None:
    """Return the message or session in an entry; None if the entry is neither.

    With `is_lenient`, use the slower parser, whose values can always be encoded again.
    """
    value = parse_object(entry.data) if is_lenient else _parse_json(entry.data)
    if "top" in value:
        return _parse_tree(value)
    if value.get("kind") not in ("message", "session"):
        return None
    session_row = object_field(value, "session")
    root = text_field(session_row, "root") or text_field(session_row, "id")
    parent = text_field(session_row, "parent")
    session = _make_session(session_row, root, parent, session_row.get("created"))
    if value["kind"] == "session":
        # The entry has no message, which the empty id shows.
        return _require_session(OpenCodeMessage("", session, {}, []))
    parts = _list_parts(value.get("parts"), "id", "data")
    info, raw = object_field(value, "data"), value.get("data")
    return _require_session(OpenCodeMessage(_get_id(value), session, info, parts, raw))


def object_field(value: Any, name: str) -> dict[str, Any]:
    """Return the field if it is an object, or an empty object."""
    nested = value.get(name) if isinstance(value, dict) else None
    return nested if isinstance(nested, dict) else {}


def text_field(value: Any, name: str) -> str:
    """Return the field if it is text, or ""."""
    text = value.get(name) if isinstance(value, dict) else None
    return text if isinstance(text, str) else ""


def _parse_json(data: bytes) -> dict[str, Any]:
    try:
        value: dict[str, Any] = msgspec.json.decode(data, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return parse_object(data)
    return value


def _parse_tree(value: dict[str, Any]) -> OpenCodeMessage:
    """Return the message or session in an entry of the tree of JSON files."""
    top, file = object_field(value, "top"), object_field(value, "file")
    parent = text_field(top, "parentID")
    # The file contains only the parent's id, so the parent counts as the main session
    # even if it is a subagent itself.
    root = parent or text_field(top, "id")
    session = _make_session(top, root, parent, object_field(top, "time").get("created"))
    if "name" not in value:
        return _require_session(OpenCodeMessage("", session, {}, []))
    parts = _list_parts(value.get("below"), "name", "file")
    raw = value.get("file")
    # An empty id would stand for an entry without a message.
    return _require_session(
        OpenCodeMessage(text_field(value, "name") or "?", session, file, parts, raw)
    )


def _make_session(
    fields: dict[str, Any], root: str, parent: str, created: Any
) -> OpenCodeSession:
    return OpenCodeSession(
        id=text_field(fields, "id"),
        root=root,
        parent=parent,
        directory=text_field(fields, "directory"),
        title=text_field(fields, "title"),
        version=text_field(fields, "version"),
        created=created,
    )


def _require_session(message: OpenCodeMessage) -> OpenCodeMessage:
    """Return the message, or raise DecodeError if its session has no id."""
    if not message.session.id:
        reject_entry("an entry without a session id")
    return message


def _get_id(value: dict[str, Any]) -> str:
    return text_field(value, "id") or reject_entry("a message without an id")


def _list_parts(value: Any, id_key: str, data_key: str) -> list[OpenCodePart]:
    """Return the parts in a list; a part without an id is numbered."""
    items = value if isinstance(value, list) else []
    return [
        OpenCodePart(text_field(item, id_key) or f"?{number}", item.get(data_key))
        for number, item in enumerate(items)
        if isinstance(item, dict)
    ]
