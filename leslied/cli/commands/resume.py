"""`leslied resume`: a briefing on a thread for the agent that continues it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from leslied.app import get_app
from leslied.cli.completion import complete_thread
from leslied.cli.help import LesliedCommand
from leslied.cli.render.output import emit, format_time, json_option, sanitize
from leslied.control_characters import format_one_line
from leslied.graphemes import ellipsize
from leslied.model.quotation import QUOTATION_NOTE, quote_lines
from leslied.queries.threads.resume_briefing import load_briefing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from leslied.queries.threads.resume_briefing import Briefing

_MAX_TEXT_CHARS = 2000
_MAX_LINE_CHARS = 200


@click.command(
    cls=LesliedCommand,
    examples=[
        (
            "leslied resume last",
            "print the briefing on the last active thread",
        ),
        ('claude "$(leslied resume last)"', "start Claude Code with it"),
        ("leslied resume thread-5e551e11 --json", "print it as JSON"),
    ],
    see_also=["context", "show", "threads"],
)
@click.argument("id_prefix", metavar="THREAD|last", shell_complete=complete_thread)
@json_option
@click.pass_context
def command(ctx: click.Context, *, id_prefix: str, as_json: bool) -> None:
    """Print a briefing with which an agent can take over a thread.

    Use it to continue the work of a thread with the same agent or another one. The
    briefing lists the thread's assets, the last prompt and answer, tool calls without a
    result, and open tasks, and ends with the command that resumes the session in its
    original agent. In the briefing, each line quoted from the session begins with `> `.
    `last` is the thread of the most recently active session.
    """
    with get_app(ctx).open_queries() as queries:
        briefing = load_briefing(queries, id_prefix)
    emit(briefing.to_dict, lambda: _lines(briefing), as_json=as_json)


def _lines(briefing: Briefing) -> Iterator[str]:
    """Yield the briefing as Markdown, usable as an agent's first prompt.

    Texts from logs and files are quoted, so that they cannot pass for instructions of
    the briefing itself.
    """
    yield f"# Continue {format_one_line(briefing.session.thread_id)}"
    yield from ("", f"This is a briefing on an earlier session. {QUOTATION_NOTE}")
    yield from _section_lines("Title", _format_line(briefing.title))
    if briefing.context:
        yield from ("", *map(sanitize, briefing.context.split("\n")))
    if unit := briefing.last_unit:
        ended_at = format_time(unit.ended_at)
        answer_title = f"Last answer ({unit.stop_reason}, {ended_at})"
        yield from _section_lines("Last prompt", unit.prompt)
        yield from _section_lines(answer_title, briefing.last_answer)
        yield from _section_lines("Transcript", format_one_line(unit.transcript))
    calls = (
        f"{call.tool_name} {call.tool_input}" for call in briefing.unanswered_calls
    )
    yield from _section_lines("Tool calls without a result", _format_list(calls))
    yield from _section_lines("Open tasks", _format_list(briefing.open_tasks))
    yield from _section_lines("Resume with the same agent", briefing.command)


def _format_list(items: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for item in items if (line := _format_line(item)))


def _format_line(text: str) -> str:
    return ellipsize(format_one_line(text), _MAX_LINE_CHARS)


def _section_lines(title: str, text: str) -> Iterator[str]:
    """Yield a heading and the quoted start of the text; nothing if it is blank."""
    if text.strip():
        yield from ("", f"## {title}", "")
        yield from quote_lines(ellipsize(text.strip(), _MAX_TEXT_CHARS))
