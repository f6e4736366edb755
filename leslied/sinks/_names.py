"""File name parts derived from untrusted ids."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leslied.model.session import SessionSummary

_SAFE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}")


def make_session_name(summary: SessionSummary) -> str:
    """Return a short file name part that is unique to the session."""
    thread_name = summary.thread_id.removeprefix("thread-")
    return make_safe_name(thread_name or "\0".join(summary.key[:2]))


def make_safe_name(text: str) -> str:
    """Return the text if every file system accepts it as a name, else its hash."""
    if _SAFE_NAME.fullmatch(text):
        return text
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:12]
