"""`leslied show`: one session, unit, subagent or entry."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC
from typing import TYPE_CHECKING, Any, Literal

import click

from leslied.app import get_app
from leslied.cli.completion import complete_session
from leslied.cli.help import LesliedCommand
from leslied.cli.render.options import RenderOptions, find_terminal_width
from leslied.cli.render.output import emit, json_option, sanitize
from leslied.cli.render.session import (
    render_answers,
    render_header,
    render_marks,
    render_units,
)
from leslied.cli.render.unit_table import render_unit_table
from leslied.cli.terminal.pager import show_lines
from leslied.errors import UserError
from leslied.queries.show import show_session
from leslied.queries.unit_selection import UnitSelection

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo

    from leslied.app import App
    from leslied.cli.render.options import ToolOutput
    from leslied.queries.show import ShownSession

    Style = Literal["page", "log", "leslie", "markdown"]

STYLES = {
    "page": "",
    "log": "weakincentives",
    "leslie": "leslie",
    "markdown": "markdown",
}
"""Name of the sink that renders each style; `page` is rendered by the CLI."""
_CONFLICTING_OPTIONS = (
    ("unit", "first"),
    ("unit", "last"),
    ("first", "last"),
    ("full", "summary"),
    ("full", "assistant"),
    ("full", "no_tools"),
    ("tool_output", "no_tools"),
    ("summary", "assistant"),
    ("summary", "thinking"),
    ("summary", "tool_output"),
    ("summary", "no_tools"),
    ("assistant", "thinking"),
    ("assistant", "tool_output"),
)
"""Pairs of options that cannot be combined."""
_PAGE_ONLY_OPTIONS = ("full", "summary", "tool_output", "json")
"""Options that only `--style page` supports."""


@click.command(
    cls=LesliedCommand,
    examples=[
        ("leslied show last", "read the last active session"),
        ("leslied show 3f2a91c0 --summary", "list its units"),
        ("leslied show 3f2a91c0 --unit -1 --full", "its last unit, in full"),
        ("leslied show last --assistant > answer.md", "only the agent's answers"),
        ("leslied show last --style log", "the entries, with times"),
        ("leslied show last --json", "everything, as JSON"),
    ],
    see_also=["list", "search", "follow", "export", "resume"],
)
@click.argument("id_prefix", metavar="ID|last", shell_complete=complete_session)
@click.option(
    "--full", is_flag=True, help="Show everything in full, including thinking."
)
@click.option("--summary", is_flag=True, help="Show one line per unit.")
@click.option(
    "--unit",
    type=int,
    metavar="N",
    help="Show unit N: -1 is the last, 0 is everything before the first prompt.",
)
@click.option(
    "--first", type=click.IntRange(min=1), metavar="N", help="Show the first N units."
)
@click.option(
    "--last", type=click.IntRange(min=1), metavar="N", help="Show the last N units."
)
@click.option("--assistant", is_flag=True, help="Show only the agent's answers.")
@click.option("--no-subagents", is_flag=True, help="Leave out subagents.")
@click.option("--thinking", is_flag=True, help="Show thinking too.")
@click.option("--tool-output", is_flag=True, help="Show tool results in full.")
@click.option("--no-tools", is_flag=True, help="Leave out tool calls and results.")
@click.option(
    "--style",
    type=click.Choice(list(STYLES)),
    default="page",
    show_default=True,
    help="page: formatted for reading; log: entries with times; leslie: the text of "
    "the transcript file; markdown: Markdown source.",
)
@click.option("--no-pager", is_flag=True, help="Do not use a pager.")
@click.option("--reveal", is_flag=True, help="Show secrets unredacted.")
@json_option
@click.pass_context
def command(ctx: click.Context, /, id_prefix: str, **options: Any) -> None:
    """Show a session, unit, subagent or entry.

    A unit is one prompt and everything up to the next prompt. ID is the id of a
    session, a thread (to show its session), a unit (`chat-…`), a subagent or an entry,
    or a unique prefix of one; `last` is the session that was active most recently.
    `leslied list` shows session ids; `leslied search` shows unit and entry ids.

    By default, tool results are cut to four lines and thinking is left out. On a
    terminal, Markdown in answers is rendered, edits are shown as diffs, and the output
    goes through a pager ($LESLIED_PAGER, $PAGER or `less`). --json always includes
    thinking and full tool results.
    """
    show_options = _ShowOptions(**options)
    show_options.check()
    app = get_app(ctx)
    with app.open_queries(reveal=show_options.reveal) as queries:
        zone = _get_zone(app, show_options.style)
        session = show_session(queries, id_prefix, show_options.selection, zone)
        if show_options.as_json:
            with_entries = not show_options.summary
            emit(
                lambda: session.to_dict(with_entries=with_entries),
                lambda: (),
                as_json=True,
            )
            return
        if session.is_entry:
            # A single entry is always shown in full.
            show_options = replace(show_options, full=True)
        lines = _lines(session, show_options, str(app.home))
        show_lines(lines, app.environ, is_paged=not show_options.no_pager)


@dataclass(frozen=True, slots=True, kw_only=True)
class _ShowOptions:
    """Command-line options of `leslied show`."""

    full: bool
    summary: bool
    unit: int | None
    first: int | None
    last: int | None
    assistant: bool
    no_subagents: bool
    thinking: bool
    tool_output: bool
    no_tools: bool
    style: Style
    no_pager: bool
    reveal: bool
    as_json: bool

    def check(self) -> None:
        """Raise UserError if options cannot be combined."""
        for name, other_name in _CONFLICTING_OPTIONS:
            if self._is_set(name) and self._is_set(other_name):
                raise UserError(
                    f"{_format_option(name)} cannot be combined with "
                    f"{_format_option(other_name)}.",
                    "Leave one of them out.",
                )
        if self.style == "page":
            return
        unsupported_names = list(_PAGE_ONLY_OPTIONS)
        if self.style == "leslie":
            unsupported_names.append("thinking")
        for name in unsupported_names:
            # The value of --json is in `as_json`.
            if self._is_set("as_json" if name == "json" else name):
                raise UserError(
                    f"--style {self.style} does not support {_format_option(name)}.",
                    "Leave one of them out.",
                )

    def _is_set(self, name: str) -> bool:
        value = getattr(self, name)
        return value is not None and value is not False

    @property
    def selection(self) -> UnitSelection:
        """Return which parts to show.

        For a page, thinking is included: the page renderer decides whether to show it.
        """
        return UnitSelection(
            unit=self.unit,
            first=self.first,
            last=self.last,
            is_answers_only=self.assistant,
            include_subagents=not self.no_subagents,
            include_tools=not self.no_tools,
            include_thinking=self.style == "page" or self.thinking,
        )

    def render_options(self, folder: str) -> RenderOptions:
        """Build the options of the page renderer."""
        tool_output: ToolOutput = "whole" if self.full or self.tool_output else "short"
        return RenderOptions(
            width=find_terminal_width(),
            folder=folder,
            is_full=self.full,
            include_thinking=self.full or self.thinking,
            tool_output="none" if self.no_tools else tool_output,
        )


def _format_option(name: str) -> str:
    return "--" + name.replace("_", "-")


def _get_zone(app: App, style: Style) -> tzinfo | None:
    """Return the time zone of the session's times: UTC, or None for local time.

    A page is loaded in UTC, because its renderer converts times to local time.
    """
    is_utc = not STYLES[style] or app.load_settings().output.timezone == "utc"
    return UTC if is_utc else None


def _lines(session: ShownSession, options: _ShowOptions, home: str) -> Iterator[str]:
    """Yield the text form in the selected style."""
    render_options = options.render_options(session.summary.cwd)
    if STYLES[options.style]:
        yield from _sink_lines(session, options.style)
    elif options.assistant:
        yield from render_answers(session.iter_units(), render_options)
    else:
        yield from render_header(session, home, render_options)
        yield from render_marks(session.marks, render_options)
        yield from _page_lines(session, options, render_options)


def _page_lines(
    session: ShownSession, options: _ShowOptions, render_options: RenderOptions
) -> Iterator[str]:
    if options.summary:
        yield from render_unit_table(tuple(session.iter_units()))
        return
    yield from render_units(session.iter_units(), render_options)
    if session.resume_command:
        line = sanitize(f"resume with: {session.resume_command}")
        yield ""
        yield render_options.paint(line, dim=True)


def _sink_lines(session: ShownSession, style: Style) -> Iterator[str]:
    from leslied.queries.export import render_session  # noqa: PLC0415 - not for a page

    # The sink of the style `log` makes a JSON file and, derived from it, the log.
    is_derived = style == "log"
    artifacts = render_session(session.load_session(), STYLES[style])
    for number, artifact in enumerate(artifacts):
        if artifact.is_derived == is_derived:
            # A blank line between the transcripts of two units.
            if number and style == "leslie":
                yield ""
            text = artifact.body.decode(errors="replace")
            yield from map(sanitize, text.removesuffix("\n").split("\n"))
