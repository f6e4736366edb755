"""One form for what the database and the older tree of files tell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from leslied.agents._parsing import parse_object, reject_entry
from leslied.model.record import MAIN, SessionKey

if TYPE_CHECKING:
    from leslied.model.source import RawEntry


class OpenCodeSession(NamedTuple):
    """What is known of the session around a message."""

    id: str
    root: str
    """The session that a person talks to: its own id, but for a subagent."""
    parent: str
    directory: str
    title: str
    version: str
    created: Any

    def key(self, agent: str) -> SessionKey:
        """Where its records belong."""
        source = MAIN if self.root == self.id else f"subagent:{self.id}"
        return SessionKey(agent, self.root, source)


class OpenCodePart(NamedTuple):
    """A piece of a message."""

    id: str
    data: Any

    @property
    def type(self) -> str:
        """What kind of piece it is."""
        return text_field(self.data, "type")


class OpenCodeMessage(NamedTuple):
    """A message as it stands now; with an empty id, only its session is told."""

    id: str
    session: OpenCodeSession
    info: dict[str, Any]
    parts: list[OpenCodePart]
    raw: Any = None
    """What stood in the place of the message's object."""

    @property
    def is_complete(self) -> bool:
        """Whether the agent will write no more of it."""
        return bool(
            object_field(self.info, "time").get("completed") or self.info.get("error")
        )


def parse_entry(entry: RawEntry, *, is_lenient: bool = False) -> OpenCodeMessage | None:
    """The message or session in an entry; None where it is neither.

    An odd one is read the slow, lenient way, which makes every value safe to write.
    """
    value = parse_object(entry.data) if is_lenient else _parse_json(entry.data)
    if "top" in value:
        return _parse_tree(value)
    if value.get("kind") not in ("message", "session"):
        return None
    told = object_field(value, "session")
    root, parent = (
        text_field(told, "root") or text_field(told, "id"),
        text_field(told, "parent"),
    )
    session = _make_session(told, root, parent, told.get("created"))
    if value["kind"] == "session":
        return _require_session(OpenCodeMessage("", session, {}, []))
    parts = _list_parts(value.get("parts"), "id", "data")
    info, raw = object_field(value, "data"), value.get("data")
    return _require_session(OpenCodeMessage(_get_id(value), session, info, parts, raw))


def object_field(value: Any, name: str) -> dict[str, Any]:
    """The object under this name; an empty one where there is none."""
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def text_field(value: Any, name: str) -> str:
    """The text under this name; empty where there is none."""
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""


def _parse_json(data: bytes) -> dict[str, Any]:
    try:
        value: dict[str, Any] = msgspec.json.decode(data, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return parse_object(data)
    return value


def _parse_tree(value: dict[str, Any]) -> OpenCodeMessage:
    """A message file of the tree below its session's file."""
    top, file = object_field(value, "top"), object_field(value, "file")
    parent = text_field(top, "parentID")
    # Only the parent is named: a subagent's subagent stands below a session of its own.
    root = parent or text_field(top, "id")
    session = _make_session(top, root, parent, object_field(top, "time").get("created"))
    if "name" not in value:
        return _require_session(OpenCodeMessage("", session, {}, []))
    parts = _list_parts(value.get("below"), "name", "file")
    raw = value.get("file")
    return _require_session(
        OpenCodeMessage(text_field(value, "name") or "?", session, file, parts, raw)
    )


def _make_session(
    told: dict[str, Any], root: str, parent: str, created: Any
) -> OpenCodeSession:
    return OpenCodeSession(
        id=text_field(told, "id"),
        root=root,
        parent=parent,
        directory=text_field(told, "directory"),
        title=text_field(told, "title"),
        version=text_field(told, "version"),
        created=created,
    )


def _require_session(message: OpenCodeMessage) -> OpenCodeMessage:
    if not message.session.id:
        reject_entry("names no session")
    return message


def _get_id(value: dict[str, Any]) -> str:
    return text_field(value, "id") or reject_entry("a message without an id")


def _list_parts(value: Any, name: str, data: str) -> list[OpenCodePart]:
    found = value if isinstance(value, list) else []
    return [
        OpenCodePart(text_field(each, name) or f"?{nth}", each.get(data))
        for nth, each in enumerate(found)
        if isinstance(each, dict)
    ]
