"""What each session was told last, and why: one small file per session."""

from __future__ import annotations

from leslied.hooks.files import (
    find_age,
    list_names,
    read_part,
    remove,
    safe_name,
    write_whole,
)
from leslied.mini_json import dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FOLDER = "hooks/given"
_MOST_BYTES = 262_144
_OLD_SECONDS = 60 * 86400.0


class Given:
    """A session as its hooks have seen it."""

    __slots__ = ("context", "cwd", "is_full", "model", "transcript", "why")

    def __init__(self, told: dict[str, Any]) -> None:
        self.context = _text(told, "context")
        """The context as it was last injected; empty when the model may lack it."""
        self.why = _text(told, "why")
        self.cwd = _text(told, "cwd")
        """Where the session began: agents change their folder on the way."""
        self.transcript = _text(told, "transcript")
        self.model = _text(told, "model")
        self.is_full = told.get("is_full") is True
        """Whether it was injected because little room was left."""


def load(data_dir: str, session_id: str) -> Given:
    """What the session was given; nothing where nobody knows."""
    path = f"{data_dir}/{FOLDER}/{safe_name(session_id)}.json"
    try:
        told = loads(read_part(path, 0, _MOST_BYTES) or b"{}")
    except (ValueError, RecursionError):
        told = {}
    return Given(told if isinstance(told, dict) else {})


def save(data_dir: str, session_id: str, given: Given) -> None:
    """It will be known at the next hook of this session."""
    told = {name: getattr(given, name) for name in Given.__slots__}
    name = f"{safe_name(session_id)}.json"
    write_whole(f"{data_dir}/{FOLDER}", name, dumps(told))


def forget_old(data_dir: str, now_ns: int) -> None:
    """Sessions that nobody has gone on with for two months are forgotten."""
    folder = f"{data_dir}/{FOLDER}"
    for name in list_names(folder):
        if find_age(f"{folder}/{name}", now_ns) > _OLD_SECONDS:
            remove(f"{folder}/{name}")


def _text(told: dict[str, Any], name: str) -> str:
    value = told.get(name)
    return value if isinstance(value, str) else ""
