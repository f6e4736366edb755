"""Titles of sessions, and texts truncated to the length of a title."""

from __future__ import annotations

import re

_TITLE_CHARACTERS = 80
_VISIBLE_ASCII = re.compile("[!-~]")
_PARTIAL_TOKEN = re.compile(r"(?<![!-~])(?=[!-~]*\d)(?=[!-~]*[A-Za-z])[!-~]+$")
"""Token with letters and digits at the end of a text: it may be part of a secret."""
_ATTACHMENT_MARK = re.compile(
    r"(?<!\[)\[(?:image\b|(?:audio|document|file|video) [\w.+-]+/)"
    r"[^\]\n]*(?:\]|\Z)[ \t]*",
    re.IGNORECASE,
)
"""What a client or an adapter writes in place of an attachment: `[Image #1]`."""


def choose_title(title: str, first_prompt: str, description: str) -> str:
    """Return the log's title, else the first line of the prompt, else the description.

    The description is that of a subagent's task.
    """
    prompt = strip_attachment_marks(first_prompt).strip() or first_prompt.strip()
    first_line = prompt.split("\n", 1)[0]
    return title or truncate_text(first_line, _TITLE_CHARACTERS) or description


def strip_attachment_marks(text: str) -> str:
    """Return the text without the marks of images and other attachments."""
    return _ATTACHMENT_MARK.sub("", text)


def truncate_text(text: str, limit: int) -> str:
    """Truncate a text to `limit` characters, including an ellipsis.

    If the cut would be inside a token with letters and digits, drop the token:
    redaction cannot recognize a part of a secret.
    """
    if len(text) <= limit:
        return text
    head = text[: limit - 1]
    if _VISIBLE_ASCII.match(text[limit - 1]):
        head = _PARTIAL_TOKEN.sub("", head)
    return head + "…"
