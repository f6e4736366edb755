"""Entries of many sessions as they come, each line under its session's name."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from leslied.cli.entry import Teller
from leslied.cli.labels import WIDTH, Labels, find_colour
from leslied.cli.output import clean, say_path
from leslied.model.record import TURN_ENDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from leslied.cli.look import Look
    from leslied.model.record import Record, SessionKey
    from leslied.model.session import SessionSummary


class Telling:
    """What is said and done in sessions that go on side by side.

    Of a turn's end there are often several signs: the first is told.
    """

    def __init__(
        self, look: Look, home: str, find_like: Callable[[list[str]], Iterable[str]]
    ) -> None:
        self._look = replace(look, width=max(look.width - WIDTH - 1, 0))
        self._home = home
        self._labels = Labels(find_like)
        self._tellers: dict[SessionKey, Teller] = {}
        self._working: set[SessionKey] = set()

    def tell(self, record: Record, summary: SessionSummary | None) -> Iterator[str]:
        """One entry."""
        key = record.session
        if key not in self._tellers:
            folder = summary.cwd if summary else ""
            self._tellers[key] = Teller(replace(self._look, folder=folder))
        label = self._label(key, summary)
        for line in self._tellers[key].tell(record, ""):
            if line.strip():
                yield label + line
        if _has_ended(record) and key in self._working:
            self._working.discard(key)
            yield self._note(key, summary, "turn ended")
        elif record.type in ("user_message", "thinking", "tool_use", "tool_result"):
            self._working.add(key)

    def tell_start(self, key: SessionKey, summary: SessionSummary | None) -> str:
        """That a session, or a subagent, begins."""
        if summary is None:
            return self._note(key, summary, "begins")
        if summary.is_subagent:
            words = ["subagent begins", summary.description, summary.subagent_id]
        else:
            folder = say_path(summary.cwd, self._home)
            words = ["session begins", key.agent, folder, key.session_id]
        return self._note(key, summary, " · ".join(word for word in words if word))

    def tell_stop(self, key: SessionKey, summary: SessionSummary | None) -> str:
        """That a session is over."""
        self._working.discard(key)
        return self._note(key, summary, "session stopped")

    def _note(self, key: SessionKey, summary: SessionSummary | None, words: str) -> str:
        look = self._look
        line = clean(f"· {words}")
        cut = look.cut(line, look.width) if look.is_rich else line
        return self._label(key, summary) + look.paint(cut, dim=True)

    def _label(self, key: SessionKey, summary: SessionSummary | None) -> str:
        name = self._labels.name(key, summary)
        colour = find_colour(key.session_id)
        return self._look.paint(name, fg=colour) + " "


def _has_ended(record: Record) -> bool:
    if record.type == "assistant_message":
        return record.metadata.get("stop_reason") in TURN_ENDS
    if record.type == "error":
        return record.role == "assistant"
    return record.metadata.get("kind") == "turn_ended"
