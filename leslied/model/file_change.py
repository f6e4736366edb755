"""What a session did that a thread's index tells of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

if TYPE_CHECKING:
    from datetime import datetime

    from leslied.model.record import SessionKey

FileChangeKind = Literal[
    "write", "edit", "append", "delete", "move", "folder", "plan", "todos", "task"
]
"""The first five happened to the file at the path; `folder` is where the agent worked
from then on; the others are lists it kept elsewhere, with their text in `body`."""


class FileChange(Struct, frozen=True, kw_only=True):
    """One call of one session, and the one path or list it was about."""

    session: SessionKey
    kind: FileChangeKind
    path: str = ""
    tool: str = ""
    call_id: str = ""
    chat_id: str = ""
    unit: int = 0
    placement: int = 0
    at: datetime | None = None
    body: str = ""
