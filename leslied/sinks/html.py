"""HTML: one file that shows everything, works offline and runs no script.

Every word of a log is escaped; Markdown is rendered without raw HTML and without
pictures, and links lead only to the web, when somebody follows them. Folding is
`<details>`, and the switches at the top are style sheets.
"""

from __future__ import annotations

from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

from leslied.model.output import Artifact
from leslied.sinks._contract import Sink
from leslied.sinks._html_style import STYLE
from leslied.sinks._page import (
    make_diff,
    say_call,
    say_clock,
    say_event,
    say_subagent,
    say_time,
    tell_facts,
    tell_title,
)
from leslied.sinks._text import dump_json, encode, first_line, name_stem, plain
from leslied.sinks._turns import make_chapters, parse_input

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leslied.model.session import Session, Unit
    from leslied.sinks._turns import Call, Chapter, Turn

_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
)
_SWITCHES = (
    '<form class="tools" autocomplete="off">'
    '<label><input type="radio" name="look" id="auto" checked> as the system</label>'
    '<label><input type="radio" name="look" id="light"> light</label>'
    '<label><input type="radio" name="look" id="dark"> dark</label>'
    '<label><input type="checkbox" id="open"> unfold all</label>'
    '<label><input type="checkbox" id="thoughts" checked> thinking</label>'
    "</form>"
)
_LONGEST_MARKDOWN = 200_000
"""Longer text is shown as it is: nobody reads it as Markdown."""


def render(session: Session) -> tuple[Artifact, ...]:
    """One page."""
    body = encode("\n".join(_Page(session).lines()) + "\n")
    return (Artifact(path=f"{name_stem(session)}.html", body=body),)


class _Page:
    def __init__(self, session: Session) -> None:
        self._session = session
        chapters = make_chapters(session.units)
        told = [(chapter, list(self._turns(chapter))) for chapter in chapters]
        self._chapters = [(chapter, lines) for chapter, lines in told if lines]

    def lines(self) -> Iterator[str]:
        title = _words(tell_title(self._session))
        yield "<!doctype html>"
        yield '<html lang="en"><head><meta charset="utf-8">'
        yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
        yield '<meta name="referrer" content="no-referrer">'
        yield f"<title>{title}</title><style>{STYLE}</style></head><body>"
        yield _SWITCHES
        yield f"<main><header><h1>{title}</h1>"
        facts = tell_facts(self._session)
        pairs = (f"<dt>{n}</dt><dd>{_words(value)}</dd>" for n, value in facts)
        yield f"<dl>{''.join(pairs)}</dl></header>"
        yield from self._contents()
        for chapter, lines in self._chapters:
            yield from self._chapter(chapter, lines)
        yield "</main></body></html>"

    def _contents(self) -> Iterator[str]:
        if len(self._chapters) < 2:
            return
        yield "<nav><ol>"
        for chapter, _ in self._chapters:
            yield (
                f'<li value="{chapter.unit.number}"><a href="#{_anchor(chapter.unit)}">'
                f"{_words(_heading(chapter.unit))}</a></li>"
            )
        yield "</ol></nav>"

    def _chapter(self, chapter: Chapter, lines: Sequence[str]) -> Iterator[str]:
        unit = chapter.unit
        anchor = _anchor(unit)
        yield f'<section id="{anchor}">'
        number = "" if unit.summary.is_subagent else f"{unit.number}. "
        yield f'<h2><a href="#{anchor}">{number}{_words(_heading(unit))}</a></h2>'
        facts = (unit.chat_id, say_time(unit.started_at, self._session))
        told = " · ".join(filter(None, (*facts, unit.stop_reason)))
        yield f'<p class="facts">{_words(told)}</p>'
        yield from lines
        yield "</section>"

    def _turns(self, chapter: Chapter) -> Iterator[str]:
        for turn in chapter.turns:
            yield from self._turn(turn)
        for child in chapter.subagents:
            yield from self._subagent(child)

    def _turn(self, turn: Turn) -> Iterator[str]:
        match turn.speaker:
            case "user":
                yield from self._article(
                    "user", "User", turn, [_words_block(turn.text)]
                )
            case "assistant" if turn.text or turn.thoughts or turn.calls:
                yield from self._article(
                    "assistant", "Assistant", turn, self._answer(turn)
                )
            case "tool":
                name = turn.placed.record.tool_name or "unknown tool"
                yield from _fold(f"Result of {_words(name)}", [_pre(turn.text)])
            case "error":
                yield from self._article("error", "Error", turn, [_pre(turn.text)])
            case "event" if say_event(turn):
                yield f'<p class="event">{_words(say_event(turn))}</p>'
                if turn.text.strip():
                    yield from _fold("Summary", [_pre(turn.text)])

    def _article(
        self, name: str, who: str, turn: Turn, body: Sequence[str] | Iterator[str]
    ) -> Iterator[str]:
        clock = say_clock(turn, self._session)
        at = f"<time>{clock}</time>" if clock else ""
        yield f'<article class="{name}"><header>{who}{at}</header>'
        yield from body
        yield "</article>"

    def _answer(self, turn: Turn) -> Iterator[str]:
        if turn.thinking:
            body = [_words_block(turn.thinking)]
            yield from _fold("Thinking", body, "thinking")
        if turn.text:
            yield _markdown(turn.text)
        for call in turn.calls:
            yield from self._call(call)

    def _call(self, call: Call) -> Iterator[str]:
        head = f"<b>{_words(call.name)}</b> <code>{_words(say_call(call))}</code>"
        yield from _fold(head, [_arguments(call), _result(call)], _mood(call))
        for child in call.subagents:
            yield from self._subagent(child)

    def _subagent(self, child: Unit) -> Iterator[str]:
        (chapter,) = make_chapters([child])
        head = f"<b>Subagent</b> {_words(say_subagent(child))}"
        yield from _fold(head, list(self._turns(chapter)), "subagent")


def _heading(unit: Unit) -> str:
    if unit.summary.is_subagent:
        return f"Subagent {say_subagent(unit)}"
    return first_line(unit.prompt) or "before the first prompt"


def _anchor(unit: Unit) -> str:
    return escape(f"{unit.chat_id}-{unit.number}")


def _mood(call: Call) -> str:
    return "call bad" if call.is_error else "call"


def _arguments(call: Call) -> str:
    diff = make_diff(call)
    if diff:
        path = _words(say_call(call))
        lines = "".join(_diff_line(line) for line in diff.split("\n"))
        return f"<p class='facts'>{path}</p><pre>{lines}</pre>"
    return _pre(dump_json(parse_input(call.placed.record), 2))


def _diff_line(line: str) -> str:
    tag = {"+": "ins", "-": "del"}.get(line[:1])
    text = _words(line)
    return f"<{tag}>{text}</{tag}>" if tag else text + "\n"


def _result(call: Call) -> str:
    if call.result is None:
        return '<p class="event">no answer</p>'
    return (
        _pre(call.output) if call.output.strip() else '<p class="event">no output</p>'
    )


def _fold(head: str, body: Sequence[str], name: str = "") -> Iterator[str]:
    yield f'<details class="{name}"><summary>{head}</summary>'
    yield from body
    yield "</details>"


def _pre(text: str) -> str:
    # HTML drops a line end right behind the tag.
    return f"<pre>\n{_words(text.strip(chr(10)))}</pre>"


def _words_block(text: str) -> str:
    return (
        f'<div class="text" style="white-space:pre-wrap">{_words(text.strip())}</div>'
    )


def _words(text: str) -> str:
    return escape(plain(text))


def _markdown(text: str) -> str:
    if len(text) > _LONGEST_MARKDOWN:
        return _words_block(text)
    return f'<div class="text">{_parser().render(plain(text))}</div>'


@cache
def _parser() -> Any:
    from markdown_it import MarkdownIt  # noqa: PLC0415 - this output alone needs it

    made = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    made.disable("image")
    made.validateLink = lambda url: url.lower().startswith(  # type: ignore[method-assign]
        ("http://", "https://", "mailto:")
    )
    made.add_render_rule("link_open", _link)
    return made


def _link(renderer: Any, tokens: Any, at: int, options: Any, env: Any) -> str:
    tokens[at].attrSet("rel", "noopener noreferrer")
    told: str = renderer.renderToken(tokens, at, options, env)
    return told


SINK = Sink(name="html", about="one HTML file, offline, without scripts", render=render)
