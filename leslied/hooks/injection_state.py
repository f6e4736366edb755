"""Files with the last injection into each session, one small file per session."""

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
    """State that a session's hook events pass on from one to the next."""

    __slots__ = ("context", "cwd", "is_full", "model", "transcript", "why")

    def __init__(self, fields: dict[str, Any]) -> None:
        self.context = _get_text(fields, "context")
        """The context last injected; empty if the model may have lost it."""
        self.why = _get_text(fields, "why")
        """The reason for the last change of `context`."""
        self.cwd = _get_text(fields, "cwd")
        """The session's first working directory; agents change it later."""
        self.transcript = _get_text(fields, "transcript")
        """Path of the agent's log."""
        self.model = _get_text(fields, "model")
        """Name of the model in the last hook event that had one."""
        self.is_full = fields.get("is_full") is True
        """Whether the context window was nearly full at the last prompt."""


def load(data_dir: str, session_id: str) -> InjectionState:
    """Return the session's saved state, an empty one if there is none."""
    path = f"{data_dir}/{FOLDER}/{make_safe_name(session_id)}.json"
    try:
        fields = loads(read_part(path, 0, _MAX_BYTES) or b"{}")
    except (ValueError, RecursionError):
        fields = {}
    return InjectionState(fields if isinstance(fields, dict) else {})


def save(data_dir: str, session_id: str, state: InjectionState) -> None:
    """Save the state for the session's next hook event; raise OSError if impossible."""
    fields = {name: getattr(state, name) for name in InjectionState.__slots__}
    file_name = f"{make_safe_name(session_id)}.json"
    write_atomic(f"{data_dir}/{FOLDER}", file_name, dumps(fields))


def delete_old(data_dir: str, now_ns: int) -> None:
    """Delete the states of sessions without a hook event for 60 days."""
    folder = f"{data_dir}/{FOLDER}"
    for name in list_names(folder):
        if get_age_seconds(f"{folder}/{name}", now_ns) > _DELETE_AFTER_SECONDS:
            remove_file(f"{folder}/{name}")


def _get_text(fields: dict[str, Any], name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""
