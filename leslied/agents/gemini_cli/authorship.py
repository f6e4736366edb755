"""Whose words a `user` message holds: the client speaks in many of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from leslied.model.record import EventKind, Origin


class GeminiAuthorship(NamedTuple):
    """A person's words (with an origin), or the client's (with an event kind)."""

    content: str
    origin: Origin | None = None
    kind: EventKind | None = None
    note: str = ""
    attached: str = ""
    """What the client put beside a person's words."""


ACKNOWLEDGED = "Got it. Thanks for the additional context!"
"""What the client has the model say after the summary of a compaction."""
CANCELLED = "Request cancelled."
INTERRUPTED = "[The previous response was interrupted before it completed.]"
_CONTEXTS = {
    "<session_context>": "session_context",
    "<hook_context>": "hook_context",
    "- **Workspace Directories:**": "directories",
    "Here is the user's editor context": "editor",
    "Here is a summary of changes in the user's editor context": "editor",
}
_NOTICES = {
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


def classify_author(texts: list[str], shown: str) -> GeminiAuthorship:
    """Who speaks in a user message; `shown` is what the person saw of it."""
    told = [text for text in texts if text]
    alone = "".join(told)
    client = _classify_client(alone)
    if client and not shown:
        return client
    shell = _SHELL.fullmatch(alone)
    if shell:
        return GeminiAuthorship(f"! {shell[1]}", origin="shell", attached=shell[2])
    said, attached = _split_attached(told)
    if shown and shown != said:
        said, attached = shown, alone
    origin: Origin = "command" if _COMMAND.fullmatch(said.strip()) else "prompt"
    return GeminiAuthorship(said, origin=origin, attached=attached)


def find_steering(text: str) -> str:
    """Words typed while the agent worked; empty where there are none."""
    found = _STEERING.search(text)
    return found[1] if found else ""


def find_folder(text: str) -> str:
    """The first folder a `<session_context>` names: the one the session is in."""
    found = _FOLDER.search(text) if text.startswith("<session_context>") else None
    return found[1] if found else ""


def _classify_client(text: str) -> GeminiAuthorship | None:
    start = text.lstrip()
    for head, note in _CONTEXTS.items():
        if start.startswith(head):
            return GeminiAuthorship(text, kind="context", note=note)
    for head, note in _NOTICES.items():
        if start.startswith(head):
            return GeminiAuthorship(text, kind="notice", note=note)
    if start.startswith("<") and "<state_snapshot>" in start:
        return GeminiAuthorship(text, kind="compacted", note="summary")
    return None


def _split_attached(texts: list[str]) -> tuple[str, str]:
    """A person's words, and what hooks and file references put beside them."""
    said, attached = [], []
    for number, text in enumerate(texts):
        head, mark, _ = text.partition(_FILES_HEADING)
        if mark:
            said.append(head.rstrip("\n"))
            attached += [text[len(head) :], *texts[number + 1 :]]
            break
        is_context = text.lstrip().startswith(tuple(_CONTEXTS))
        (attached if is_context else said).append(text)
    return "".join(said), "".join(attached)
