"""`leslied show`: one session, unit or subagent, to read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import click
from msgspec import structs

from leslied.cli.app import get_app
from leslied.cli.completion import complete_session
from leslied.cli.help import LesliedCommand
from leslied.cli.output import emit, json_option, sanitize
from leslied.cli.pager import show_lines
from leslied.cli.render_options import RenderOptions, find_terminal_width
from leslied.cli.session_view import render_answers, render_header, render_units
from leslied.cli.unit_selection import UnitSelection, filter_unit, select_units
from leslied.cli.unit_table import render_unit_table
from leslied.errors import UserError
from leslied.lookup import format_resume_command, load_session, redact_unit, resolve_id
from leslied.model.codec import session_to_dict, unit_to_dict
from leslied.redact.session import redact_summary

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo

    from leslied.cli.app import App
    from leslied.cli.render_options import ToolOutput
    from leslied.lookup import ResolvedId
    from leslied.model.session import Session, Unit

    Style = Literal["page", "log", "leslie", "markdown"]

STYLES = {
    "page": "",
    "log": "weakincentives",
    "leslie": "leslie",
    "markdown": "markdown",
}
"""How it can be shown, and which output makes it; a page is made here."""
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
"""Options that cannot both be meant."""
_PAGE_ONLY = ("full", "summary", "tool_output", "json")
"""What the other styles do not have: each has a form of its own."""


@click.command(
    cls=LesliedCommand,
    examples=[
        ("leslied show last", "read the newest session"),
        ("leslied show 3f2a91c0 --summary", "its units, a line each"),
        ("leslied show 3f2a91c0 --unit -1 --full", "the last of them, uncut"),
        ("leslied show last --assistant > answer.md", "only what the agent answered"),
        ("leslied show last --style log", "every entry with its time"),
        ("leslied show last --json", "all of it for a script"),
    ],
    see_also=["list", "search", "follow", "export", "resume"],
)
@click.argument("wanted", metavar="ID|last", shell_complete=complete_session)
@click.option("--full", is_flag=True, help="Show everything, thinking included, uncut.")
@click.option("--summary", is_flag=True, help="Show a line for each unit.")
@click.option(
    "--unit", type=int, metavar="N", help="Show one unit; -1 is the last, 0 the start."
)
@click.option(
    "--first", type=click.IntRange(min=1), metavar="N", help="Show the first N units."
)
@click.option(
    "--last", type=click.IntRange(min=1), metavar="N", help="Show the last N units."
)
@click.option("--assistant", is_flag=True, help="Show only what the agent answered.")
@click.option("--no-subagents", is_flag=True, help="Leave out what subagents did.")
@click.option("--thinking", is_flag=True, help="Show what the agent thought, too.")
@click.option("--tool-output", is_flag=True, help="Show all of what tools answered.")
@click.option("--no-tools", is_flag=True, help="Leave out calls and their answers.")
@click.option(
    "--style",
    type=click.Choice(list(STYLES)),
    default="page",
    show_default=True,
    help="A page to read, a log with times, a Leslie transcript, or Markdown.",
)
@click.option("--no-pager", is_flag=True, help="Print at once, also on a terminal.")
@click.option("--reveal", is_flag=True, help="Show secrets as they are in the log.")
@json_option
@click.pass_context
def command(ctx: click.Context, /, wanted: str, **options: Any) -> None:
    """Show a session by its id, thread id, chat id or subagent id, or the last one.

    Any unique beginning of an id will do; `leslied list` shows them. A unit is a prompt
    and all that followed from it; a chat id names one. The id of an entry, as `leslied
    search` tells it, shows that entry alone, whole. Of what a tool answered you see
    four lines, and nothing of what the agent thought, unless you ask for it.

    On a terminal answers are laid out, edits are shown as diffs, and a pager opens:
    LESLIED_PAGER, PAGER or less. In a pipe it is plain text. --json prints everything
    that was chosen, thinking included.
    """
    show_options = _ShowOptions(**options)
    show_options.check()
    app = get_app(ctx)
    session_output = _load(app, wanted, show_options)
    if show_options.as_json:
        emit(session_output.to_dict(), list, as_json=True)
        return
    show_lines(session_output.lines(), app.environ, is_paged=not show_options.no_pager)


@dataclass(frozen=True, slots=True, kw_only=True)
class _ShowOptions:
    """The options, by their names."""

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
        """Options that contradict each other are refused before anything is read."""
        for one, other in _CONFLICTING_OPTIONS:
            if self._is_given(one) and self._is_given(other):
                raise UserError(
                    f"{_format_option(one)} and {_format_option(other)} contradict each other.",
                    "Leave one of them out.",
                )
        if self.style == "page":
            return
        for name in (*_PAGE_ONLY, *["thinking"] * (self.style == "leslie")):
            if self._is_given("as_json" if name == "json" else name):
                raise UserError(
                    f"--style {self.style} knows no {_format_option(name)}.",
                    "Leave one of them out.",
                )

    def _is_given(self, name: str) -> bool:
        value = getattr(self, name)
        return value is not None and value is not False

    @property
    def selection(self) -> UnitSelection:
        """What is to be left of the session; a page sees to thinking itself."""
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
        """How it is to be seen here."""
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


def _load(app: App, wanted: str, options: _ShowOptions) -> _SessionOutput:
    with app.open_reader() as reader:
        found = resolve_id(reader, wanted, with_costs=True)
        _check_part(found, options.selection)
        zone = _find_zone(app, found, options.style)
        session = load_session(reader, found, app.clock.now(), zone)
    summary = session.summary
    if not options.reveal:
        summary = redact_summary(summary, app.redact)
    units = select_units(session.units, options.selection)
    if found.entry:
        # Whoever asks for one entry wants to see all of it.
        options = replace(options, full=True)
    return _SessionOutput(
        app, structs.replace(session, summary=summary, units=units), options
    )


def _check_part(found: ResolvedId, selection: UnitSelection) -> None:
    if found.is_whole_session or selection.is_whole:
        return
    what = (
        "a subagent" if found.subagent else "one entry" if found.entry else "one unit"
    )
    raise UserError(
        f"That id names {what}, and there is nothing in it to choose from.",
        "Leave --unit, --first and --last out, or name the session.",
    )


def _find_zone(app: App, found: ResolvedId, style: Style) -> tzinfo:
    """The zone that outputs tell times in; a page tells them as they are here."""
    if not STYLES[style] or app.load_settings().output.timezone == "utc":
        return UTC
    at = found.session.started_at or app.clock.now()
    return at.astimezone().tzinfo or UTC


@dataclass(frozen=True, slots=True)
class _SessionOutput:
    """The session, with the units that were asked for, on its way out."""

    app: App
    session: Session
    options: _ShowOptions

    def to_dict(self) -> dict[str, Any]:
        """All of it as scripts get it."""
        session = self.session.summary
        return {
            "session": session_to_dict(session, self.session.status, session.cwd)
            | {"unpriced_messages": session.cost.unpriced},
            "units": [
                self._unit_to_dict(u) for u in self._iter_units(is_filtered=False)
            ],
            "resume_command": format_resume_command(session) or None,
        }

    def lines(self) -> Iterator[str]:
        """All of it as people read it."""
        render_options = self.options.render_options(self.session.summary.cwd)
        if STYLES[self.options.style]:
            yield from self._sink_lines()
        elif self.options.assistant:
            yield from render_answers(self._iter_units(), render_options)
        else:
            home = str(self.app.home)
            yield from render_header(
                self.session.summary, self.session.status, home, render_options
            )
            yield from self._body(render_options)

    def _body(self, render_options: RenderOptions) -> Iterator[str]:
        if self.options.summary:
            yield from render_unit_table(tuple(self._iter_units()))
            return
        yield from render_units(self._iter_units(), render_options)
        resume = format_resume_command(self.session.summary)
        if resume:
            yield ""
            yield render_options.paint(sanitize(f"go on with it: {resume}"), dim=True)

    def _sink_lines(self) -> Iterator[str]:
        from leslied.sinks import load_sinks  # noqa: PLC0415 - a page needs none

        style = self.options.style
        sink = load_sinks()[STYLES[style]]
        session = structs.replace(self.session, units=tuple(self._iter_units()))
        for number, artifact in enumerate(sink.render(session)):
            if artifact.is_derived == (style == "log"):
                yield from [""] * bool(number and style == "leslie")
                text = artifact.body.decode(errors="replace")
                yield from map(sanitize, text.removesuffix("\n").split("\n"))

    def _iter_units(self, *, is_filtered: bool = True) -> Iterator[Unit]:
        """The units as they may be seen, one after the other as they are needed."""
        # The same names and ids stand in every entry.
        redact = lru_cache(maxsize=4096)(self.app.redact)
        for whole in self.session.units:
            unit = filter_unit(whole, self.options.selection) if is_filtered else whole
            yield unit if self.options.reveal else redact_unit(unit, redact)

    def _unit_to_dict(self, unit: Unit) -> dict[str, Any]:
        data = self._filter_dict(unit_to_dict(unit))
        return data if unit.summary.is_subagent else {"number": unit.number, **data}

    def _filter_dict(self, data: dict[str, Any]) -> dict[str, Any]:
        """Counts and times stay the whole unit's, whatever is left out of it."""
        selection = self.options.selection
        entries = [] if self.options.summary else data["entries"]
        below = data["subagents"] if selection.shows_subagents else []
        return {
            **data,
            "entries": [each for each in entries if selection.includes(each["type"])],
            "subagents": [self._filter_dict(child) for child in below],
        }
