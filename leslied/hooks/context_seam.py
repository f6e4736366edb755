"""The one place where the thread's context comes from."""

from __future__ import annotations

import os

_ASSETS = (
    ("plan", "plan.md"),
    ("plan", "plan"),
    ("progress", "progress.md"),
    ("design", "design.md"),
    ("design", "design"),
    ("learnings", "learnings"),
    ("discuss", "discuss"),
    ("transcript", ".meta/transcripts"),
)
_ESCAPES = (
    ("&", "&amp;"),
    ("<", "&lt;"),
    (">", "&gt;"),
    ('"', "&quot;"),
    ("'", "&apos;"),
)


def render_context(project: str, thread: str) -> str:
    """The thread's own assets, by path; the files' words are never in it."""
    below = f".leslie/threads/{thread}"
    lines = [
        f'  <asset type="{kind}" path="{_escape(f"{below}/{name}")}" />'
        for kind, name in _ASSETS
        if _is_there(f"{project}/{below}/{name}")
    ]
    head = (
        f'<thread_context thread="{_escape(thread)}" objective="" '
        'relations_file=".leslie/thread_relations.json">'
    )
    return "\n".join([head, *(lines or [""]), "</thread_context>"])


def _is_there(path: str) -> bool:
    try:
        os.lstat(path)
    except (OSError, ValueError):
        return False
    return True


def _escape(text: str) -> str:
    for plain, escaped in _ESCAPES:
        text = text.replace(plain, escaped)
    return text
