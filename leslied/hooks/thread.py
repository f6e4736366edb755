"""Whose thread a hook speaks for, without the store.

The same rules as `sinks` and `store` have for projects and thread ids, over again on
plain strings: those rooms cost more to load than the whole hook may take. A test holds
both to the same answers.
"""

from __future__ import annotations

import os

from leslied.hooks.files import read_part
from leslied.mini_json import loads

PROJECT_MARKERS = (
    "AGENTS.md",
    "CLAUDE.md",
    ".claude",
    "pyproject.toml",
    "package.json",
    "Cargo.toml",
    "go.mod",
    "Makefile",
)
AGENT = "claude-code"
_HEX = frozenset("0123456789abcdef")
_THREAD_ID_CHARACTERS = _HEX.union("ghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._-")
_MAX_RELATIONS_BYTES = 4_000_000


def find_project(cwd: str) -> str:
    """The Git top level that holds the folder, or the folder with a project's marks."""
    if not cwd.startswith("/") or "\0" in cwd or ".." in cwd.split("/"):
        return ""
    folder = cwd = "/" + "/".join(part for part in cwd.split("/") if part not in "./")
    while True:
        if _has(folder, ".git"):
            return folder
        if folder == "/":
            break
        folder = folder.rpartition("/")[0] or "/"
    return cwd if any(_has(cwd, mark) for mark in PROJECT_MARKERS) else ""


def find_thread(project: str, session_id: str) -> str:
    """The thread of a session: the one that claims it, else the one named after it."""
    claimed = _find_claiming_thread(project, session_id) if project else ""
    if claimed:
        return claimed
    long = make_thread_id(session_id, 12)
    # Where two sessions began alike, the second was given the longer name.
    if project and _has(f"{project}/.leslie/threads", long):
        return long
    return make_thread_id(session_id)


def make_thread_id(session_id: str, length: int = 8) -> str:
    """The thread id that the store gives to this session."""
    if _is_uuid4(session_id):
        return f"thread-{session_id.replace('-', '')[:length]}"
    import hashlib  # noqa: PLC0415 - 8 ms that Claude Code's own ids never cost

    text = f"{AGENT}\0{session_id}".encode(errors="replace")
    return f"thread-{hashlib.sha256(text).hexdigest()[:length]}"


def _is_uuid4(text: str) -> bool:
    """Whether it is a UUID of version 4 in its usual form."""
    parts = text.split("-")
    if [len(part) for part in parts] != [8, 4, 4, 4, 12]:
        return False
    is_hex = all(_HEX.issuperset(part) for part in parts)
    return is_hex and parts[2][0] == "4" and parts[3][0] in "89ab"


def _find_claiming_thread(project: str, session_id: str) -> str:
    """The thread that Leslie's own file names for this session."""
    path = f"{project}/.leslie/thread_relations.json"
    data = read_part(path, 0, _MAX_RELATIONS_BYTES) or b""
    if session_id.encode(errors="replace") not in data:
        return ""
    try:
        threads = loads(data)["threads"].items()
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return ""
    found = [
        name
        for name, each in threads
        if isinstance(each, dict) and each.get("session_id") == session_id
    ]
    return next((name for name in found if _is_thread_id(name)), "")


def _is_thread_id(text: str) -> bool:
    """Whether a thread of this name can be a folder."""
    return (
        0 < len(text) <= 64
        and text[0] != "."
        and _THREAD_ID_CHARACTERS.issuperset(text)
    )


def _has(folder: str, name: str) -> bool:
    try:
        os.lstat(f"{folder}/{name}")
    except (OSError, ValueError):
        return False
    return True
