"""Markdown: one page to read, share or hand over, tool calls folded.

What was said keeps its own Markdown. What could break the page, or fetch something when
it is looked at, is taken apart: raw HTML, pictures, open fences, and lines that look
like the page's own headings, which are of the first three levels.
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from leslied.model.output import Artifact
from leslied.sinks._contract import Sink
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

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_SPAN = re.compile(r"((?<![`\\])(`+)(?!`).*?(?<!`)\2(?!`))")
_ALIVE = re.compile(r"(\\*)(<(?=[A-Za-z/!?])|!\[)")
_SPECIAL = re.compile(r"[\\`*_{}\[\]<>()#+!|~$]")
_HEADING = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*")


def render(session: Session) -> tuple[Artifact, ...]:
    """One page."""
    body = encode("\n".join(_Page(session).lines()) + "\n")
    return (Artifact(path=f"{name_stem(session)}.md", body=body),)


class _Page:
    def __init__(self, session: Session) -> None:
        self._session = session

    def lines(self) -> Iterator[str]:
        yield f"# {_escape(tell_title(self._session))}"
        yield ""
        for name, value in tell_facts(self._session):
            yield f"- **{name}**: {_code(value)}"
        chapters = make_chapters(self._session.units)
        for chapter in chapters:
            yield from self._chapter(chapter)

    def _chapter(self, chapter: Chapter) -> Iterator[str]:
        unit = chapter.unit
        body = list(self._turns(chapter))
        if not body:
            return
        yield ""
        if unit.summary.is_subagent:
            yield f"## Subagent {_escape(say_subagent(unit))}"
        else:
            heading = first_line(unit.prompt) or "before the first prompt"
            yield f"## {unit.number}. {_escape(heading)}"
        yield ""
        facts = (unit.chat_id, say_time(unit.started_at, self._session))
        yield f"*{' · '.join(filter(None, (*facts, unit.stop_reason)))}*"
        yield from body

    def _turns(self, chapter: Chapter) -> Iterator[str]:
        for turn in chapter.turns:
            yield from self._turn(turn)
        for child in chapter.subagents:
            yield from self._subagent(child)

    def _turn(self, turn: Turn) -> Iterator[str]:
        clock = say_clock(turn, self._session)
        at = f" · {clock}" if clock else ""
        match turn.speaker:
            case "user":
                yield from ("", f"### User{at}", "")
                yield from (f"> {line}".rstrip() for line in _quote(turn.text))
            case "assistant":
                yield from self._answer(turn, at)
            case "tool":
                name = turn.placed.record.tool_name or "unknown tool"
                yield from _fold(f"Result of {name}", _fence(turn.text))
            case "error":
                yield from ("", f"### Error{at}", "", *_fence(turn.text))
            case "event" if say_event(turn):
                yield from ("", f"*{say_event(turn)}{at}*")
                if turn.text.strip():
                    yield from _fold("Summary", _fence(turn.text))

    def _answer(self, turn: Turn, at: str) -> Iterator[str]:
        if not (turn.text or turn.thoughts or turn.calls):
            return
        yield from ("", f"### Assistant{at}")
        if turn.thinking:
            yield from _fold("Thinking", _fence(turn.thinking))
        if turn.text:
            yield from ("", *_quote(turn.text.strip("\n")))
        for call in turn.calls:
            yield from self._call(call)

    def _call(self, call: Call) -> Iterator[str]:
        yield from _fold(
            f"{'✗' if call.is_error else '●'} {call.name} {say_call(call)}".rstrip(),
            [*_arguments(call), *_result(call)],
        )
        for child in call.subagents:
            yield from self._subagent(child)

    def _subagent(self, child: Unit) -> Iterator[str]:
        (chapter,) = make_chapters([child])
        title = f"Subagent {say_subagent(child)}"
        yield from _fold(title, list(self._turns(chapter))[1:])


def _arguments(call: Call) -> list[str]:
    diff = make_diff(call)
    if diff:
        return _fence(diff, "diff")
    return _fence(dump_json(parse_input(call.placed.record), 2), "json")


def _result(call: Call) -> list[str]:
    if call.result is None:
        return ["", "*no answer*"]
    return ["", *_fence(call.output)] if call.output.strip() else ["", "*no output*"]


def _fold(summary: str, body: Sequence[str]) -> Iterator[str]:
    text = html.escape(plain(summary).replace("\n", " "), quote=False)
    yield from ("", f"<details><summary>{text}</summary>", "", *body, "", "</details>")


def _fence(text: str, language: str = "") -> list[str]:
    """The text word for word: its fence is longer than any in it."""
    body = plain(text).strip("\n")
    longest = max((len(run) for run in re.findall(r"`{3,}", body)), default=2)
    mark = "`" * (longest + 1)
    return [mark + language, *body.split("\n"), mark]


def _quote(text: str) -> Iterator[str]:
    """Somebody's Markdown as a part of the page: fences are closed, HTML is shown."""
    fence, is_even = "", True
    for line in plain(text).split("\n"):
        found = _FENCE.fullmatch(line)
        if fence:
            yield line
            if found and found[1].startswith(fence) and not found[2].strip():
                fence, is_even = "", True
        elif found and not (found[1][0] == "`" and "`" in found[2]):
            fence = found[1]
            yield line
        else:
            # A backtick left over may pair with one in a later line of its paragraph.
            is_even = not line.strip() or (is_even and "`" not in _SPAN.sub("", line))
            yield _disarm(line, has_spans=is_even)
    if fence:
        yield fence


def _disarm(line: str, *, has_spans: bool) -> str:
    """One line outside fences: no HTML, no pictures, no heading like the page's own."""
    if _UNDERLINE.fullmatch(line):
        return "***" if "---" in line else f"\\{line.strip()}"
    line = _HEADING.sub(lambda m: "#" * min(len(m[1]) + 3, 6), line)
    if not has_spans:
        return _ALIVE.sub(_kill, line)
    parts = _SPAN.split(line)
    # split gives text, span, its backticks, text, …
    words = (_ALIVE.sub(_kill, part) for part in parts[0::3])
    return "".join(a + b for a, b in zip(words, [*parts[1::3], ""], strict=True))


def _kill(found: re.Match[str]) -> str:
    """One backslash more, unless the last of them does it already."""
    is_dead = len(found[1]) % 2
    return found[0] if is_dead else f"{found[1]}\\{found[2]}"


def _escape(text: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", text)


def _code(value: str) -> str:
    return f"`{value}`" if "`" not in value else _escape(value)


SINK = Sink(
    name="markdown", about="one Markdown page, tool calls folded", render=render
)
