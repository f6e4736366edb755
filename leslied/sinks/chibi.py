"""chibi: a context folder for the session and for each subagent.

`context.jsonl` holds what the agent still had before it, `transcript_archive.jsonl`
what the last compaction took away, `transcript.md` the talk to read, and `inbox.jsonl`
of a subagent the task it was sent.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from uuid import UUID

from leslied.model.output import Artifact
from leslied.sinks._contract import Sink
from leslied.sinks._names import make_safe_name, make_session_name
from leslied.sinks._text import dump_json_lines, encode_text, replace_controls
from leslied.sinks._turns import get_full_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leslied.model.record import PlacedRecord
    from leslied.model.session import Session, Unit

_SPEAKER_LINE = re.compile(r"^(\\*\[(?:USER|ASSISTANT)\]:)", re.MULTILINE)


def render(session: Session) -> tuple[Artifact, ...]:
    """The files of every context."""
    name = f"{session.summary.key.agent}-{make_session_name(session.summary)}"
    return tuple(_ContextRenderer(name, "user").render(session.units))


class _ContextRenderer:
    """One stream, named as chibi names who speaks to whom."""

    def __init__(self, name: str, person: str) -> None:
        self._name, self._person = name, person

    def render(self, units: Sequence[Unit]) -> Iterator[Artifact]:
        entries = [placed for unit in units for placed in unit.entries]
        told = self._make_entries(entries)
        marks = [n for n, e in enumerate(told) if e["entry_type"] == "compaction"]
        cut = marks[-1] if marks else 0
        folder = f"contexts/{self._name}"
        yield Artifact(path=f"{folder}/context.jsonl", body=dump_json_lines(told[cut:]))
        yield Artifact(path=f"{folder}/transcript.md", body=_render_transcript(entries))
        if cut:
            path = f"{folder}/transcript_archive.jsonl"
            yield Artifact(path=path, body=dump_json_lines(told[:cut]))
        if self._person != "user":
            sent = [
                _make_inbox_entry(entry)
                for entry in told
                if entry["from"] == self._person
            ]
            yield Artifact(path=f"{folder}/inbox.jsonl", body=dump_json_lines(sent))
        for unit in units:
            for child in unit.subagents:
                name = f"{self._name}-{make_safe_name(child.summary.subagent_id)}"
                yield from _ContextRenderer(name, self._name).render([child])

    def _make_entries(self, entries: Sequence[PlacedRecord]) -> list[dict[str, Any]]:
        """The entries in order; a compaction and the summary behind it are one."""
        told: list[dict[str, Any]] = []
        for placed in entries:
            entry = self._make_entry(placed)
            if entry is None:
                continue
            if told and told[-1]["entry_type"] == entry["entry_type"] == "compaction":
                told.pop()
            told.append(entry)
        return told

    def _make_entry(self, placed: PlacedRecord) -> dict[str, Any] | None:
        """The record in chibi's words; None for what it has no word for."""
        record = placed.record
        here, tool = self._name, record.tool_name or "unknown"
        said: tuple[str, str, str, str]
        match record.type:
            case "user_message":
                said = (self._person, here, get_full_text(record), "message")
            case "assistant_message" if record.content.strip():
                said = (here, self._person, record.content, "message")
            case "tool_use":
                said = (here, tool, record.tool_input or "{}", "tool_call")
            case "tool_result":
                said = (tool, here, get_full_text(record), "tool_result")
            case "system_event" if _is_compaction(placed):
                said = ("system", here, "", "compaction")
            case _:
                return None
        return self._entry_to_dict(placed, said)

    def _entry_to_dict(
        self, placed: PlacedRecord, said: tuple[str, str, str, str]
    ) -> dict[str, Any]:
        record = placed.record
        time = record.created_at or placed.observed_at
        entry: dict[str, Any] = {
            "id": str(UUID(placed.entry_id)),
            "timestamp": int(time.timestamp()),
            "from": said[0],
            "to": said[1],
            "content": said[2],
            "entry_type": said[3],
        }
        metadata = {"model": record.model, "tool_call_id": record.tool_call_id}
        if said[3] == "compaction":
            metadata["summary"] = record.content
        known = {name: value for name, value in metadata.items() if value}
        return entry | ({"metadata": known} if known else {})


def _is_compaction(placed: PlacedRecord) -> bool:
    told = placed.record.metadata
    # The small kind shortens old results and takes no message away.
    return (
        told.get("kind") == "compacted" and told.get("note") != "microcompact_boundary"
    )


def _render_transcript(entries: Sequence[PlacedRecord]) -> bytes:
    """`[USER]: …` and `[ASSISTANT]: …`; a line that only looks so has a backslash."""
    heads = {"user_message": "[USER]: ", "assistant_message": "[ASSISTANT]: "}
    blocks = []
    for placed in entries:
        record = placed.record
        if record.type in heads and record.content.strip():
            text = _SPEAKER_LINE.sub(
                r"\\\1", replace_controls(record.content).strip("\n")
            )
            blocks.append(heads[record.type] + text + "\n")
    return encode_text("\n".join(blocks))


def _make_inbox_entry(entry: dict[str, Any]) -> dict[str, Any]:
    return {n: entry[n] for n in ("id", "timestamp", "from", "to", "content")}


SINK = Sink(
    name="chibi", about="chibi contexts: context.jsonl and its kin", render=render
)
