"""Define a line of a Copilot CLI log, and read its fields leniently."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leslied.agents._parsing import to_json
from leslied.model.record import Record, SessionKey

if TYPE_CHECKING:
    from datetime import datetime

    from leslied.model.record import EventKind, RecordType, Role

    State = dict[str, Any]
    """`cwd`, `version` and `git_branch`; `thought`: a hash of the thought that was just
    decoded; `asked`: hashes of the ids of requested calls that have not started;
    `counted`: True if a line had the token counts of a message."""
    RecordsAndState = tuple[tuple[Record, ...], State]

MAX_FACT_LENGTHS = {"cwd": 700, "version": 60, "git_branch": 120}
"""Longer values are ignored, to keep the decode state small."""
_MAX_COUNT = 2**53
"""A larger number is corrupt, not a count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CopilotLine:
    """One line of a log, which Copilot CLI calls an event, with its session."""

    kind: str
    """The type of the line, such as `user.message`."""
    data: dict[str, Any]
    key: SessionKey
    native_id: str
    created_at: datetime | None
    parent_id: str

    def text_field(self, name: str) -> str:
        """Return the field of `data` if it is text, or ""."""
        return as_text(self.data.get(name))

    def make_record(self, type_: RecordType, role: Role, **fields: Any) -> Record:
        """Return a record of this line."""
        return Record(
            session=self.key,
            type=type_,
            role=role,
            native_id=self.native_id,
            created_at=self.created_at,
            parent_id=self.parent_id,
            **fields,
        )

    def make_event(self, kind: EventKind, content: str = "", **facts: Any) -> Record:
        """Return an event of this line with all facts that are not empty."""
        present_facts = {
            name: value for name, value in facts.items() if value not in (None, "")
        }
        metadata = {"kind": kind, **present_facts}
        return self.make_record(
            "system_event", "system", content=content, metadata=metadata
        )


def flatten_text(value: Any, *names: str) -> str:
    """Return the value as text.

    For an object, this is the first of the named text fields that is not empty; an
    object without such fields and any other value become JSON.
    """
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, dict):
        texts = [value[name] for name in names if isinstance(value.get(name), str)]
        if texts:
            return next(filter(None, texts), "")
    return to_json(value)


def as_text(value: object) -> str:
    """Return the value if it is text, or ""."""
    return value if isinstance(value, str) else ""


def as_count(value: object) -> int:
    """Return the value if it is a plausible count, or 0."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0
    return int(value) if 0 <= value < _MAX_COUNT else 0


def short_digest(text: str) -> str:
    """Return a short hash of a text, for the decode state."""
    return hashlib.blake2b(text.encode(errors="replace"), digest_size=8).hexdigest()
