"""The JSON form of messages as the reader shows them. Pure functions.

Markdown and code are HTML from `rendering`, in which everything of a log is escaped;
all other texts are plain. Long texts are cut; the reader asks for the rest.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from leslied.model.codec import encode_time
from leslied.rendering.edits import find_edits
from leslied.rendering.highlight import highlight_code
from leslied.rendering.labels import find_label, is_path
from leslied.rendering.markdown_html import render_markdown_html
from leslied.rendering.messages import get_full_text, parse_input
from leslied.rendering.text import first_line, replace_controls
from leslied.sessions.status import compute_status
from leslied.sessions.tools import COMMAND_ARGUMENTS

if TYPE_CHECKING:
    from datetime import datetime

    from leslied.model.record import PlacedRecord
    from leslied.model.session import Unit
    from leslied.queries.reading.pages import ShownMessage
    from leslied.rendering.edits import FileEdit
    from leslied.rendering.messages import SpeakerMessage, ToolInvocation

MAX_PROMPT_CHARACTERS = 20_000
MAX_OUTPUT_CHARACTERS = 4_000
MAX_OUTPUT_LINES = 60
MAX_DIFF_LINES = 300
_LABEL_CHARACTERS = 160
_IMAGE = re.compile(r"\[image image/(?:png|jpeg|gif|webp)\b[^\]\n]*\]")
"""Text that adapters write in place of an image."""


class MessageEncoder:
    """Encoder of the messages of one page, whose entries must be redacted already."""

    def __init__(
        self, now: datetime, cwd: str, secret_ids: frozenset[str] = frozenset()
    ) -> None:
        self._now = now
        self._cwd = cwd
        self._secret_ids = secret_ids

    def encode(self, shown: ShownMessage) -> dict[str, Any]:
        """Return the JSON form of a message or event."""
        message = shown.message
        record = message.placed.record
        data: dict[str, Any] = {
            "id": message.placed.entry_id,
            "speaker": "event" if shown.event else message.speaker,
            "at": encode_time(record.created_at),
            "has_secrets": self._has_secrets(message),
        }
        if shown.event:
            detail = shown.event.detail
            return data | {
                "kind": shown.event.kind,
                "text": replace_controls(shown.event.text),
                "html": _render(detail) if detail else "",
            }
        match message.speaker:
            case "user":
                return data | self._encode_prompt(message)
            case "assistant":
                return data | self._encode_answer(message)
        tool = {"tool": record.tool_name, **encode_output(message.text)}
        return data | tool | {"images": count_images(message.placed)}

    def _has_secrets(self, message: SpeakerMessage) -> bool:
        entries = [message.placed]
        for call in message.calls:
            entries += [call.placed, *([call.result] if call.result else [])]
        return any(placed.entry_id in self._secret_ids for placed in entries)

    def _encode_prompt(self, message: SpeakerMessage) -> dict[str, Any]:
        metadata = message.placed.record.metadata
        text = replace_controls(message.text).strip()
        # The task of a subagent was written by a model, in Markdown.
        is_task = metadata.get("origin") == "task"
        return {
            "origin": metadata.get("origin"),
            "text": text[:MAX_PROMPT_CHARACTERS],
            "html": _render(text) if is_task else "",
            "is_cut": len(text) > MAX_PROMPT_CHARACTERS,
            "images": count_images(message.placed),
        }

    def _encode_answer(self, message: SpeakerMessage) -> dict[str, Any]:
        usage = message.usage
        return {
            "model": message.model or None,
            "html": _render(message.text) if message.text else "",
            "thinking": _render(message.thinking) if message.thinking else "",
            "calls": [self._encode_call(call) for call in message.calls],
            "output_tokens": usage.output_tokens if usage else 0,
        }

    def _encode_call(self, call: ToolInvocation) -> dict[str, Any]:
        record = call.placed.record
        arguments = parse_input(record)
        edits = find_edits(record.tool_name, arguments)
        result = call.result
        # The report of a subagent is Markdown; other output is plain text.
        is_report = bool(
            call.subagents or (result and result.record.metadata.get("report"))
        )
        output = call.report_or_output
        return {
            "id": call.placed.entry_id,
            "result_id": result.entry_id if result else None,
            "tool": replace_controls(call.name),
            "label": self._make_label(call, arguments),
            "outcome": _find_outcome(call),
            "at": encode_time(record.created_at),
            "duration_ms": _measure_milliseconds(call),
            "edits": [encode_edit(edit) for edit in edits],
            "arguments": [] if edits else encode_arguments(arguments),
            "html": _render(output) if is_report and output.strip() else "",
            **encode_output(output),
            "images": count_images(result) if result else 0,
            "subagents": [self.encode_subagent(child) for child in call.subagents],
        }

    def _make_label(self, call: ToolInvocation, arguments: dict[str, Any]) -> str:
        """Return the call's label; a path is relative to the session's folder."""
        name, text = find_label(arguments)
        if is_path(name) and self._cwd:
            text = text.removeprefix(f"{self._cwd}/")
        text = text or (call.placed.record.tool_input if arguments else "")
        return first_line(text, _LABEL_CHARACTERS)

    def encode_subagent(self, child: Unit) -> dict[str, Any]:
        """Return the JSON form of a subagent that can be opened."""
        summary = child.summary
        return {
            "id": summary.subagent_id,
            "type": first_line(summary.agent_type, 80),
            "title": first_line(summary.description or summary.title, 160),
            "model": summary.model or None,
            "status": compute_status(summary, self._now),
            "started_at": encode_time(summary.started_at),
            "ended_at": encode_time(summary.ended_at),
            "tool_calls": summary.tool_calls,
        }


def _render(text: str) -> str:
    return render_markdown_html(text, with_colours=True)


def _find_outcome(call: ToolInvocation) -> str:
    if call.result is None:
        return "unanswered"
    return "failed" if call.is_error else "ok"


def _measure_milliseconds(call: ToolInvocation) -> int | None:
    """Return the milliseconds from the call to its result, if both have a time."""
    started_at = call.placed.record.created_at
    ended_at = call.result.record.created_at if call.result else None
    if not started_at or not ended_at:
        return None
    return max(round((ended_at - started_at).total_seconds() * 1000), 0)


def encode_edit(edit: FileEdit) -> dict[str, Any]:
    """Return the JSON form of an edit: its path and changed lines."""
    lines = [
        [sign, replace_controls(text)] for sign, text in edit.changes[:MAX_DIFF_LINES]
    ]
    return {
        "path": replace_controls(edit.path),
        "diffstat": edit.diffstat,
        "lines": lines,
        "hidden_lines": max(len(edit.changes) - MAX_DIFF_LINES, 0),
    }


def encode_arguments(arguments: dict[str, Any]) -> list[dict[str, Any]]:
    """Return name and text of each argument; the text of a command is HTML, too."""
    encoded = []
    for name, value in arguments.items():
        is_text = isinstance(value, str)
        text = value if is_text else json.dumps(value, indent=2, ensure_ascii=False)
        text = replace_controls(text)
        is_command = name in COMMAND_ARGUMENTS and is_text
        shown = text[:MAX_OUTPUT_CHARACTERS]
        encoded.append(
            {
                "name": replace_controls(name),
                "text": shown,
                "html": highlight_code(shown, "bash") if is_command else "",
                "is_cut": len(text) > MAX_OUTPUT_CHARACTERS,
            }
        )
    return encoded


def encode_output(text: str) -> dict[str, Any]:
    """Return the start of an output, whether it is cut, and its number of lines."""
    text = replace_controls(text).strip("\n")
    lines = text.split("\n")
    shown = "\n".join(lines[:MAX_OUTPUT_LINES])[:MAX_OUTPUT_CHARACTERS]
    return {
        "text": shown,
        "is_cut": len(shown) < len(text),
        "lines": len(lines) if text else 0,
    }


def count_images(placed: PlacedRecord) -> int:
    """Return the number of images that the entry has in its log."""
    return len(_IMAGE.findall(get_full_text(placed.record)))
