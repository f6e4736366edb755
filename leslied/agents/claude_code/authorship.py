"""Classify who wrote the text of a line; a person wrote only a few `user` lines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from leslied.model.injected_messages import unescape
from leslied.model.machine_prompts import MACHINE_PROMPT_PREFIXES
from leslied.model.record import SHELL

if TYPE_CHECKING:
    from leslied.agents.claude_code.schema import ClaudeLine
    from leslied.model.record import EventKind, Origin


class ClaudeAuthorship(NamedTuple):
    """Text of a person (with an origin) or of the client (with an event kind)."""

    content: str
    origin: Origin | None = None
    kind: EventKind | None = None
    note: str = ""
    """What the client's text is, such as `summary`."""
    attached: str = ""
    """The tags that the client put before a person's text, with their content."""
    tool_name: str = ""
    """The tool whose output the text is, if people should see that output."""


_COMMAND_TAG = re.compile(
    r"\s*<(command-name|command-message|command-args)>(.*?)</\1>\s*", re.DOTALL
)
_SHELL_INPUT = re.compile(r"\s*<bash-input>(.*?)</bash-input>\s*", re.DOTALL)
_SHELL_OUTPUT = re.compile(r"<(bash-stdout|bash-stderr)>(.*?)</\1>", re.DOTALL)
_SHELL_OUTPUT_PREFIXES = ("<bash-stdout>", "<bash-stderr>")
_COMMAND_OUTPUT_PREFIXES = ("<local-command-stdout>", "<local-command-stderr>")
_INTERRUPT = re.compile(r"\s*(\[Request interrupted by user(?: for tool use)?\])\s*")
_MACHINE_ORIGINS = ("task-notification", "teammate", "agent", "hook", "system", "cron")
_STOP_FEEDBACK_PREFIX = "Stop hook feedback:"
_SUMMARY_PREFIX = "This session is being continued from a previous conversation"
_ATTACHED_TAG = re.compile(
    r"\s*<(system-reminder|ide_opened_file|ide_selection|ide_diagnostics"
    r"|user-memory-input)>.*?</\1>\s*",
    re.DOTALL,
)


def classify_author(
    line: ClaudeLine, text: str, *, is_subagent: bool
) -> ClaudeAuthorship:
    """Return who wrote `text`, the text of `line` outside tool results.

    The first rule that matches decides.
    """
    if line.isMeta and text.startswith(_STOP_FEEDBACK_PREFIX):
        return ClaudeAuthorship(text, kind="notice", note="stop_blocked")
    if line.isMeta:
        return ClaudeAuthorship(text, kind="context", note="meta")
    if line.isCompactSummary or text.startswith(_SUMMARY_PREFIX):
        return ClaudeAuthorship(text, kind="compacted", note="summary")
    return (
        _classify_client(line, text)
        or _classify_command(text)
        or _classify_person(text, is_subagent=is_subagent)
    )


def is_command_output(text: str) -> bool:
    """Return whether the client answered a `/name` command itself, with this text."""
    return text.lstrip().startswith(_COMMAND_OUTPUT_PREFIXES)


def _classify_client(line: ClaudeLine, text: str) -> ClaudeAuthorship | None:
    """Recognize the client's own text by the line's fields or the text itself."""
    origin_kind = line.origin.kind if line.origin else None
    if origin_kind in _MACHINE_ORIGINS or line.promptSource == "system":
        return ClaudeAuthorship(text, kind="notice", note=origin_kind or "system")
    if text.lstrip().startswith(_SHELL_OUTPUT_PREFIXES):
        output = _extract_shell_output(text)
        return ClaudeAuthorship(output, kind="notice", note="output", tool_name=SHELL)
    if text.lstrip().startswith(_COMMAND_OUTPUT_PREFIXES):
        return ClaudeAuthorship(text, kind="notice", note="output")
    if interrupt := _INTERRUPT.fullmatch(text):
        return ClaudeAuthorship(interrupt[1], kind="turn_ended", note="interrupt")
    if text.lstrip().startswith(MACHINE_PROMPT_PREFIXES):
        return ClaudeAuthorship(text, kind="notice", note="machine")
    return None


def _extract_shell_output(text: str) -> str:
    """Return what a shell command printed, without the tags around it."""
    outputs = [output for _, output in _SHELL_OUTPUT.findall(text)]
    return unescape("\n".join(filter(None, outputs))) if outputs else text


def _classify_command(text: str) -> ClaudeAuthorship | None:
    """Recognize a slash or shell command if the text consists only of its tags."""
    shell = _SHELL_INPUT.fullmatch(text)
    if shell:
        return ClaudeAuthorship("! " + shell[1].strip(), origin="shell")
    tags: dict[str, str] = {}
    position = 0
    while match := _COMMAND_TAG.match(text, position):
        tags[match[1]] = match[2].strip()
        position = match.end()
    name = tags.get("command-name") or tags.get("command-message")
    if not name or position != len(text):
        return None
    parts = ["/" + name.lstrip("/"), tags.get("command-args", "")]
    return ClaudeAuthorship(" ".join(parts).strip(), origin="command")


def _classify_person(text: str, *, is_subagent: bool) -> ClaudeAuthorship:
    """Split a person's prompt or a subagent's task from the tags before it.

    Text that consists only of such tags is the client's.
    """
    position = 0
    while match := _ATTACHED_TAG.match(text, position):
        position = match.end()
    prompt, attached = text[position:], text[:position]
    if not prompt or prompt.isspace():
        return ClaudeAuthorship(text, kind="context", note="attached")
    if is_subagent:
        if prompt.strip() == "Warmup":
            return ClaudeAuthorship(text, kind="notice", note="warmup")
        return ClaudeAuthorship(prompt, origin="task", attached=attached)
    return ClaudeAuthorship(prompt, origin="prompt", attached=attached)
