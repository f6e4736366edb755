"""Whose words a `user` line holds: in most of them no human speaks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from leslied.model.machine_prompts import MACHINE_PROMPT_PREFIXES

if TYPE_CHECKING:
    from leslied.agents.claude_code.schema import ClaudeLine
    from leslied.model.record import EventKind, Origin


class ClaudeAuthorship(NamedTuple):
    """A person's words (with an origin), or the client's (with an event kind)."""

    content: str
    origin: Origin | None = None
    kind: EventKind | None = None
    note: str = ""


_COMMAND_TAG = re.compile(
    r"\s*<(command-name|command-message|command-args)>(.*?)</\1>\s*", re.DOTALL
)
_SHELL_INPUT = re.compile(r"\s*<bash-input>(.*?)</bash-input>\s*", re.DOTALL)
_OUTPUT_TAG = re.compile(
    r"\s*<(local-command-stdout|local-command-stderr|bash-stdout|bash-stderr)>"
)
_INTERRUPT = re.compile(r"\[Request interrupted by user( for tool use)?\]")
_MACHINE_ORIGINS = ("task-notification", "teammate", "agent", "hook", "system", "cron")
_SUMMARY_PREFIX = "This session is being continued from a previous conversation"
_ATTACHED_TAG = re.compile(
    r"\s*<(system-reminder|ide_opened_file|ide_selection|ide_diagnostics"
    r"|user-memory-input)>.*?</\1>\s*",
    re.DOTALL,
)


def classify_author(
    line: ClaudeLine, text: str, *, is_subagent: bool
) -> ClaudeAuthorship:
    """Who speaks in a user line that holds no tool result; the first test wins."""
    if line.isMeta:
        return ClaudeAuthorship(text, kind="context", note="meta")
    if line.isCompactSummary or text.startswith(_SUMMARY_PREFIX):
        return ClaudeAuthorship(text, kind="compacted", note="summary")
    return (
        _classify_client(line, text)
        or _classify_command(text)
        or _classify_person(text, is_subagent=is_subagent)
    )


def _classify_client(line: ClaudeLine, text: str) -> ClaudeAuthorship | None:
    """The client's own words, told by the line's fields or by an envelope."""
    kind = line.origin.kind if line.origin else None
    if kind in _MACHINE_ORIGINS or line.promptSource == "system":
        return ClaudeAuthorship(text, kind="notice", note=kind or "system")
    if _OUTPUT_TAG.match(text):
        return ClaudeAuthorship(text, kind="notice", note="output")
    if _INTERRUPT.fullmatch(text.strip()):
        return ClaudeAuthorship(text.strip(), kind="turn_ended", note="interrupt")
    if text.lstrip().startswith(MACHINE_PROMPT_PREFIXES):
        return ClaudeAuthorship(text, kind="notice", note="machine")
    return None


def _classify_command(text: str) -> ClaudeAuthorship | None:
    """A slash or shell command, when the whole text is its envelope."""
    shell = _SHELL_INPUT.fullmatch(text)
    if shell:
        return ClaudeAuthorship("! " + shell[1].strip(), origin="shell")
    tags: dict[str, str] = {}
    at = 0
    while found := _COMMAND_TAG.match(text, at):
        tags[found[1]] = found[2].strip()
        at = found.end()
    name = tags.get("command-name") or tags.get("command-message")
    if not name or at != len(text):
        return None
    words = ["/" + name.lstrip("/"), tags.get("command-args", "")]
    return ClaudeAuthorship(" ".join(words).strip(), origin="command")


def _classify_person(text: str, *, is_subagent: bool) -> ClaudeAuthorship:
    """What is left is somebody's prompt, behind what the editor attached to it."""
    at = 0
    while found := _ATTACHED_TAG.match(text, at):
        at = found.end()
    words, attached = text[at:], text[:at]
    if not words.strip():
        return ClaudeAuthorship(text, kind="context", note="attached")
    if is_subagent:
        if words.strip() == "Warmup":
            return ClaudeAuthorship(text, kind="notice", note="warmup")
        return ClaudeAuthorship(words, origin="task", note=attached)
    return ClaudeAuthorship(words, origin="prompt", note=attached)
