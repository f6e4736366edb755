"""HTML: one file that shows the whole session, works offline and runs no script.

All text of a log is escaped. Markdown is rendered without raw HTML and images, and
links may only point to web and mail addresses. Folding uses `<details>`, and the
switches at the top are pure CSS.
"""

from __future__ import annotations

from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

from leslied.model.output import Artifact
from leslied.rendering.events import EventFinder
from leslied.rendering.messages import make_unit_messages, parse_input
from leslied.rendering.page_parts import (
    format_call_label,
    format_clock,
    format_detail_title,
    format_edit_diff,
    format_subagent,
    format_title,
    iter_header_fields,
    iter_unit_facts,
)
from leslied.rendering.text import first_line, replace_controls
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
    from leslied.rendering.markdown_text import CompleteParser
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
_MAX_MARKDOWN_CHARACTERS = 200_000
"""Longer text is shown as plain text, not rendered as Markdown."""
_MAX_NESTING = 60
"""Text that is nested deeper is shown as plain text, too."""


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
        title = _escape(format_title(self._session))
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
        pairs = (f"<dt>{name}</dt><dd>{_escape(value)}</dd>" for name, value in fields)
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
                f"{_escape(_format_heading(unit))}</a></li>"
            )
        yield "</ol></nav>"

    def _render_unit(
        self, unit_messages: UnitMessages, lines: Sequence[str]
    ) -> Iterator[str]:
        unit = unit_messages.unit
        anchor = _make_anchor(unit)
        yield f'<section id="{anchor}">'
        number = "" if unit.summary.is_subagent else f"{unit.number}. "
        heading = _escape(_format_heading(unit))
        yield f'<h2><a href="#{anchor}">{number}{heading}</a></h2>'
        facts = " · ".join(iter_unit_facts(unit, self._session))
        yield f'<p class="facts">{_escape(facts)}</p>'
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
                    "user", "User", message, [_render_text(message.text)]
                )
            case "assistant" if message.text or message.thinking_texts or message.calls:
                yield from self._render_article(
                    "assistant", "Assistant", message, self._render_answer(message)
                )
            case "tool":
                name = message.placed.record.tool_name or "unknown tool"
                yield from _render_details(
                    f"Result of {_escape(name)}", [_render_pre(message.text)]
                )
            case "error":
                yield from self._render_article(
                    "error", "Error", message, [_render_pre(message.text)]
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
            body = [_render_text(message.thinking)]
            yield from _render_details("Thinking", body, "thinking")
        if message.text:
            yield _render_markdown(message.text)
        for call in message.calls:
            yield from self._render_call(call)

    def _render_call(self, call: ToolInvocation) -> Iterator[str]:
        label = _escape(format_call_label(call))
        summary = f"<b>{_escape(call.name)}</b> <code>{label}</code>"
        yield from _render_details(
            summary,
            [_render_arguments(call), _render_result(call)],
            _get_call_class(call),
        )
        for child in call.subagents:
            yield from self._render_subagent(child)

    def _render_subagent(self, child: Unit) -> Iterator[str]:
        (unit_messages,) = make_unit_messages([child])
        summary = f"<b>Subagent</b> {_escape(format_subagent(child))}"
        yield from _render_details(
            summary, list(self._render_messages(unit_messages)), "subagent"
        )


def _render_event(event: ShownEvent) -> Iterator[str]:
    if event.text:
        yield f'<p class="event">{_escape(first_line(event.text, 200))}</p>'
    if event.detail:
        yield from _render_details(
            format_detail_title(event), [_render_pre(event.detail)]
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
        label = _escape(format_call_label(call))
        lines = "".join(_render_diff_line(line) for line in diff.split("\n"))
        return f"<p class='facts'>{label}</p><pre>{lines}</pre>"
    return _render_pre(dump_json(parse_input(call.placed.record), 2))


def _render_diff_line(line: str) -> str:
    tag = {"+": "ins", "-": "del"}.get(line[:1])
    text = _escape(line)
    return f"<{tag}>{text}</{tag}>" if tag else text + "\n"


def _render_result(call: ToolInvocation) -> str:
    if call.result is None:
        return '<p class="event">no answer</p>'
    return (
        _render_pre(call.report_or_output)
        if call.report_or_output.strip()
        else '<p class="event">no output</p>'
    )


def _render_details(
    summary: str, body: Sequence[str], css_class: str = ""
) -> Iterator[str]:
    yield f'<details class="{css_class}"><summary>{summary}</summary>'
    yield from body
    yield "</details>"


def _render_pre(text: str) -> str:
    # HTML ignores a line end right after the opening tag.
    return f"<pre>\n{_escape(text.strip(chr(10)))}</pre>"


def _render_text(text: str) -> str:
    """Render plain text with its own line breaks."""
    return (
        f'<div class="text" style="white-space:pre-wrap">{_escape(text.strip())}</div>'
    )


def _escape(text: str) -> str:
    return escape(replace_controls(text))


def _render_markdown(text: str) -> str:
    if len(text) > _MAX_MARKDOWN_CHARACTERS:
        return _render_text(text)
    parser = _get_markdown_parser()
    tokens = parser.parse(replace_controls(text))
    if tokens is None:
        return _render_text(text)
    for token in tokens:
        _complete_token(token)
    html = parser.markdown.renderer.render(tokens, parser.markdown.options, {})
    return f'<div class="text">{html}</div>'


@cache
def _get_markdown_parser() -> CompleteParser:
    # Only this sink needs it.
    from leslied.rendering.markdown_text import CompleteParser  # noqa: PLC0415

    parser = CompleteParser(_MAX_NESTING)
    parser.markdown.validateLink = lambda url: url.lower().startswith(  # type: ignore[method-assign]
        ("http://", "https://", "mailto:")
    )
    parser.markdown.add_render_rule("link_open", _render_link)
    parser.markdown.add_render_rule("link_close", _render_link_end)
    parser.markdown.add_render_rule("fence", _render_fence)
    return parser


def _complete_token(token: Any) -> None:
    """Add what a page would not show, and replace what references decode to."""
    if token.type == "list_item_open" and token.info:
        token.attrSet("value", token.info)
    for child in token.children or ():
        child.content = replace_controls(child.content)
        if title := child.attrGet("title"):
            child.attrSet("title", replace_controls(title))


def _render_link(renderer: Any, tokens: Any, index: int, options: Any, env: Any) -> str:
    tokens[index].attrSet("rel", "noopener noreferrer")
    html: str = renderer.renderToken(tokens, index, options, env)
    return html


def _render_link_end(
    _renderer: Any, tokens: Any, index: int, _options: Any, _env: Any
) -> str:
    """Render the end of a link; a link without text shows its address."""
    start = tokens[index - 1]
    address = start.attrGet("href") if start.type == "link_open" else ""
    return f"{_escape(address)}</a>"


def _render_fence(
    renderer: Any, tokens: Any, index: int, options: Any, env: Any
) -> str:
    """Render a code block, below the words after its fence, such as its language."""
    html: str = type(renderer).fence(renderer, tokens, index, options, env)
    info = tokens[index].info.strip()
    return f'<p class="facts">{_escape(info)}</p>{html}' if info else html


SINK = Sink(name="html", about="one HTML file, offline, without scripts", render=render)
