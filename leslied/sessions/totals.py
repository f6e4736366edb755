"""Totals of a session, updated record by record, and the start of its units.

The store saves these totals with the session, so that lists read no records.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leslied.model.record import MAIN
from leslied.sessions.rewinds import iter_current, list_rewound, update_forks
from leslied.sessions.titles import find_subject, has_subject
from leslied.sessions.turns import (
    AGENT_OUTPUT_TYPES,
    ends_turn,
    is_command,
    is_in_turn,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from leslied.model.record import Record, SessionKey
    from leslied.sessions.rewinds import EntryLookup

_TITLE_RANKS = {"summary": 1, "ai": 2, "agent": 3, "custom": 4}
_FIRST_PROMPT_CHARACTERS = 200
_RANDOM_UUID = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
)
_TYPES_WITHOUT_SESSION_MODEL = ("error", "token_usage")
"""Types whose model may be the small model of a helper, not the session's model."""


@dataclass(slots=True)
class SessionTotals:
    """State and totals of one session or subagent."""

    source: str = MAIN
    title: str = ""
    title_rank: int = 0
    first_prompt: str = ""
    cwd: str = ""
    model: str = ""
    started_us: int | None = None
    ended_us: int | None = None
    entries: int = 0
    originals: int = 0
    """Number of entries that are not copies of another session's entries."""
    units: int = 0
    tool_calls: int = 0
    """Number of tool calls that are not copies."""
    copied_calls: int = 0
    waiting_command: int = 0
    """Placement of a command that the agent has not replied to, or 0."""
    has_turn_ended: int = 1
    """1 while the agent waits, also before the first prompt."""
    stopped_us: int | None = None
    spawn_call_id: str = ""
    parent_agent: str = ""
    agent_type: str = ""
    description: str = ""
    is_finished: int = 0
    """1 if a log says that the subagent has finished."""
    seen_us: int = 0
    """Time at which its newest entry was read."""
    forks: str = ""
    """Units that do not continue the one before them: see `sessions/rewinds.py`."""

    def add_record(
        self,
        record: Record,
        created_us: int | None,
        placement: int,
        *,
        is_in_earlier_unit: bool = False,
    ) -> int:
        """Add a record to the totals.

        If the record starts a new unit, return the first placement of the unit, else 0.
        A record that continues an earlier unit, which another process works on, neither
        answers a command nor changes whether the turn of the current unit has ended.
        """
        kind = record.metadata.get("kind")
        if kind == "subagent_linked":
            self._link_parent(record)
            return 0
        if record.metadata.get("is_side"):
            self.add_title(record.content, str(record.metadata.get("title_kind")))
            return 0
        self._count(record)
        self.stopped_us = None
        if created_us is not None:
            self._add_time(created_us)
        if record.model and record.type not in _TYPES_WITHOUT_SESSION_MODEL:
            self.model = record.model
        if kind in ("opened", "context"):
            self.cwd = self.cwd or str(record.metadata.get("cwd") or "")
        elif kind == "title" and not record.metadata.get("leaf"):
            self.add_title(record.content, str(record.metadata.get("title_kind")))
        if kind == "ended":
            self.stopped_us = self.seen_us
        if is_in_earlier_unit:
            return 0
        self._update_turn(record)
        return self._add_unit(record, placement)

    def add_rewind(self, record: Record, lookup: EntryLookup) -> None:
        """Update the forks, and the first prompt if the rewound units changed.

        Call this before `add_record`.
        """
        if self.source != MAIN:
            return
        forks = update_forks(self.forks, self.units, record, lookup)
        if forks == self.forks:
            return
        rewound_before = list_rewound(self.forks, self.units)
        self.forks = forks
        if list_rewound(forks, self.units) != rewound_before:
            # The title names what the current conversation is about.
            prompts = (
                lookup.find_first_entry(unit).text
                for unit in iter_current(forks, self.units)
            )
            self.first_prompt = _choose_prompt(prompts)[:_FIRST_PROMPT_CHARACTERS]

    def add_title(self, title: str, kind: str) -> None:
        """Set the title, unless the current one has a higher rank."""
        rank = _TITLE_RANKS.get(kind, 0)
        if title and rank >= self.title_rank:
            self.title, self.title_rank = title, rank

    def _count(self, record: Record) -> None:
        self.entries += 1
        self.originals += not record.is_copy
        if record.type == "tool_use" and record.is_copy:
            self.copied_calls += 1
        elif record.type == "tool_use":
            self.tool_calls += 1

    def _link_parent(self, record: Record) -> None:
        """Set how the subagent was started; empty values change nothing."""
        link = record.metadata
        self.spawn_call_id = str(link.get("tool_call_id") or self.spawn_call_id)
        self.parent_agent = str(link.get("parent_agent") or self.parent_agent)
        self.agent_type = str(link.get("agent_type") or self.agent_type)
        self.description = str(link.get("description") or self.description)
        self.is_finished = int(bool(link.get("is_finished") or self.is_finished))

    def _add_time(self, created_us: int) -> None:
        if self.started_us is None or created_us < self.started_us:
            self.started_us = created_us
        if self.ended_us is None or created_us > self.ended_us:
            self.ended_us = created_us

    def _add_unit(self, record: Record, placement: int) -> int:
        """Count a unit: a prompt starts one; a command does once the agent replies.

        Return the first placement of the new unit, or 0.
        """
        if self.source != MAIN:
            if record.type == "user_message" and not self.first_prompt:
                self._set_first_prompt(record.content)
            return 0
        origin = record.metadata.get("origin")
        if record.type == "user_message" and origin == "prompt":
            self._set_first_prompt(record.content)
            self.waiting_command = 0
            self.units += 1
            return placement
        if record.type == "user_message" and is_command(record):
            if not self.units:
                # A prompt replaces it, unless the agent replies to the command.
                self.first_prompt = record.content[:_FIRST_PROMPT_CHARACTERS]
            self.waiting_command = placement
        elif self.waiting_command and record.type in AGENT_OUTPUT_TYPES:
            unit_start, self.waiting_command = self.waiting_command, 0
            self.units += 1
            return unit_start
        return 0

    def _set_first_prompt(self, prompt: str) -> None:
        """Set the first prompt; replace it by the first one that names a subject."""
        is_first = not self.units or not self.first_prompt
        if is_first or (has_subject(prompt) and not has_subject(self.first_prompt)):
            self.first_prompt = find_subject(prompt)[:_FIRST_PROMPT_CHARACTERS]

    def _update_turn(self, record: Record) -> None:
        """Update whether the turn has ended, and if a command waits for a reply."""
        has_ended = ends_turn(record)
        if is_in_turn(record):
            self.has_turn_ended = int(has_ended)
            return
        if has_ended or record.metadata.get("is_between_turns"):
            self.has_turn_ended = 1
        if has_ended or record.metadata.get("is_command_output"):
            # Later output of the agent does not reply to an earlier command.
            self.waiting_command = 0


def _choose_prompt(prompts: Iterable[str]) -> str:
    """Return the subject of the first prompt that names one, else the first prompt."""
    first = ""
    for prompt in prompts:
        if has_subject(prompt):
            return find_subject(prompt)
        first = first or prompt
    return first


def propose_thread_id(key: SessionKey, length: int = 8) -> str:
    """Derive a thread id with this number of digits from the key of a session."""
    if _RANDOM_UUID.fullmatch(key.session_id):
        digits = key.session_id.replace("-", "")
    else:
        # Hash the id: a time-based UUID begins with the same digits as its neighbours.
        text = f"{key.agent}\0{key.session_id}"
        digits = hashlib.sha256(text.encode(errors="replace")).hexdigest()
    return f"thread-{digits[:length]}"
