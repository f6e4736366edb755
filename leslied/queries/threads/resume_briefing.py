"""A briefing on a thread, for the agent that continues its work."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leslied.hooks.files import read_part
from leslied.hooks.thread import find_project
from leslied.layout import PROGRESS_FILE, thread_folder
from leslied.queries.resolve import resolve_id
from leslied.queries.units import format_resume_command, load_units
from leslied.threads.context import build_context
from leslied.threads.progress import parse_progress

if TYPE_CHECKING:
    from leslied.model.record import Record
    from leslied.model.session import SessionSummary, Unit
    from leslied.queries.context import QueryContext

_MAX_PROGRESS_BYTES = 262_144


@dataclass(frozen=True, slots=True, kw_only=True)
class Briefing:
    """State of a thread, for the agent that continues it."""

    session: SessionSummary
    title: str
    context: str
    last_unit: Unit | None
    unanswered_calls: tuple[Record, ...]
    open_tasks: tuple[str, ...]
    command: str

    def to_dict(self) -> dict[str, Any]:
        """Build the JSON form."""
        return {
            "thread_id": self.session.thread_id,
            "session_id": self.session.key.session_id,
            "agent": self.session.key.agent,
            "title": self.title,
            "context": self.context,
            "last_unit": self._unit_to_dict(),
            "unanswered": [
                {"tool_name": each.tool_name, "tool_input": each.tool_input}
                for each in self.unanswered_calls
            ],
            "open": list(self.open_tasks),
            "command": self.command or None,
        }

    @property
    def last_answer(self) -> str:
        """The last nonempty answer of the last unit, or ""."""
        entries = self.last_unit.entries if self.last_unit else ()
        records = (placed.record for placed in reversed(entries))
        texts = (r.content for r in records if r.type == "assistant_message")
        return next((text for text in texts if text.strip()), "")

    def _unit_to_dict(self) -> dict[str, Any] | None:
        unit = self.last_unit
        if unit is None:
            return None
        return {
            "chat_id": unit.chat_id,
            "prompt": unit.prompt,
            "answer": self.last_answer,
            "stop_reason": unit.stop_reason,
            "transcript": unit.transcript or None,
        }


def load_briefing(context: QueryContext, id_prefix: str) -> Briefing:
    """Return the briefing on the thread that an id names.

    Raise UserError if the id is unknown or ambiguous.
    """
    resolved = resolve_id(context.reader, id_prefix)
    session, units = resolved.session, load_units(context.reader, resolved)
    current_units = (u for u in reversed(units) if u.number and not u.is_rewound)
    last_unit = next(current_units, None)
    last_unit = context.redact_unit(last_unit) if last_unit else None
    folder = session.folder or find_project(session.cwd)
    records = [placed.record for placed in last_unit.entries] if last_unit else []
    # A central folder is not in the project, so relative paths would not resolve.
    is_central = Path(folder).is_relative_to(context.paths.central_dir)
    prefix = f"{folder}/" if is_central else ""
    xml = build_context(folder, session.thread_id, prefix=prefix).xml if folder else ""
    redacted_session = context.redact_summary(session)
    return Briefing(
        session=redacted_session,
        title=redacted_session.title,
        context=context.redact(xml),
        last_unit=last_unit,
        unanswered_calls=tuple(r for r in records if r.metadata.get("is_unanswered")),
        open_tasks=tuple(
            map(context.redact, _list_open_tasks(folder, session.thread_id))
        ),
        command=format_resume_command(redacted_session),
    )


def _list_open_tasks(folder: str, thread: str) -> list[str]:
    """Return open tasks, then blocked ones with their reason."""
    path = f"{folder}/{thread_folder(thread)}/{PROGRESS_FILE}"
    text = (read_part(path, 0, _MAX_PROGRESS_BYTES) or b"").decode("utf-8", "replace")
    progress = parse_progress(text)
    blocked_tasks = [
        f"{item.text} (blocked{f': {item.reason}' if item.reason else ''})"
        for item in progress.list_items("blocked")
    ]
    return [*(item.text for item in progress.list_items("open")), *blocked_tasks]
