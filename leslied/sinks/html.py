"""HTML: one file that shows the whole session, works offline and runs no script.

`rendering/markdown_html.py` escapes all text of a log. Folding uses `<details>`, and
the switches at the top are pure CSS.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from leslied.model.output import Artifact
from leslied.rendering.events import EventFinder
from leslied.rendering.export_parts import (
    format_call_label,
    format_clock,
    format_detail_title,
    format_edit_diff,
    format_subagent,
    format_title,
    iter_header_fields,
    iter_unit_facts,
)
from leslied.rendering.markdown_html import (
    escape_text,
    render_markdown_html,
    render_pre,
    render_text,
)
from leslied.rendering.messages import make_unit_messages, parse_input
from leslied.rendering.text import first_line
from leslied.sinks._contract import Sink
from leslied.sinks._html_style import STYLE
from leslied.sinks._text import (
    dump_json,
    encode_text,
    make_file_stem,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leslied.model.session import Session, Unit
    from leslied.rendering.events import ShownEvent
    from leslied.rendering.messages import SpeakerMessage, ToolInvocation, UnitMessages

_CONTENT_SECURITY_POLICY = (
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


def render(session: Session) -> tuple[Artifact, ...]:
    """Render one page."""
    body = encode_text("\n".join(_HtmlPage(session).iter_lines()) + "\n")
    return (Artifact(path=f"{make_file_stem(session)}.html", body=body),)


class _HtmlPage:
    """Renderer of one session as a page."""

    def __init__(self, session: Session) -> None:
        self._session = session
        rendered = [
            (unit_messages, list(self._render_messages(unit_messages)))
            for unit_messages in make_unit_messages(session.units)
        ]
        self._units = [(messages, lines) for messages, lines in rendered if lines]
        """The units that have something to show, and the HTML of their messages."""

    def iter_lines(self) -> Iterator[str]:
        """Yield the lines of the page."""
        title = escape_text(format_title(self._session))
        yield "<!doctype html>"
        yield '<html lang="en"><head><meta charset="utf-8">'
        yield (
            '<meta http-equiv="Content-Security-Policy" '
            f'content="{_CONTENT_SECURITY_POLICY}">'
        )
        yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
        yield '<meta name="referrer" content="no-referrer">'
        yield f"<title>{title}</title><style>{STYLE}</style></head><body>"
        yield _SWITCHES
        yield f"<main><header><h1>{title}</h1>"
        fields = iter_header_fields(self._session)
        pairs = (
            f"<dt>{name}</dt><dd>{escape_text(value)}</dd>" for name, value in fields
        )
        yield f"<dl>{''.join(pairs)}</dl></header>"
        yield from self._render_contents()
        for unit_messages, lines in self._units:
            yield from self._render_unit(unit_messages, lines)
        yield "</main></body></html>"

    def _render_contents(self) -> Iterator[str]:
        """Yield a table of contents if there is more than one unit."""
        if len(self._units) < 2:
            return
        yield "<nav><ol>"
        for unit_messages, _ in self._units:
            unit = unit_messages.unit
            yield (
                f'<li value="{unit.number}"><a href="#{_make_anchor(unit)}">'
                f"{escape_text(_format_heading(unit))}</a></li>"
            )
        yield "</ol></nav>"

    def _render_unit(
        self, unit_messages: UnitMessages, lines: Sequence[str]
    ) -> Iterator[str]:
        unit = unit_messages.unit
        anchor = _make_anchor(unit)
        yield f'<section id="{anchor}">'
        number = "" if unit.summary.is_subagent else f"{unit.number}. "
        heading = escape_text(_format_heading(unit))
        yield f'<h2><a href="#{anchor}">{number}{heading}</a></h2>'
        facts = " · ".join(iter_unit_facts(unit, self._session))
        yield f'<p class="facts">{escape_text(facts)}</p>'
        yield from lines
        yield "</section>"

    def _render_messages(self, unit_messages: UnitMessages) -> Iterator[str]:
        events = EventFinder()
        for message in unit_messages.messages:
            if event := events.find_event(message.placed.record):
                yield from _render_event(event)
            else:
                yield from self._render_message(message)
        for child in unit_messages.subagents:
            yield from self._render_subagent(child)

    def _render_message(self, message: SpeakerMessage) -> Iterator[str]:
        match message.speaker:
            case "user":
                yield from self._render_article(
                    "user", "User", message, [render_text(message.text)]
                )
            case "assistant" if message.text or message.thinking_texts or message.calls:
                yield from self._render_article(
                    "assistant", "Assistant", message, self._render_answer(message)
                )
            case "tool":
                name = message.placed.record.tool_name or "unknown tool"
                yield from _render_details(
                    f"Result of {escape_text(name)}", [render_pre(message.text)]
                )
            case "error":
                yield from self._render_article(
                    "error", "Error", message, [render_pre(message.text)]
                )

    def _render_article(
        self,
        css_class: str,
        speaker: str,
        message: SpeakerMessage,
        body: Sequence[str] | Iterator[str],
    ) -> Iterator[str]:
        clock = format_clock(message, self._session)
        time_tag = f"<time>{clock}</time>" if clock else ""
        yield f'<article class="{css_class}"><header>{speaker}{time_tag}</header>'
        yield from body
        yield "</article>"

    def _render_answer(self, message: SpeakerMessage) -> Iterator[str]:
        if message.thinking:
            body = [render_text(message.thinking)]
            yield from _render_details("Thinking", body, "thinking")
        if message.text:
            yield render_markdown_html(message.text)
        for call in message.calls:
            yield from self._render_call(call)

    def _render_call(self, call: ToolInvocation) -> Iterator[str]:
        label = escape_text(format_call_label(call))
        summary = f"<b>{escape_text(call.name)}</b> <code>{label}</code>"
        yield from _render_details(
            summary,
            [_render_arguments(call), _render_result(call)],
            _get_call_class(call),
        )
        for child in call.subagents:
            yield from self._render_subagent(child)

    def _render_subagent(self, child: Unit) -> Iterator[str]:
        (unit_messages,) = make_unit_messages([child])
        summary = f"<b>Subagent</b> {escape_text(format_subagent(child))}"
        yield from _render_details(
            summary, list(self._render_messages(unit_messages)), "subagent"
        )


def _render_event(event: ShownEvent) -> Iterator[str]:
    if event.text:
        yield f'<p class="event">{escape_text(first_line(event.text, 200))}</p>'
    if event.detail:
        yield from _render_details(
            format_detail_title(event), [render_pre(event.detail)]
        )


def _format_heading(unit: Unit) -> str:
    if unit.summary.is_subagent:
        return f"Subagent {format_subagent(unit)}"
    return first_line(unit.prompt) or "before the first prompt"


def _make_anchor(unit: Unit) -> str:
    return escape(f"{unit.chat_id}-{unit.number}")


def _get_call_class(call: ToolInvocation) -> str:
    return "call bad" if call.is_error else "call"


def _render_arguments(call: ToolInvocation) -> str:
    """Render an edit as a diff, and any other call's arguments as JSON."""
    diff = format_edit_diff(call)
    if diff:
        label = escape_text(format_call_label(call))
        lines = "".join(_render_diff_line(line) for line in diff.split("\n"))
        return f"<p class='facts'>{label}</p><pre>{lines}</pre>"
    return render_pre(dump_json(parse_input(call.placed.record), 2))


def _render_diff_line(line: str) -> str:
    tag = {"+": "ins", "-": "del"}.get(line[:1])
    text = escape_text(line)
    return f"<{tag}>{text}</{tag}>" if tag else text + "\n"


def _render_result(call: ToolInvocation) -> str:
    if call.result is None:
        return '<p class="event">no answer</p>'
    return (
        render_pre(call.report_or_output)
        if call.report_or_output.strip()
        else '<p class="event">no output</p>'
    )


def _render_details(
    summary: str, body: Sequence[str], css_class: str = ""
) -> Iterator[str]:
    yield f'<details class="{css_class}"><summary>{summary}</summary>'
    yield from body
    yield "</details>"


SINK = Sink(name="html", about="one HTML file, offline, without scripts", render=render)
