"""What each session was told last, and why: one small file per session."""

from __future__ import annotations

from leslied.hooks.files import (
    get_age_seconds,
    list_names,
    make_safe_name,
    read_part,
    remove_file,
    write_atomic,
)
from leslied.mini_json import dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FOLDER = "hooks/given"
_MAX_BYTES = 262_144
_DELETE_AFTER_SECONDS = 60 * 86400.0


class InjectionState:
    """A session as its hooks have seen it."""

    __slots__ = ("context", "cwd", "is_full", "model", "transcript", "why")

    def __init__(self, fields: dict[str, Any]) -> None:
        self.context = _get_text(fields, "context")
        """The context as it was last injected; empty when the model may lack it."""
        self.why = _get_text(fields, "why")
        self.cwd = _get_text(fields, "cwd")
        """Where the session began: agents change their folder on the way."""
        self.transcript = _get_text(fields, "transcript")
        self.model = _get_text(fields, "model")
        self.is_full = fields.get("is_full") is True
        """Whether it was injected because little room was left."""


def load(data_dir: str, session_id: str) -> InjectionState:
    """What the session was given; nothing where nobody knows."""
    path = f"{data_dir}/{FOLDER}/{make_safe_name(session_id)}.json"
    try:
        told = loads(read_part(path, 0, _MAX_BYTES) or b"{}")
    except (ValueError, RecursionError):
        told = {}
    return InjectionState(told if isinstance(told, dict) else {})


def save(data_dir: str, session_id: str, state: InjectionState) -> None:
    """It will be known at the next hook of this session."""
    told = {name: getattr(state, name) for name in InjectionState.__slots__}
    name = f"{make_safe_name(session_id)}.json"
    write_atomic(f"{data_dir}/{FOLDER}", name, dumps(told))


def delete_old(data_dir: str, now_ns: int) -> None:
    """Sessions that nobody has gone on with for two months are forgotten."""
    folder = f"{data_dir}/{FOLDER}"
    for name in list_names(folder):
        if get_age_seconds(f"{folder}/{name}", now_ns) > _DELETE_AFTER_SECONDS:
            remove_file(f"{folder}/{name}")


def _get_text(told: dict[str, Any], name: str) -> str:
    value = told.get(name)
    return value if isinstance(value, str) else ""
