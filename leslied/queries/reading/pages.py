"""The messages of a unit that people see, divided into pages. Pure functions."""

from __future__ import annotations

from array import array
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from leslied.rendering.events import EventFinder
from leslied.rendering.messages import make_unit_messages
from leslied.sessions.calls import CallResults

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leslied.model.session import Unit
    from leslied.rendering.events import ShownEvent
    from leslied.rendering.messages import SpeakerMessage

PAGE_MESSAGES = 40
"""Number of messages on a page: more than fit on a screen, and quick to make."""
_ALWAYS_SHOWN = ("user", "tool", "error")


class ShownMessage(NamedTuple):
    """A message that people see, and the event if it is one."""

    message: SpeakerMessage
    event: ShownEvent | None = None


class ShownUnit(NamedTuple):
    """The messages of a unit that people see."""

    messages: list[ShownMessage]
    subagents: tuple[Unit, ...]
    """Subagents that no call of the unit has spawned."""

    @property
    def pages(self) -> int:
        """Number of pages; a unit has at least one."""
        return max(-(-len(self.messages) // PAGE_MESSAGES), 1)

    def find_page(self, entry_id: str) -> int | None:
        """Return the page with the message or call of an entry, or None."""
        for position, (message, _) in enumerate(self.messages):
            placed = [message.placed, *(call.placed for call in message.calls)]
            placed += [call.result for call in message.calls if call.result]
            if any(each.entry_id == entry_id for each in placed):
                return position // PAGE_MESSAGES
        return None


def make_shown_unit(unit: Unit) -> ShownUnit:
    """Group the unit's entries into messages, without messages that show nothing."""
    (unit_messages,) = make_unit_messages([unit])
    events = EventFinder()
    shown: list[ShownMessage] = []
    for message in unit_messages.messages:
        event = events.find_event(message.placed.record)
        if event or _has_something_to_show(message):
            shown.append(ShownMessage(message, event))
    return ShownUnit(shown, unit_messages.subagents)


def _has_something_to_show(message: SpeakerMessage) -> bool:
    if message.speaker in _ALWAYS_SHOWN:
        return True
    parts = message.texts or message.thinking_texts or message.calls
    return message.speaker == "assistant" and bool(parts)


def list_page_entries(unit: Unit, messages: Sequence[ShownMessage]) -> list[array[int]]:
    """Return the `read_order` of each page's entries; a result follows its call."""
    positions = {placed.read_order: at for at, placed in enumerate(unit.entries)}
    starts = [
        positions[shown.message.placed.read_order]
        for shown in messages[::PAGE_MESSAGES]
    ]
    calls = CallResults(unit.entries)
    pages: list[array[int]] = []
    for start, end in pairwise([*starts, len(unit.entries)]):
        orders = array("q")
        for placed in unit.entries[start:end]:
            if not calls.is_joined(placed):
                orders.append(placed.read_order)
                if result := calls.find_result(placed):
                    orders.append(result.read_order)
        pages.append(orders)
    return pages
