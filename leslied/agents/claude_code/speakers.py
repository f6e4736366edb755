"""Whose words a `user` line holds: in most of them no human speaks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from leslied.model.machine_prompts import MACHINE_PROMPT_PREFIXES

if TYPE_CHECKING:
    from leslied.agents.claude_code.wire import Line
    from leslied.model.record import EventKind, Origin


class Speech(NamedTuple):
    """A person's words (with an origin), or the client's (with an event kind)."""

    content: str
    origin: Origin | None = None
    kind: EventKind | None = None
    note: str = ""


_COMMAND_TAG = re.compile(
    r"\s*<(command-name|command-message|command-args)>(.*?)</\1>\s*", re.DOTALL
)
_SHELL_INPUT = re.compile(r"\s*<bash-input>(.*?)</bash-input>\s*", re.DOTALL)
_OUTPUT = re.compile(
    r"\s*<(local-command-stdout|local-command-stderr|bash-stdout|bash-stderr)>"
)
_INTERRUPT = re.compile(r"\[Request interrupted by user( for tool use)?\]")
_MACHINES = ("task-notification", "teammate", "agent", "hook", "system", "cron")
_SUMMARY = "This session is being continued from a previous conversation"
_ATTACHED = re.compile(
    r"\s*<(system-reminder|ide_opened_file|ide_selection|ide_diagnostics"
    r"|user-memory-input)>.*?</\1>\s*",
    re.DOTALL,
)


def hear(line: Line, text: str, *, is_subagent: bool) -> Speech:
    """Who speaks in a user line that holds no tool result; the first test wins."""
    if line.isMeta:
        return Speech(text, kind="context", note="meta")
    if line.isCompactSummary or text.startswith(_SUMMARY):
        return Speech(text, kind="compacted", note="summary")
    return (
        _hear_client(line, text)
        or _hear_command(text)
        or _hear_person(text, is_subagent=is_subagent)
    )


def _hear_client(line: Line, text: str) -> Speech | None:
    """The client's own words, told by the line's fields or by an envelope."""
    kind = line.origin.kind if line.origin else None
    if kind in _MACHINES or line.promptSource == "system":
        return Speech(text, kind="notice", note=kind or "system")
    if _OUTPUT.match(text):
        return Speech(text, kind="notice", note="output")
    if _INTERRUPT.fullmatch(text.strip()):
        return Speech(text.strip(), kind="turn_ended", note="interrupt")
    if text.lstrip().startswith(MACHINE_PROMPT_PREFIXES):
        return Speech(text, kind="notice", note="machine")
    return None


def _hear_command(text: str) -> Speech | None:
    """A slash or shell command, when the whole text is its envelope."""
    shell = _SHELL_INPUT.fullmatch(text)
    if shell:
        return Speech("! " + shell[1].strip(), origin="shell")
    tags: dict[str, str] = {}
    at = 0
    while found := _COMMAND_TAG.match(text, at):
        tags[found[1]] = found[2].strip()
        at = found.end()
    name = tags.get("command-name") or tags.get("command-message")
    if not name or at != len(text):
        return None
    words = ["/" + name.lstrip("/"), tags.get("command-args", "")]
    return Speech(" ".join(words).strip(), origin="command")


def _hear_person(text: str, *, is_subagent: bool) -> Speech:
    """What is left is somebody's prompt, behind what the editor attached to it."""
    at = 0
    while found := _ATTACHED.match(text, at):
        at = found.end()
    words, attached = text[at:], text[:at]
    if not words.strip():
        return Speech(text, kind="context", note="attached")
    if is_subagent:
        if words.strip() == "Warmup":
            return Speech(text, kind="notice", note="warmup")
        return Speech(words, origin="task", note=attached)
    return Speech(words, origin="prompt", note=attached)
