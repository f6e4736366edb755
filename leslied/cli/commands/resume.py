"""`leslied resume`: a briefing on a thread for the agent that continues it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leslied.app import get_app
from leslied.cli.completion import complete_thread
from leslied.cli.help import LesliedCommand
from leslied.cli.render.output import emit, format_time, json_option, sanitize
from leslied.hooks.files import read_part
from leslied.hooks.thread import find_project
from leslied.layout import PROGRESS_FILE, thread_folder
from leslied.queries import format_resume_command, load_units, redact_unit, resolve_id
from leslied.threads.context import build_context
from leslied.threads.progress import parse_progress

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from leslied.app import App
    from leslied.model.record import Record
    from leslied.model.session import SessionSummary, Unit

_MAX_TEXT_CHARS = 2000
_MAX_INPUT_CHARS = 200
_MAX_PROGRESS_BYTES = 262_144


@click.command(
    cls=LesliedCommand,
    examples=[
        ("leslied resume last", "print the briefing on the newest session's thread"),
        ('claude "$(leslied resume last)"', "start Claude Code with it"),
        ("leslied resume thread-5e551e11 --json", "print it as JSON"),
    ],
    see_also=["context", "show", "threads"],
)
@click.argument("id_prefix", metavar="THREAD|last", shell_complete=complete_thread)
@json_option
@click.pass_context
def command(ctx: click.Context, *, id_prefix: str, as_json: bool) -> None:
    """Print a briefing on a thread for the agent that continues it.

    Use it to continue the work of a thread with the same agent or another one. The
    briefing lists the thread's assets, the last prompt and answer, tool calls without a
    result, and open tasks, and ends with the command that resumes the session in its
    original agent. `last` is the thread of the newest session.
    """
    app = get_app(ctx)
    with app.open_reader() as reader:
        resolved = resolve_id(reader, id_prefix)
        units = load_units(reader, resolved)
    briefing = _make_briefing(app, resolved.session, units)
    emit(briefing.to_dict(), briefing.lines, as_json=as_json)


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

    def lines(self) -> Iterator[str]:
        """Yield the briefing as Markdown, usable as an agent's first prompt."""
        yield sanitize(f"# Continue {self.session.thread_id}: {self.title}")
        if self.context:
            yield ""
            yield from map(sanitize, self.context.split("\n"))
        if self.last_unit:
            yield from _unit_lines(self.last_unit)
        yield from _list_section_lines(
            "Tool calls without a result", map(_format_call, self.unanswered_calls)
        )
        yield from _list_section_lines("Open tasks", self.open_tasks)
        yield from _list_section_lines("Resume with the same agent", [self.command])

    def _unit_to_dict(self) -> dict[str, Any] | None:
        unit = self.last_unit
        if unit is None:
            return None
        return {
            "chat_id": unit.chat_id,
            "prompt": unit.prompt,
            "answer": _find_answer(unit),
            "stop_reason": unit.stop_reason,
            "transcript": unit.transcript or None,
        }


def _unit_lines(unit: Unit) -> Iterator[str]:
    ended_at = format_time(unit.ended_at)
    yield from _text_section_lines("Last prompt", unit.prompt)
    yield from _text_section_lines(
        f"Last answer ({unit.stop_reason}, {ended_at})", _find_answer(unit)
    )
    if unit.transcript:
        yield ""
        yield sanitize(f"Transcript: {unit.transcript}")


def _make_briefing(
    app: App, session: SessionSummary, units: tuple[Unit, ...]
) -> Briefing:
    last_unit = next((unit for unit in reversed(units) if unit.number), None)
    last_unit = redact_unit(last_unit, app.redact) if last_unit else None
    folder = session.folder or find_project(session.cwd)
    records = [placed.record for placed in last_unit.entries] if last_unit else []
    # A central folder is not in the project, so relative paths would not resolve.
    is_central = Path(folder).is_relative_to(app.paths.central_dir)
    prefix = f"{folder}/" if is_central else ""
    return Briefing(
        session=session,
        title=app.redact(session.title),
        context=build_context(folder, session.thread_id, prefix=prefix).xml
        if folder
        else "",
        last_unit=last_unit,
        unanswered_calls=tuple(r for r in records if r.metadata.get("is_unanswered")),
        open_tasks=tuple(map(app.redact, _list_open_tasks(folder, session.thread_id))),
        command=format_resume_command(session),
    )


def _list_open_tasks(folder: str, thread: str) -> list[str]:
    """Return open tasks, then blocked ones with their reason."""
    path = f"{folder}/{thread_folder(thread)}/{PROGRESS_FILE}"
    text = (read_part(path, 0, _MAX_PROGRESS_BYTES) or b"").decode("utf-8", "replace")
    progress = parse_progress(text)
    blocked = [
        f"{item.text} (blocked{f': {item.reason}' if item.reason else ''})"
        for item in progress.list_items("blocked")
    ]
    return [*(item.text for item in progress.list_items("open")), *blocked]


def _find_answer(unit: Unit) -> str:
    """Return the last nonempty answer of the unit, or ""."""
    records = (placed.record for placed in reversed(unit.entries))
    texts = (r.content for r in records if r.type == "assistant_message")
    return next((text for text in texts if text.strip()), "")


def _format_call(record: Record) -> str:
    text = " ".join(record.tool_input.split())
    if len(text) > _MAX_INPUT_CHARS:
        text = text[: _MAX_INPUT_CHARS - 1] + "…"
    return f"{record.tool_name} {text}"


def _text_section_lines(title: str, text: str) -> Iterator[str]:
    if not text.strip():
        return
    yield from ("", f"## {title}", "")
    text = text.strip()
    if len(text) > _MAX_TEXT_CHARS:
        text = text[: _MAX_TEXT_CHARS - 1] + "…"
    yield from map(sanitize, text.split("\n"))


def _list_section_lines(title: str, items: Iterable[str]) -> Iterator[str]:
    """Yield a heading and a list of the nonempty items; nothing if there are none."""
    lines = [sanitize(item).replace("\n", " ") for item in items if item]
    if lines:
        yield from ("", f"## {title}", "")
        yield from (f"- {line}" for line in lines)
