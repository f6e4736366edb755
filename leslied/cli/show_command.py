"""`leslied show`: one session, unit or subagent, to read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import click
from msgspec import structs

from leslied.cli.completion import complete_session
from leslied.cli.desk import sit_down
from leslied.cli.excerpt import Excerpt, choose, thin
from leslied.cli.help import Command
from leslied.cli.look import Look, find_width
from leslied.cli.output import clean, emit, json_option
from leslied.cli.page import answer_lines, head_lines, page_lines
from leslied.cli.pager import show_lines
from leslied.cli.summary import summary_lines
from leslied.errors import UserError
from leslied.lookup import format_resume_command, load_session, redact_unit, resolve_id
from leslied.model.codec import session_to_dict, unit_to_dict
from leslied.redact.session import redact_summary

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo

    from leslied.cli.desk import Desk
    from leslied.cli.look import Output
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
_CONTRARY = (
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
    cls=Command,
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
    asked = _Asked(**options)
    asked.check()
    desk = sit_down(ctx)
    showing = _load(desk, wanted, asked)
    if asked.as_json:
        emit(showing.plain(), list, as_json=True)
        return
    show_lines(showing.lines(), desk.environ, is_paged=not asked.no_pager)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
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
        for one, other in _CONTRARY:
            if self._has(one) and self._has(other):
                raise UserError(
                    f"{_option(one)} and {_option(other)} contradict each other.",
                    "Leave one of them out.",
                )
        if self.style == "page":
            return
        for name in (*_PAGE_ONLY, *["thinking"] * (self.style == "leslie")):
            if self._has("as_json" if name == "json" else name):
                raise UserError(
                    f"--style {self.style} knows no {_option(name)}.",
                    "Leave one of them out.",
                )

    def _has(self, name: str) -> bool:
        value = getattr(self, name)
        return value is not None and value is not False

    @property
    def excerpt(self) -> Excerpt:
        """What is to be left of the session; a page sees to thinking itself."""
        return Excerpt(
            unit=self.unit,
            first=self.first,
            last=self.last,
            is_answers=self.assistant,
            has_subagents=not self.no_subagents,
            has_tools=not self.no_tools,
            has_thinking=self.style == "page" or self.thinking,
        )

    def look(self, folder: str) -> Look:
        """How it is to be seen here."""
        output: Output = "whole" if self.full or self.tool_output else "short"
        return Look(
            width=find_width(),
            folder=folder,
            is_full=self.full,
            has_thinking=self.full or self.thinking,
            output="none" if self.no_tools else output,
        )


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def _load(desk: Desk, wanted: str, asked: _Asked) -> _Showing:
    with desk.open_reader() as reader:
        found = resolve_id(reader, wanted, with_costs=True)
        _check_part(found, asked.excerpt)
        zone = _find_zone(desk, found, asked.style)
        session = load_session(reader, found, desk.clock.now(), zone)
    summary = session.summary
    if not asked.reveal:
        summary = redact_summary(summary, desk.redact)
    units = choose(session.units, asked.excerpt)
    if found.entry:
        # Whoever asks for one entry wants to see all of it.
        asked = replace(asked, full=True)
    return _Showing(desk, structs.replace(session, summary=summary, units=units), asked)


def _check_part(found: ResolvedId, excerpt: Excerpt) -> None:
    if found.is_whole_session or excerpt.is_whole:
        return
    what = (
        "a subagent" if found.subagent else "one entry" if found.entry else "one unit"
    )
    raise UserError(
        f"That id names {what}, and there is nothing in it to choose from.",
        "Leave --unit, --first and --last out, or name the session.",
    )


def _find_zone(desk: Desk, found: ResolvedId, style: Style) -> tzinfo:
    """The zone that outputs tell times in; a page tells them as they are here."""
    if not STYLES[style] or desk.load_settings().output.timezone == "utc":
        return UTC
    at = found.session.started_at or desk.clock.now()
    return at.astimezone().tzinfo or UTC


@dataclass(frozen=True, slots=True)
class _Showing:
    """The session, with the units that were asked for, on its way out."""

    desk: Desk
    session: Session
    asked: _Asked

    def plain(self) -> dict[str, Any]:
        """All of it as scripts get it."""
        session = self.session.summary
        return {
            "session": session_to_dict(session, self.session.status, session.cwd)
            | {"unpriced_messages": session.cost.unpriced},
            "units": [self._plain_unit(u) for u in self._units(is_thin=False)],
            "resume_command": format_resume_command(session) or None,
        }

    def lines(self) -> Iterator[str]:
        """All of it as people read it."""
        look = self.asked.look(self.session.summary.cwd)
        if STYLES[self.asked.style]:
            yield from self._styled()
        elif self.asked.assistant:
            yield from answer_lines(self._units(), look)
        else:
            home = str(self.desk.home)
            yield from head_lines(self.session.summary, self.session.status, home, look)
            yield from self._body(look)

    def _body(self, look: Look) -> Iterator[str]:
        if self.asked.summary:
            yield from summary_lines(tuple(self._units()))
            return
        yield from page_lines(self._units(), look)
        resume = format_resume_command(self.session.summary)
        if resume:
            yield ""
            yield look.paint(clean(f"go on with it: {resume}"), dim=True)

    def _styled(self) -> Iterator[str]:
        from leslied.sinks import load_sinks  # noqa: PLC0415 - a page needs none

        style = self.asked.style
        sink = load_sinks()[STYLES[style]]
        session = structs.replace(self.session, units=tuple(self._units()))
        for number, artifact in enumerate(sink.render(session)):
            if artifact.is_derived == (style == "log"):
                yield from [""] * bool(number and style == "leslie")
                text = artifact.body.decode(errors="replace")
                yield from map(clean, text.removesuffix("\n").split("\n"))

    def _units(self, *, is_thin: bool = True) -> Iterator[Unit]:
        """The units as they may be seen, one after the other as they are needed."""
        # The same names and ids stand in every entry.
        redact = lru_cache(maxsize=4096)(self.desk.redact)
        for whole in self.session.units:
            unit = thin(whole, self.asked.excerpt) if is_thin else whole
            yield unit if self.asked.reveal else redact_unit(unit, redact)

    def _plain_unit(self, unit: Unit) -> dict[str, Any]:
        plain = self._thin_plain(unit_to_dict(unit))
        return plain if unit.summary.is_subagent else {"number": unit.number, **plain}

    def _thin_plain(self, plain: dict[str, Any]) -> dict[str, Any]:
        """Counts and times stay the whole unit's, whatever is left out of it."""
        excerpt = self.asked.excerpt
        entries = [] if self.asked.summary else plain["entries"]
        below = plain["subagents"] if excerpt.shows_subagents else []
        return {
            **plain,
            "entries": [each for each in entries if excerpt.keeps(each["type"])],
            "subagents": [self._thin_plain(child) for child in below],
        }
