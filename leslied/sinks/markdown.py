"""Markdown: one page to read or share, with folded tool calls.

Messages keep their own Markdown. Anything that could break the page, or load something
when the page is displayed, is made harmless: raw HTML, images, unclosed fences, and
headings, which are demoted because the page itself uses the first three levels.
"""

from __future__ import annotations

import html
import re
import sys
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
from leslied.rendering.messages import make_unit_messages, parse_input
from leslied.rendering.text import first_line, replace_controls
from leslied.sinks._contract import Sink
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

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_CODE_SPAN = re.compile(r"((?<![`\\])(`+)(?!`).*?(?<!`)\2(?!`))")
_PASSIVE_TARGET = (
    r"""\s*<?(?:https?://|mailto:|[^\s:&\\<>()]+(?:[)\s"']|$)|[^\s:&\\<>()]*/)"""
)
"""Start of a web or mail address, or of a path, but of no other URL."""
_ACTIVE_MARKUP = re.compile(
    r"(?<!\\)(\\*)(<(?=[A-Za-z/!?])|!(?=\[)"
    rf"|\](?=[(:])(?![(:]{_PASSIVE_TARGET})"
    r"|&(?=(\#[0-9]{1,7};|\#[Xx][0-9A-Fa-f]{1,6};|[A-Za-z][A-Za-z0-9]{1,31};)))",
    re.IGNORECASE,
)
"""Raw HTML, images, links to anything but pages and mail, character references."""
_SPECIAL = re.compile(r"[\\`*_{}\[\]()#+!|~$]")
_HEADING = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)")
_HEADING_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*")


def render(session: Session) -> tuple[Artifact, ...]:
    """Render one page."""
    body = encode_text("\n".join(_MarkdownPage(session).iter_lines()) + "\n")
    return (Artifact(path=f"{make_file_stem(session)}.md", body=body),)


class _MarkdownPage:
    """Renderer of one session as a page."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def iter_lines(self) -> Iterator[str]:
        """Yield the lines of the page."""
        yield f"# {_escape(format_title(self._session))}"
        yield ""
        for name, value in iter_header_fields(self._session):
            yield f"- **{name}**: {_render_code_span(value)}"
        for unit_messages in make_unit_messages(self._session.units):
            yield from self._render_unit(unit_messages)

    def _render_unit(self, unit_messages: UnitMessages) -> Iterator[str]:
        unit = unit_messages.unit
        body = list(self._render_messages(unit_messages))
        if not body:
            return
        yield ""
        if unit.summary.is_subagent:
            yield f"## Subagent {_escape(format_subagent(unit))}"
        else:
            heading = first_line(unit.prompt) or "before the first prompt"
            yield f"## {unit.number}. {_escape(heading)}"
        yield ""
        yield f"*{' · '.join(iter_unit_facts(unit, self._session))}*"
        yield from body

    def _render_messages(self, unit_messages: UnitMessages) -> Iterator[str]:
        events = EventFinder()
        for message in unit_messages.messages:
            if event := events.find_event(message.placed.record):
                yield from self._render_event(message, event)
            else:
                yield from self._render_message(message)
        for child in unit_messages.subagents:
            yield from self._render_subagent(child)

    def _render_event(
        self, message: SpeakerMessage, event: ShownEvent
    ) -> Iterator[str]:
        if event.text:
            suffix = self._format_suffix(message)
            yield from ("", f"*{_escape(first_line(event.text, 200))}{suffix}*")
        if event.detail:
            yield from _render_details(
                format_detail_title(event), _render_code_block(event.detail)
            )

    def _format_suffix(self, message: SpeakerMessage) -> str:
        clock = format_clock(message, self._session)
        return f" · {clock}" if clock else ""

    def _render_message(self, message: SpeakerMessage) -> Iterator[str]:
        suffix = self._format_suffix(message)
        match message.speaker:
            case "user":
                yield from ("", f"### User{suffix}", "")
                yield from (
                    f"> {line}".rstrip() for line in _sanitize_markdown(message.text)
                )
            case "assistant":
                yield from self._render_answer(message, suffix)
            case "tool":
                name = message.placed.record.tool_name or "unknown tool"
                yield from _render_details(
                    f"Result of {name}", _render_code_block(message.text)
                )
            case "error":
                yield from (
                    "",
                    f"### Error{suffix}",
                    "",
                    *_render_code_block(message.text),
                )

    def _render_answer(self, message: SpeakerMessage, suffix: str) -> Iterator[str]:
        if not (message.text or message.thinking_texts or message.calls):
            return
        yield from ("", f"### Assistant{suffix}")
        if message.thinking:
            yield from _render_details("Thinking", _render_code_block(message.thinking))
        if message.text:
            yield from ("", *_sanitize_markdown(message.text.strip("\n")))
        for call in message.calls:
            yield from self._render_call(call)

    def _render_call(self, call: ToolInvocation) -> Iterator[str]:
        mark = "✗" if call.is_error else "●"
        yield from _render_details(
            f"{mark} {call.name} {format_call_label(call)}".rstrip(),
            [*_render_arguments(call), *_render_result(call)],
        )
        for child in call.subagents:
            yield from self._render_subagent(child)

    def _render_subagent(self, child: Unit) -> Iterator[str]:
        (unit_messages,) = make_unit_messages([child])
        title = f"Subagent {format_subagent(child)}"
        # `_render_details` adds the blank line with which a message starts.
        body = list(self._render_messages(unit_messages))[1:]
        yield from _render_details(title, body)


def _render_arguments(call: ToolInvocation) -> list[str]:
    """Render an edit as a diff, and any other call's arguments as JSON."""
    diff = format_edit_diff(call)
    if diff:
        return _render_code_block(diff, "diff")
    return _render_code_block(dump_json(parse_input(call.placed.record), 2), "json")


def _render_result(call: ToolInvocation) -> list[str]:
    if call.result is None:
        return ["", "*no answer*"]
    return (
        ["", *_render_code_block(call.report_or_output)]
        if call.report_or_output.strip()
        else ["", "*no output*"]
    )


def _render_details(summary: str, body: Sequence[str]) -> Iterator[str]:
    text = html.escape(replace_controls(summary).replace("\n", " "), quote=False)
    yield from ("", f"<details><summary>{text}</summary>", "", *body, "", "</details>")


def _render_code_block(text: str, language: str = "") -> list[str]:
    """Render the text verbatim, in a fence longer than any fence inside it."""
    body = replace_controls(text).strip("\n")
    longest = max((len(run) for run in re.findall(r"`{3,}", body)), default=2)
    fence = "`" * (longest + 1)
    return [fence + language, *body.split("\n"), fence]


def _sanitize_markdown(text: str) -> Iterator[str]:
    """Yield the lines of a message's Markdown: fences closed, HTML escaped."""
    # The fence that is open, and whether all backticks of the paragraph are in pairs.
    fence, has_pairs = "", True
    for line in replace_controls(text).split("\n"):
        match = _FENCE.fullmatch(line)
        if fence:
            yield line
            if match and match[1].startswith(fence) and not match[2].strip():
                fence, has_pairs = "", True
        elif match and not (match[1][0] == "`" and "`" in match[2]):
            fence = match[1]
            info = _ACTIVE_MARKUP.sub(_escape_match, match[2])
            yield line[: match.start(2)] + info
        else:
            # An unpaired backtick may pair with one in a later line of the paragraph,
            # so code spans are not recognized until the paragraph ends.
            has_pairs = not line.strip() or (
                has_pairs and "`" not in _CODE_SPAN.sub("", line)
            )
            yield _sanitize_line(line, keeps_code_spans=has_pairs)
    if fence:
        yield fence


def _sanitize_line(line: str, *, keeps_code_spans: bool) -> str:
    """Escape active markup in a line outside fences, and demote headings.

    With `keeps_code_spans`, text between paired backticks is not escaped.
    """
    # An underline would turn the line before it into a heading. Three hyphens may also
    # be a rule between paragraphs; three asterisks can only be a rule.
    if _HEADING_UNDERLINE.fullmatch(line):
        return "***" if "---" in line else f"\\{line.strip()}"
    line = _HEADING.sub(lambda m: "#" * min(len(m[1]) + 3, 6), line)
    if not keeps_code_spans:
        return _ACTIVE_MARKUP.sub(_escape_match, line)
    parts = _CODE_SPAN.split(line)
    # split() returns text, code span, the span's backticks, text, …
    texts = (_ACTIVE_MARKUP.sub(_escape_match, part) for part in parts[0::3])
    return "".join(
        text + span for text, span in zip(texts, [*parts[1::3], ""], strict=True)
    )


def _escape_match(match: re.Match[str]) -> str:
    """Return the markup made harmless, unless it is already escaped."""
    backslashes, character, reference = match[1], match[2], match[3]
    if character == "<":
        # Some renderers do not know that a backslash can escape it.
        return f"{backslashes[len(backslashes) % 2 :]}&lt;"
    if len(backslashes) % 2 or (reference and not _is_control_reference(reference)):
        return match[0]
    return f"{backslashes}&amp;" if reference else f"{backslashes}\\{character}"


def _is_control_reference(reference: str) -> bool:
    """Return whether a reference, given without its `&`, is a control character."""
    if reference[0] != "#":
        text = html.unescape(f"&{reference}")
    else:
        is_hex = reference[1] in "xX"
        code = int(reference[1:-1].lstrip("xX"), 16 if is_hex else 10)
        text = chr(code) if code < sys.maxunicode else ""
    return replace_controls(text) != text


def _escape(text: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", html.escape(text, quote=False))


def _render_code_span(value: str) -> str:
    return f"`{value}`" if "`" not in value else _escape(value)


SINK = Sink(
    name="markdown", about="one Markdown page, tool calls folded", render=render
)
