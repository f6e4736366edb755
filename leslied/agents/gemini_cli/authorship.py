"""Classify who wrote a `user` message; the client writes many of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from leslied.model.record import EventKind, Origin


class GeminiAuthorship(NamedTuple):
    """Text of a person (with an origin) or of the client (with an event kind)."""

    content: str
    origin: Origin | None = None
    kind: EventKind | None = None
    note: str = ""
    """The kind of the client's text."""
    attached: str = ""
    """Text that the client added to a person's message."""


ACKNOWLEDGED = "Got it. Thanks for the additional context!"
"""The reply that the client inserts after the summary of a compaction."""
CANCELLED = "Request cancelled."
"""The client's message that a person cancelled the turn."""
INTERRUPTED = "[The previous response was interrupted before it completed.]"
"""The text that the client inserts after an answer that was interrupted."""
# The start of a text that the client wrote, and the note that says what it is.
_CONTEXT_PREFIXES = {
    "<session_context>": "session_context",
    "<hook_context>": "hook_context",
    "- **Workspace Directories:**": "directories",
    "Here is the user's editor context": "editor",
    "Here is a summary of changes in the user's editor context": "editor",
}
_NOTICE_PREFIXES = {
    "System: Potential loop detected": "loop",
    "Background execution update:": "background",
    "User has manually exited Plan Mode.": "plan",
}
_FILES_HEADING = "--- Content from referenced files ---"
_SHELL = re.compile(
    r"I ran the following shell command:\n```sh\n(.*?)\n```\n\n"
    r"This produced the following result:\n```\n(.*)\n```",
    re.DOTALL,
)
_STEERING = re.compile(
    r"User (?:steering update|hints):\n<user_input>\n(.*?)\n</user_input>", re.DOTALL
)
_COMMAND = re.compile(r"/[A-Za-z][\w:.-]*(?: [^\n]*)?")
_FOLDER = re.compile(r"- \*\*Workspace Directories:\*\*\n  - (/[^\n]{1,800})\n")


def split_by_author(texts: list[str], displayed: str) -> GeminiAuthorship:
    """Split a user message into a person's text and the client's.

    `displayed` is the text that the client showed instead of `texts`, or "".
    """
    full_text = "".join(texts)
    client = _classify_client(full_text)
    if client and not displayed:
        return client
    shell = _SHELL.fullmatch(full_text)
    if shell:
        return GeminiAuthorship(f"! {shell[1]}", origin="shell", attached=shell[2])
    prompt, attached = _split_attached([text for text in texts if text])
    if displayed and displayed != prompt:
        prompt, attached = displayed, full_text
    origin: Origin = "command" if _COMMAND.fullmatch(prompt.strip()) else "prompt"
    return GeminiAuthorship(prompt, origin=origin, attached=attached)


def find_steering(text: str) -> str:
    """Return the text that a person typed while the agent worked, or ""."""
    match = _STEERING.search(text)
    return match[1] if match else ""


def find_folder(text: str) -> str:
    """Return the session's directory, the first in a `<session_context>`, or ""."""
    match = _FOLDER.search(text) if text.startswith("<session_context>") else None
    return match[1] if match else ""


def _classify_client(text: str) -> GeminiAuthorship | None:
    """Recognize the client's own text by its beginning; return None for other text."""
    stripped = text.lstrip()
    for prefix, note in _CONTEXT_PREFIXES.items():
        if stripped.startswith(prefix):
            return GeminiAuthorship(text, kind="context", note=note)
    for prefix, note in _NOTICE_PREFIXES.items():
        if stripped.startswith(prefix):
            return GeminiAuthorship(text, kind="notice", note=note)
    if stripped.startswith("<") and "<state_snapshot>" in stripped:
        return GeminiAuthorship(text, kind="compacted", note="summary")
    return None


def _split_attached(texts: list[str]) -> tuple[str, str]:
    """Return a person's text, and the text that hooks and file references added."""
    typed, attached = [], []
    for number, text in enumerate(texts):
        before, heading, _ = text.partition(_FILES_HEADING)
        if heading:
            typed.append(before.rstrip("\n"))
            attached += [text[len(before) :], *texts[number + 1 :]]
            break
        is_context = text.lstrip().startswith(tuple(_CONTEXT_PREFIXES))
        (attached if is_context else typed).append(text)
    return "".join(typed), "".join(attached)
