"""Ids of strangers as parts of file names."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leslied.model.session import SessionSummary

_SAFE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}")


def make_session_name(summary: SessionSummary) -> str:
    """A short name that means this session alone, in letters any tool takes."""
    known = summary.thread_id.removeprefix("thread-")
    return make_safe_name(known or "\0".join(summary.key[:2]))


def make_safe_name(text: str) -> str:
    """The text itself where any file system takes it, else a hash of it."""
    if _SAFE_NAME.fullmatch(text):
        return text
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:12]
