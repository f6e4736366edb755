"""One form for what the database and the older tree of files tell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from leslied.agents._parsing import parse_object, refuse
from leslied.model.record import MAIN, SessionKey

if TYPE_CHECKING:
    from leslied.model.source import RawEntry


class Session(NamedTuple):
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


class Part(NamedTuple):
    """A piece of a message."""

    id: str
    data: Any

    @property
    def type(self) -> str:
        """What kind of piece it is."""
        return text(self.data, "type")


class Message(NamedTuple):
    """A message as it stands now; with an empty id, only its session is told."""

    id: str
    session: Session
    info: dict[str, Any]
    parts: list[Part]
    raw: Any = None
    """What stood in the place of the message's object."""

    @property
    def is_complete(self) -> bool:
        """Whether the agent will write no more of it."""
        return bool(inner(self.info, "time").get("completed") or self.info.get("error"))


def parse(entry: RawEntry, *, is_odd: bool = False) -> Message | None:
    """The message or session in an entry; None where it is neither.

    An odd one is read the slow, lenient way, which makes every value safe to write.
    """
    value = parse_object(entry.data) if is_odd else _load(entry.data)
    if "top" in value:
        return _parse_tree(value)
    if value.get("kind") not in ("message", "session"):
        return None
    told = inner(value, "session")
    root, parent = text(told, "root") or text(told, "id"), text(told, "parent")
    session = _make_session(told, root, parent, told.get("created"))
    if value["kind"] == "session":
        return _check(Message("", session, {}, []))
    parts = _list_parts(value.get("parts"), "id", "data")
    info, raw = inner(value, "data"), value.get("data")
    return _check(Message(_name(value), session, info, parts, raw))


def inner(value: Any, name: str) -> dict[str, Any]:
    """The object under this name; an empty one where there is none."""
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def text(value: Any, name: str) -> str:
    """The text under this name; empty where there is none."""
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""


def _load(data: bytes) -> dict[str, Any]:
    try:
        value: dict[str, Any] = msgspec.json.decode(data, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return parse_object(data)
    return value


def _parse_tree(value: dict[str, Any]) -> Message:
    """A message file of the tree below its session's file."""
    top, file = inner(value, "top"), inner(value, "file")
    parent = text(top, "parentID")
    # Only the parent is named: a subagent's subagent stands below a session of its own.
    root = parent or text(top, "id")
    session = _make_session(top, root, parent, inner(top, "time").get("created"))
    if "name" not in value:
        return _check(Message("", session, {}, []))
    parts = _list_parts(value.get("below"), "name", "file")
    raw = value.get("file")
    return _check(Message(text(value, "name") or "?", session, file, parts, raw))


def _make_session(
    told: dict[str, Any], root: str, parent: str, created: Any
) -> Session:
    return Session(
        id=text(told, "id"),
        root=root,
        parent=parent,
        directory=text(told, "directory"),
        title=text(told, "title"),
        version=text(told, "version"),
        created=created,
    )


def _check(message: Message) -> Message:
    if not message.session.id:
        refuse("names no session")
    return message


def _name(value: dict[str, Any]) -> str:
    return text(value, "id") or refuse("a message without an id")


def _list_parts(value: Any, name: str, data: str) -> list[Part]:
    found = value if isinstance(value, list) else []
    return [
        Part(text(each, name) or f"?{nth}", each.get(data))
        for nth, each in enumerate(found)
        if isinstance(each, dict)
    ]
