"""The events in a session that people see."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from leslied.sessions.turns import TURN_TYPES, ends_turn

if TYPE_CHECKING:
    from leslied.model.record import Record

_UNSHOWN_COMPACTIONS = ("microcompact_boundary",)
"""Compactions that only drop old tool results; people need not see them."""


class ShownEvent(NamedTuple):
    """An event that people see: its kind, a short text and, for some, a detail."""

    kind: Literal["interrupted", "rewound", "compacted", "command", "notification"]
    text: str
    """Empty if the record only adds a detail to the event before it."""
    detail: str = ""
    """The summary of a compaction, or what a background task reported."""


class EventFinder:
    """Finder of the events that people see among the records of a session, in order.

    Logs report one compaction in two records, a mark and the summary; only the first is
    an event of its own. The command with which a person asked for the compaction may
    follow them.
    """

    def __init__(self) -> None:
        self._is_after_compaction = False
        """Whether there was a compaction, and only events since."""

    def find_event(self, record: Record) -> ShownEvent | None:
        """Return the record's event, or None if people need not see it."""
        metadata = record.metadata
        # In some logs, the command that asked for a compaction comes after it.
        if self._is_after_compaction and metadata.get("asks_for") == "compacted":
            return ShownEvent("command", record.content)
        if record.type != "system_event":
            if record.type in TURN_TYPES:
                self._is_after_compaction = False
            return None
        if metadata.get("note") == "interrupt":
            return ShownEvent("interrupted", "interrupted")
        if metadata.get("notification"):
            report = str(metadata.get("report") or "")
            return ShownEvent("notification", str(metadata["notification"]), report)
        if metadata.get("kind") == "rewound":
            return ShownEvent("rewound", "conversation rewound")
        if metadata.get("kind") == "compacted":
            return self._find_compaction(record)
        return None

    def _find_compaction(self, record: Record) -> ShownEvent | None:
        """Return the event of a record about a compaction, or None.

        If a record before it was about the same compaction, the event has no text.
        """
        if record.metadata.get("note") in _UNSHOWN_COMPACTIONS:
            return None
        text, detail = "conversation compacted", record.content.strip()
        # The content is the summary of the compaction, or only says that there was one.
        detail = detail if detail.casefold() != text else ""
        is_first = not self._is_after_compaction
        self._is_after_compaction = True
        return ShownEvent("compacted", text if is_first else "", detail)


def shows_turn_end(record: Record) -> bool:
    """Return whether to show that the turn ended after this record."""
    # Thoughts and calls may have the stop reason of the answer after them, and the end
    # of a session has a notice of its own.
    is_shown = record.type not in ("thinking", "tool_use")
    return is_shown and record.metadata.get("kind") != "ended" and ends_turn(record)
