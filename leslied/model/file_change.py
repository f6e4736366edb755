"""Describe what a session did to files, plans and task lists, for a thread's index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

if TYPE_CHECKING:
    from datetime import datetime

    from leslied.model.record import SessionKey

FileChangeKind = Literal[
    "write", "edit", "append", "delete", "move", "folder", "plan", "todos", "task"
]
"""The first five kinds changed the file at `path`. `folder` is a change of the agent's
working directory. The others are plans and task lists, with their text in `body`.
"""


class FileChange(Struct, frozen=True, kw_only=True):
    """Effect of one tool call on one path or list."""

    session: SessionKey
    kind: FileChangeKind
    path: str = ""
    tool: str = ""
    call_id: str = ""
    chat_id: str = ""
    unit: int = 0
    read_order: int = 0
    """`read_order` of the record with the call; sorts the changes."""
    at: datetime | None = None
    body: str = ""
