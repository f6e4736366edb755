"""One record as a reader wants to see it; nothing for what only machines read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from leslied.cli.edits import edit_lines
from leslied.cli.look import PLAIN_WIDTH, Gap, measure, say_more
from leslied.cli.output import clean
from leslied.model.edits import PATHS, find_edits

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leslied.cli.look import Look
    from leslied.model.edits import Edit
    from leslied.model.record import Record

_TELLING = (
    "command",
    "cmd",
    "pattern",
    *PATHS,
    "url",
    "query",
    "description",
    "prompt",
    "message",
    "input",
)
"""Arguments that say what a call does, the most telling first."""


class Teller:
    """Tells records one after the other; a shown edit needs no answer that it is done.

    In plain text every line is as the log has it. On a terminal answers are laid out,
    edits are diffs, and lines keep their indent when they are wrapped.
    """

    def __init__(self, look: Look) -> None:
        self._look = look
        self._edited: set[str] = set()

    def tell(self, record: Record, indent: str) -> Iterator[str]:
        """The lines of one record."""
        look = self._look
        match record.type:
            case "user_message":
                yield from self._prompt(record, indent)
            case "assistant_message" if record.content.strip():
                yield from self._answer(record, indent)
            case "tool_use" if look.output != "none":
                yield from self._call(record, indent)
            case "tool_result" if look.output != "none":
                yield from self._result(record, indent)
            case "error":
                yield from self._quote(f"✗ {record.content}", indent, fg="red")
            case "thinking" if look.has_thinking and record.content.strip():
                yield from self._thought(record, indent)
            case "unknown" if look.is_full:
                yield indent + clean(f"? {record.content[:PLAIN_WIDTH]}")
            case "system_event":
                yield from self._event(record, indent)

    def _prompt(self, record: Record, indent: str) -> Iterator[str]:
        yield Gap(indent.rstrip())
        mark = indent + self._look.paint("> ", fg="cyan", bold=True)
        yield from self._quote(record.content, mark, bold=True)
        yield Gap(indent.rstrip())

    def _answer(self, record: Record, indent: str) -> Iterator[str]:
        look = self._look
        if not look.is_rich:
            yield from self._quote(record.content, indent)
            return
        from leslied.cli.markdown import render_markdown  # noqa: PLC0415

        yield Gap(indent.rstrip())
        room = look.room(indent, is_text=True)
        laid_out = render_markdown(record.content.strip("\n"), room)
        if laid_out is None:
            yield from self._quote(record.content, indent)
        else:
            yield from ((indent + line).rstrip() for line in laid_out)
        yield Gap(indent.rstrip())

    def _thought(self, record: Record, indent: str) -> Iterator[str]:
        look = self._look
        if look.is_rich:
            yield Gap(indent.rstrip())
        mark = indent + look.paint("~ ", dim=True)
        yield from self._quote(record.content, mark, dim=True, italic=True)
        if look.is_rich:
            yield Gap(indent.rstrip())

    def _call(self, record: Record, indent: str) -> Iterator[str]:
        look = self._look
        name = clean(" ".join(record.tool_name.split()))
        given = _parse(record.tool_input)
        edits = find_edits(record.tool_name, given) if look.is_rich else []
        words = self._arguments(record, given, edits)
        if not look.is_rich:
            yield f"{indent}● {name} {words}"
        else:
            yield from self._call_lines(name, words, indent)
        if edits:
            self._edited.add(record.tool_call_id)
            yield from edit_lines(edits, indent, look)
        if record.metadata.get("is_unanswered"):
            yield indent + look.paint("  └ no answer", dim=True)

    def _call_lines(self, name: str, words: str, indent: str) -> Iterator[str]:
        look = self._look
        room = look.room(indent)
        name = look.cut(name, room - 12)
        head = look.paint("● ", fg="blue") + look.paint(name, fg="blue", bold=True)
        left = room - measure(name) - 3
        if not look.is_full or len(words) <= left:
            yield indent + f"{head} {look.cut(words, left)}".rstrip()
            return
        yield indent + head
        for piece in look.fit(words, room - 2):
            yield f"{indent}  {look.paint(piece, dim=True)}"

    def _arguments(self, record: Record, given: Any, edits: Sequence[Edit]) -> str:
        """The call's arguments on one line: the telling one alone, or all of them."""
        look = self._look
        if edits:
            only = edits[0] if len(edits) == 1 else None
            return clean(f"{look.shorten(only.path)} {only.count}") if only else ""
        if look.is_full or not isinstance(given, dict):
            text = record.tool_input
            return clean(text if look.is_full else text[:PLAIN_WIDTH])
        for name in _TELLING:
            told = _say(given.get(name))
            if told:
                told = look.shorten(told) if name in PATHS else told
                return self._line(told)
        return self._line(record.tool_input)

    def _line(self, text: str) -> str:
        line = clean(" ".join(text.split()))
        return line if self._look.is_rich else self._look.cut(line, 0)

    def _result(self, record: Record, indent: str) -> Iterator[str]:
        look = self._look
        is_error = bool(record.metadata.get("is_error"))
        is_whole = look.output == "whole"
        if record.tool_call_id in self._edited:
            self._edited.discard(record.tool_call_id)
            if not (is_error or is_whole):
                return
        lines = (record.spilled or record.content).strip("\n").split("\n")
        shown = lines if is_whole else lines[: look.result_lines]
        style: dict[str, Any] = {"fg": "red"} if is_error else {"dim": True}
        mark = indent + look.paint("  ✗ " if is_error else "  └ ", **style)
        for line in shown:
            for piece in self._pieces(line, mark, is_whole=is_whole):
                yield (mark + look.paint(piece, **style)) if piece else mark
                mark = indent + "    "
        if len(shown) < len(lines):
            yield mark + look.paint(say_more(len(lines) - len(shown)), dim=True)

    def _pieces(self, line: str, mark: str, *, is_whole: bool) -> Iterator[str]:
        look = self._look
        if is_whole:
            yield from look.fit(clean(line), look.room(mark) if look.is_rich else 0)
        elif look.is_rich:
            yield look.cut(clean(line), look.room(mark))
        else:
            yield look.cut(clean(line), 0)

    def _event(self, record: Record, indent: str) -> Iterator[str]:
        kind, note = record.metadata.get("kind"), record.metadata.get("note")
        if note == "interrupt":
            yield indent + self._look.paint("✗ interrupted", fg="magenta")
        elif kind == "compacted" and note == "compact_boundary":
            yield indent + self._look.paint("≈ conversation compacted", fg="magenta")
        elif self._look.is_full:
            text = record.content.strip().replace("\n", " ")[:PLAIN_WIDTH]
            words = " ".join(str(word) for word in (kind, note, text) if word)
            yield from self._quote(f"· {words}", indent, dim=True)

    def _quote(self, text: str, mark: str, **style: Any) -> Iterator[str]:
        """Every line of the text behind the mark."""
        look = self._look
        room = look.room(mark, is_text=True) if look.is_rich else 0
        for line in text.strip("\n").split("\n"):
            for piece in look.fit(clean(line), room):
                yield mark + look.paint(piece, **style)


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _say(value: Any) -> str:
    """An argument as words; a command may be given as a list of them."""
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        is_shell = len(value) == 3 and value[1] in ("-c", "-lc")
        return str(value[2]) if is_shell else " ".join(value)
    return value if isinstance(value, str) else ""
