"""One event of a Copilot CLI log, and careful reading of its fields."""

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
    RecordsAndState = tuple[tuple[Record, ...], State]

MAX_FACT_LENGTHS = {"cwd": 700, "version": 60, "git_branch": 120}
"""Facts longer than this are no facts: what is remembered stays small."""
_MAX_COUNT = 2**53


@dataclass(frozen=True, slots=True, kw_only=True)
class CopilotEvent:
    """One event of the log, and where it belongs."""

    kind: str
    data: dict[str, Any]
    key: SessionKey
    native_id: str
    created_at: datetime | None
    parent_id: str

    def text_field(self, name: str) -> str:
        """A field's words; empty where it holds none."""
        return as_text(self.data.get(name))

    def make_record(self, type_: RecordType, role: Role, **more: Any) -> Record:
        """A record of this line."""
        return Record(
            session=self.key,
            type=type_,
            role=role,
            native_id=self.native_id,
            created_at=self.created_at,
            parent_id=self.parent_id,
            **more,
        )

    def make_event(self, kind: EventKind, content: str = "", **known: Any) -> Record:
        """The event this line is, with what else is known."""
        told = {name: value for name, value in known.items() if value not in (None, "")}
        metadata = {"kind": kind, **told}
        return self.make_record(
            "system_event", "system", content=content, metadata=metadata
        )


def flatten_text(value: Any, *names: str) -> str:
    """The words of a result: a text, one of an object's fields, or all of it."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, dict):
        found = [value[name] for name in names if isinstance(value.get(name), str)]
        if found:
            return next(filter(None, found), "")
    return to_json(value)


def as_text(value: object) -> str:
    """The value if it is text; nothing otherwise."""
    return value if isinstance(value, str) else ""


def as_count(value: object) -> int:
    """A number of tokens; what is none counts nothing."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0
    return int(value) if 0 <= value < _MAX_COUNT else 0


def short_digest(text: str) -> str:
    """A short name for a text of any length."""
    return hashlib.blake2b(text.encode(errors="replace"), digest_size=8).hexdigest()
