"""chibi: a context folder for the session and for each subagent.

`context.jsonl` holds the entries since the last compaction,
`transcript_archive.jsonl` those before it, `transcript.md` the conversation for people,
and a subagent's `inbox.jsonl` the task that it was sent.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from uuid import UUID

from leslied.model.output import Artifact
from leslied.rendering.messages import find_export_origin, get_full_text
from leslied.rendering.text import replace_controls
from leslied.sinks._contract import Sink
from leslied.sinks._names import make_safe_name, make_session_name
from leslied.sinks._text import dump_json_lines, encode_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leslied.model.record import PlacedRecord
    from leslied.model.session import Session, SessionSummary, Unit

_SPEAKER_LINE = re.compile(r"^(\\*\[(?:USER|ASSISTANT)\]:)", re.MULTILINE)


def render(session: Session) -> tuple[Artifact, ...]:
    """Render the files of every context."""
    name = f"{session.summary.key.agent}-{make_session_name(session.summary)}"
    return tuple(_ContextRenderer(name, "user", name).render(session.units))


class _ContextRenderer:
    """Renderer of one session or subagent as a context.

    `name` is the context's name. `partner` is who sends it prompts: `user`, or the
    context of the session that started the subagent. `root` is the session's context.
    """

    def __init__(self, name: str, partner: str, root: str) -> None:
        self._name, self._partner, self._root = name, partner, root
        self._origins: dict[str, str] = {}

    def render(self, units: Sequence[Unit]) -> Iterator[Artifact]:
        """Yield the files of this context, then those of its subagents' contexts."""
        records = [placed for unit in units for placed in unit.entries]
        self._origins = {
            placed.entry_id: find_export_origin(placed, unit)
            for unit in units
            for placed in unit.entries
        }
        entries = self._make_entries(records)
        is_subagent = self._partner != "user"
        if is_subagent and units:
            self._mark_subagent(entries, units[0].summary)
        compactions = [
            position
            for position, entry in enumerate(entries)
            if entry["entry_type"] == "compaction"
        ]
        archived_count = compactions[-1] if compactions else 0
        folder = f"contexts/{self._name}"
        path = f"{folder}/context.jsonl"
        yield Artifact(path=path, body=dump_json_lines(entries[archived_count:]))
        yield Artifact(path=f"{folder}/transcript.md", body=_render_transcript(records))
        if archived_count:
            path = f"{folder}/transcript_archive.jsonl"
            yield Artifact(path=path, body=dump_json_lines(entries[:archived_count]))
        if is_subagent:
            inbox = [
                _make_inbox_entry(entry)
                for entry in entries
                if entry["from"] == self._partner
            ]
            yield Artifact(path=f"{folder}/inbox.jsonl", body=dump_json_lines(inbox))
        for unit in units:
            for child in unit.subagents:
                name = f"{self._name}-{make_safe_name(child.summary.subagent_id)}"
                renderer = _ContextRenderer(name, self._name, self._root)
                yield from renderer.render([child])

    def _mark_subagent(
        self, entries: Sequence[dict[str, Any]], summary: SessionSummary
    ) -> None:
        """Add the subagent's id to each entry, and its call and parent to the first."""
        for number, entry in enumerate(entries):
            metadata = entry.setdefault("metadata", {})
            metadata["root_context"] = self._root
            metadata["subagent_id"] = summary.subagent_id
            if not number:
                facts = {
                    "spawn_call_id": summary.spawn_call_id,
                    "parent_agent": summary.parent_agent,
                }
                metadata.update({k: v for k, v in facts.items() if v})

    def _make_entries(self, records: Sequence[PlacedRecord]) -> list[dict[str, Any]]:
        """Return the entries in order; of adjacent compactions, only the last."""
        entries: list[dict[str, Any]] = []
        for placed in records:
            entry = self._make_entry(placed)
            if entry is None:
                continue
            previous_type = entries[-1]["entry_type"] if entries else ""
            if previous_type == entry["entry_type"] == "compaction":
                entries.pop()
            entries.append(entry)
        return entries

    def _make_entry(self, placed: PlacedRecord) -> dict[str, Any] | None:
        """Return the record as a chibi entry, or None if chibi has no such type."""
        record = placed.record
        context, tool = self._name, record.tool_name or "unknown"
        # Sender, recipient, content and type of the entry.
        message: tuple[str, str, str, str]
        match record.type:
            case "user_message":
                message = (self._partner, context, get_full_text(record), "message")
            case "assistant_message" if record.content.strip():
                message = (context, self._partner, record.content, "message")
            case "tool_use":
                message = (context, tool, record.tool_input or "{}", "tool_call")
            case "tool_result":
                message = (tool, context, get_full_text(record), "tool_result")
            case "system_event" if _is_compaction(placed):
                message = ("system", context, "", "compaction")
            case _:
                return None
        return self._entry_to_dict(placed, message)

    def _entry_to_dict(
        self, placed: PlacedRecord, message: tuple[str, str, str, str]
    ) -> dict[str, Any]:
        record = placed.record
        time = record.created_at or placed.observed_at
        sender, recipient, content, entry_type = message
        entry: dict[str, Any] = {
            "id": str(UUID(placed.entry_id)),
            "timestamp": int(time.timestamp()),
            "from": sender,
            "to": recipient,
            "content": content,
            "entry_type": entry_type,
        }
        metadata: dict[str, Any] = {
            "model": record.model,
            "tool_call_id": record.tool_call_id,
            "is_error": record.metadata.get("is_error"),
            "is_between_turns": record.metadata.get("is_between_turns"),
            "origin": self._origins.get(placed.entry_id),
        }
        if entry_type == "compaction":
            metadata["summary"] = record.content
        metadata = {name: value for name, value in metadata.items() if value}
        return entry | ({"metadata": metadata} if metadata else {})


def _is_compaction(placed: PlacedRecord) -> bool:
    metadata = placed.record.metadata
    # A microcompaction shortens old results but removes no message.
    is_micro = metadata.get("note") == "microcompact_boundary"
    return metadata.get("kind") == "compacted" and not is_micro


def _render_transcript(records: Sequence[PlacedRecord]) -> bytes:
    """Render `[USER]: …` and `[ASSISTANT]: …` blocks.

    Lines of a message that look like the start of a block are escaped.
    """
    prefixes = {"user_message": "[USER]: ", "assistant_message": "[ASSISTANT]: "}
    blocks = []
    for placed in records:
        record = placed.record
        if record.type in prefixes and record.content.strip():
            text = _SPEAKER_LINE.sub(
                r"\\\1", replace_controls(record.content).strip("\n")
            )
            blocks.append(prefixes[record.type] + text + "\n")
    return encode_text("\n".join(blocks))


def _make_inbox_entry(entry: dict[str, Any]) -> dict[str, Any]:
    names = ("id", "timestamp", "from", "to", "content")
    owner = {name: entry["metadata"][name] for name in ("root_context", "subagent_id")}
    return {**{name: entry[name] for name in names}, "metadata": owner}


SINK = Sink(
    name="chibi", about="chibi context folders with context.jsonl", render=render
)
