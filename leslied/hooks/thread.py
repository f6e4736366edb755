"""The project and the thread of a hook event, found without the store.

These are the rules of `sinks` and `store` for projects and thread ids, repeated on
plain strings, because importing those packages would take longer than a whole hook may
take. A test checks that both implementations give the same results.
"""

from __future__ import annotations

import os

from leslied.hooks import AGENT_NAME
from leslied.hooks.files import read_part
from leslied.layout import RELATIONS_FILE, THREADS_FOLDER, is_thread_id
from leslied.mini_json import loads
from leslied.model.project_markers import PROJECT_MARKERS

_HEX = frozenset("0123456789abcdef")
_MAX_RELATIONS_BYTES = 4_000_000


def find_project(cwd: str) -> str:
    """Return the project of a folder, empty if the folder is not in a project.

    The project is the Git top level above the folder, or the folder itself if it
    contains a project marker.
    """
    if not cwd.startswith("/") or "\0" in cwd or ".." in cwd.split("/"):
        return ""
    cwd = "/" + "/".join(part for part in cwd.split("/") if part not in ("", "."))
    folder = cwd
    while True:
        if _contains(folder, ".git"):
            return folder
        if folder == "/":
            break
        folder = folder.rpartition("/")[0] or "/"
    return cwd if any(_contains(cwd, marker) for marker in PROJECT_MARKERS) else ""


def find_thread(project: str, session_id: str) -> str:
    """Return a session's thread id: from the relations file, else from its own id."""
    assigned_id = _find_assigned_thread(project, session_id) if project else ""
    if assigned_id:
        return assigned_id
    long_id = make_thread_id(session_id, 12)
    # If two session ids have the same prefix, the second thread has the longer id.
    if project and _contains(f"{project}/{THREADS_FOLDER}", long_id):
        return long_id
    return make_thread_id(session_id)


def make_thread_id(session_id: str, length: int = 8) -> str:
    """Return the thread id that the store assigns to this session.

    `length` is the number of hexadecimal digits in the id.
    """
    if _is_uuid4(session_id):
        return f"thread-{session_id.replace('-', '')[:length]}"
    import hashlib  # noqa: PLC0415 - 8 ms; Claude Code's ids do not need it

    text = f"{AGENT_NAME}\0{session_id}".encode(errors="replace")
    return f"thread-{hashlib.sha256(text).hexdigest()[:length]}"


def _is_uuid4(text: str) -> bool:
    """Return whether the text is a version 4 UUID in its canonical form."""
    parts = text.split("-")
    if [len(part) for part in parts] != [8, 4, 4, 4, 12]:
        return False
    is_hex = all(_HEX.issuperset(part) for part in parts)
    return is_hex and parts[2][0] == "4" and parts[3][0] in "89ab"


def _find_assigned_thread(project: str, session_id: str) -> str:
    """Return the thread id that the relations file assigns, or an empty string."""
    data = read_part(f"{project}/{RELATIONS_FILE}", 0, _MAX_RELATIONS_BYTES) or b""
    if session_id.encode(errors="replace") not in data:
        return ""
    try:
        threads = loads(data)["threads"].items()
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return ""
    assigned_ids = [
        thread_id
        for thread_id, fields in threads
        if isinstance(fields, dict) and fields.get("session_id") == session_id
    ]
    return next((text for text in assigned_ids if is_thread_id(text)), "")


def _contains(folder: str, name: str) -> bool:
    try:
        os.lstat(f"{folder}/{name}")
    except (OSError, ValueError):
        return False
    return True
