"""Rendering of one record as lines of text, for the terminal or a pipe."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from leslied.cli.render.edits import render_edits
from leslied.cli.render.options import (
    MAX_PLAIN_CHARS,
    Gap,
    format_more_lines,
)
from leslied.cli.render.output import sanitize
from leslied.cli.render.widths import measure_width
from leslied.model.record import SHELL
from leslied.rendering.edits import find_edits
from leslied.rendering.events import EventFinder
from leslied.rendering.labels import LABEL_ARGUMENTS, find_label, is_path
from leslied.rendering.messages import get_full_text, get_report_or_text
from leslied.rendering.text import first_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leslied.cli.render.options import RenderOptions
    from leslied.model.record import Record
    from leslied.rendering.edits import FileEdit
    from leslied.rendering.events import ShownEvent

_LABEL_ARGUMENTS = (*LABEL_ARGUMENTS, "input")
_EVENT_MARKS = {
    "interrupted": "✗",
    "rewound": "↶",
    "compacted": "≈",
    "command": "≈",
    "notification": "◆",
}


class RecordRenderer:
    """Renderer of the records of a session, in order.

    Plain output is neither rendered nor wrapped. On a terminal, answers are rendered as
    Markdown, edits as diffs, and wrapped lines keep their indent.

    After a diff, the result of the edit is left out, unless the edit failed or results
    are shown whole.
    """

    def __init__(self, options: RenderOptions) -> None:
        self._options = options
        self._diffed_call_ids: set[str] = set()
        """Ids of calls whose edits were shown as a diff."""
        self._events = EventFinder()

    def render(self, record: Record, indent: str) -> Iterator[str]:
        """Return the lines of one record, none if it is not shown."""
        event = self._events.find_event(record)
        if event and event.text:
            return self._event_lines(event, indent)
        return self._content_lines(record, indent)

    def _content_lines(self, record: Record, indent: str) -> Iterator[str]:
        options = self._options
        match record.type:
            case "user_message":
                yield from self._prompt_lines(record, indent)
            case "assistant_message" if record.content.strip():
                yield from self._answer_lines(record, indent)
            case "tool_use" if options.tool_output != "none":
                yield from self._call_lines(record, indent)
            case "tool_result" if options.tool_output != "none":
                yield from self._result_lines(record, indent)
            case "system_event" if record.is_output:
                yield from self._program_lines(record, indent)
            case "error":
                yield from self._prefixed_lines(f"✗ {record.content}", indent, fg="red")
            case "thinking" if options.include_thinking and record.content.strip():
                yield from self._thought_lines(record, indent)
            case "unknown" if options.is_full:
                yield indent + sanitize(f"? {record.content[:MAX_PLAIN_CHARS]}")
            case "system_event" if options.is_full:
                yield from self._bookkeeping_lines(record, indent)

    def _prompt_lines(self, record: Record, indent: str) -> Iterator[str]:
        yield Gap(indent.rstrip())
        prefix = indent + self._options.paint("> ", fg="cyan", bold=True)
        yield from self._prefixed_lines(record.content, prefix, bold=True)
        yield Gap(indent.rstrip())

    def _answer_lines(self, record: Record, indent: str) -> Iterator[str]:
        options = self._options
        if not options.is_rich:
            yield from self._prefixed_lines(record.content, indent)
            return
        from leslied.cli.render.markdown import render_markdown  # noqa: PLC0415

        yield Gap(indent.rstrip())
        width = options.width_after(indent, is_prose=True)
        lines = render_markdown(record.content.strip("\n"), width)
        if lines is None:
            yield from self._prefixed_lines(record.content, indent)
        else:
            yield from ((indent + line).rstrip() for line in lines)
        yield Gap(indent.rstrip())

    def _thought_lines(self, record: Record, indent: str) -> Iterator[str]:
        options = self._options
        if options.is_rich:
            yield Gap(indent.rstrip())
        prefix = indent + options.paint("~ ", dim=True)
        yield from self._prefixed_lines(record.content, prefix, dim=True, italic=True)
        if options.is_rich:
            yield Gap(indent.rstrip())

    def _call_lines(self, record: Record, indent: str) -> Iterator[str]:
        options = self._options
        name = sanitize(" ".join(record.tool_name.split()))
        arguments = _parse_json(record.tool_input)
        edits = find_edits(record.tool_name, arguments) if options.is_rich else []
        summary = self._format_arguments(record, arguments, edits)
        if not options.is_rich:
            yield f"{indent}● {name} {summary}".rstrip()
        else:
            yield from self._call_header_lines(name, summary, indent)
        if edits:
            self._diffed_call_ids.add(record.tool_call_id)
            yield from render_edits(edits, indent, options)
        if record.metadata.get("is_unanswered"):
            yield indent + options.paint("  └ no answer", dim=True)

    def _call_header_lines(self, name: str, summary: str, indent: str) -> Iterator[str]:
        options = self._options
        width = options.width_after(indent)
        # Leave some columns for the summary, even after a very long name.
        name = options.truncate(name, width - 12)
        head = options.paint("● ", fg="blue") + options.paint(
            name, fg="blue", bold=True
        )
        width_left = width - measure_width(name) - len("●  ")
        if not options.is_full or len(summary) <= width_left:
            yield indent + f"{head} {options.truncate(summary, width_left)}".rstrip()
            return
        yield indent + head
        for piece in options.wrap(summary, width - 2):
            yield f"{indent}  {options.paint(piece, dim=True)}"

    def _format_arguments(
        self, record: Record, arguments: Any, edits: Sequence[FileEdit]
    ) -> str:
        """Format the most informative argument on one line, or all arguments.

        A call that edits one file is summarized by that file. For several edits, return
        "", because their diffs show the files.
        """
        options = self._options
        if len(edits) > 1:
            return ""
        if edits:
            path = options.shorten_path(edits[0].path)
            return sanitize(f"{path} {edits[0].diffstat}")
        if options.is_full or not isinstance(arguments, dict):
            text = record.tool_input
            return sanitize(text if options.is_full else text[:MAX_PLAIN_CHARS])
        name, label = find_label(arguments, _LABEL_ARGUMENTS)
        if is_path(name):
            label = options.shorten_path(label)
        return self._join_lines(label or (record.tool_input if arguments else ""))

    def _join_lines(self, text: str) -> str:
        """Return the text on one line, truncated in plain output."""
        line = sanitize(" ".join(text.split()))
        return line if self._options.is_rich else self._options.truncate(line, 0)

    def _result_lines(self, record: Record, indent: str) -> Iterator[str]:
        options = self._options
        is_error = bool(record.metadata.get("is_error"))
        is_whole = options.tool_output == "whole"
        # The result of a call that was shown as a diff is shown only if it failed,
        # or if results are shown whole.
        if record.tool_call_id in self._diffed_call_ids:
            self._diffed_call_ids.discard(record.tool_call_id)
            if not (is_error or is_whole):
                return
        text = get_full_text(record) if is_whole else get_report_or_text(record)
        style: dict[str, Any] = {"fg": "red"} if is_error else {"dim": True}
        prefix = indent + options.paint("  ✗ " if is_error else "  └ ", **style)
        yield from self._excerpt_lines(text, indent, prefix, style)

    def _excerpt_lines(
        self, text: str, indent: str, prefix: str, style: dict[str, Any]
    ) -> Iterator[str]:
        """Yield the first lines of the text; all of them if results are shown whole.

        The first line starts with the prefix, the others are indented.
        """
        options = self._options
        is_whole = options.tool_output == "whole"
        lines = text.strip("\n").split("\n")
        visible_lines = lines if is_whole else lines[: options.max_result_lines]
        for line in visible_lines:
            for piece in self._fit_line(line, prefix, is_whole=is_whole):
                yield (prefix + options.paint(piece, **style)) if piece else prefix
                prefix = indent + "    "
        if len(visible_lines) < len(lines):
            yield prefix + options.paint(
                format_more_lines(len(lines) - len(visible_lines)), dim=True
            )

    def _program_lines(self, record: Record, indent: str) -> Iterator[str]:
        """Yield the output of a command that a person ran, or an injected message."""
        if record.tool_name == SHELL:
            yield from self._result_lines(record, indent)
            return
        label = sanitize(" ".join(record.tool_name.split()))
        yield indent + self._options.paint(f"● {label}", fg="magenta")
        yield from self._prefixed_lines(record.content, indent + "  ")

    def _fit_line(self, line: str, prefix: str, *, is_whole: bool) -> Iterator[str]:
        """Yield the pieces of the wrapped line; unless `is_whole`, truncate it."""
        options = self._options
        width = options.width_after(prefix) if options.is_rich else 0
        if is_whole:
            yield from options.wrap(sanitize(line), width)
        else:
            yield options.truncate(sanitize(line), width)

    def _event_lines(self, event: ShownEvent, indent: str) -> Iterator[str]:
        line = f"{_EVENT_MARKS[event.kind]} {first_line(event.text, 200)}"
        yield from self._prefixed_lines(line, indent, fg="magenta")
        if event.kind == "notification" and event.detail:
            style = {"dim": True}
            prefix = indent + self._options.paint("  └ ", **style)
            yield from self._excerpt_lines(event.detail, indent, prefix, style)

    def _bookkeeping_lines(self, record: Record, indent: str) -> Iterator[str]:
        kind, note = record.metadata.get("kind"), record.metadata.get("note")
        text = record.content.strip().replace("\n", " ")[:MAX_PLAIN_CHARS]
        description = " ".join(str(part) for part in (kind, note, text) if part)
        yield from self._prefixed_lines(f"· {description}", indent, dim=True)

    def _prefixed_lines(self, text: str, prefix: str, **style: Any) -> Iterator[str]:
        """Yield the wrapped lines of the text, each after the prefix."""
        options = self._options
        width = options.width_after(prefix, is_prose=True) if options.is_rich else 0
        for line in text.strip("\n").split("\n"):
            for piece in options.wrap(sanitize(line), width):
                yield prefix + options.paint(piece, **style)


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
