"""`leslied resume`: a briefing on a thread for the agent that continues it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from leslied.app import get_app
from leslied.cli.completion import complete_thread
from leslied.cli.help import LesliedCommand
from leslied.cli.render.output import emit, format_time, json_option, sanitize
from leslied.graphemes import ellipsize
from leslied.queries.threads.resume_briefing import load_briefing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from leslied.model.record import Record
    from leslied.model.session import Unit
    from leslied.queries.threads.resume_briefing import Briefing

_MAX_TEXT_CHARS = 2000
_MAX_INPUT_CHARS = 200


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
    original agent. `last` is the thread of the most recently active session.
    """
    with get_app(ctx).open_queries() as queries:
        briefing = load_briefing(queries, id_prefix)
    emit(briefing.to_dict, lambda: _lines(briefing), as_json=as_json)


def _lines(briefing: Briefing) -> Iterator[str]:
    """Yield the briefing as Markdown, usable as an agent's first prompt."""
    yield sanitize(f"# Continue {briefing.session.thread_id}: {briefing.title}")
    if briefing.context:
        yield ""
        yield from map(sanitize, briefing.context.split("\n"))
    if briefing.last_unit:
        yield from _unit_lines(briefing, briefing.last_unit)
    yield from _list_section_lines(
        "Tool calls without a result", map(_format_call, briefing.unanswered_calls)
    )
    yield from _list_section_lines("Open tasks", briefing.open_tasks)
    yield from _list_section_lines("Resume with the same agent", [briefing.command])


def _unit_lines(briefing: Briefing, unit: Unit) -> Iterator[str]:
    ended_at = format_time(unit.ended_at)
    yield from _text_section_lines("Last prompt", unit.prompt)
    yield from _text_section_lines(
        f"Last answer ({unit.stop_reason}, {ended_at})", briefing.last_answer
    )
    if unit.transcript:
        yield ""
        yield sanitize(f"Transcript: {unit.transcript}")


def _format_call(record: Record) -> str:
    text = ellipsize(" ".join(record.tool_input.split()), _MAX_INPUT_CHARS)
    return f"{record.tool_name} {text}"


def _text_section_lines(title: str, text: str) -> Iterator[str]:
    if not text.strip():
        return
    yield from ("", f"## {title}", "")
    text = ellipsize(text.strip(), _MAX_TEXT_CHARS)
    yield from map(sanitize, text.split("\n"))


def _list_section_lines(title: str, items: Iterable[str]) -> Iterator[str]:
    """Yield a heading and a list of the nonempty items; nothing if there are none."""
    lines = [sanitize(item).replace("\n", " ") for item in items if item]
    if lines:
        yield from ("", f"## {title}", "")
        yield from (f"- {line}" for line in lines)
