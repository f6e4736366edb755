"""Paths below `.leslie`, and valid thread ids. Hooks load this module: no imports.

All paths are text and relative to the folder that holds `.leslie`, except those whose
description says that they are below a thread's folder.
"""

from __future__ import annotations

LESLIE_FOLDER = ".leslie"
THREADS_FOLDER = f"{LESLIE_FOLDER}/threads"
INDEX_FILE = f"{LESLIE_FOLDER}/index.json"
INDEX_PAGE = f"{LESLIE_FOLDER}/INDEX.md"
RELATIONS_FILE = f"{LESLIE_FOLDER}/thread_relations.json"
RELATIONS_BACKUP = f"{RELATIONS_FILE}.bak"
RELATIONS_DAMAGED = f"{RELATIONS_FILE}.damaged"
"""Copy of a file that could not be parsed, for a person to inspect."""
RELATIONS_LOCK_NAME = "thread_relations.json.lock"
"""Name of the lock in the folder of the relations file."""
GITIGNORE_FILE = f"{LESLIE_FOLDER}/.gitignore"
GITIGNORE_TEXT = (
    "/.gitignore\n/.leslied-new\n/index.json\n/INDEX.md\n/thread_relations.json*\n"
    "/threads/*/.meta/\n"
)
"""Patterns for all files that leslied writes; Git then commits only agents' files."""
SHARED_FILES = (INDEX_FILE, INDEX_PAGE, RELATIONS_FILE, RELATIONS_BACKUP)
"""Files with the titles of all threads; a repository may contain them already."""

META_FOLDER = ".meta"
"""Below a thread's folder: everything that leslied writes there."""
META_GITIGNORE_TEXT = "*\n"
"""Patterns for a thread's `.meta` folder.

Git prefers the rules nearest to a file, so that no other `.gitignore` of the repository
can make Git add a transcript.
"""
CONTEXT_FOLDER = "context"
INHERITED_FOLDER = f"{CONTEXT_FOLDER}/inherited"
"""Below a thread's folder: copies of the threads it references as `frozen`."""
PROGRESS_FILE = "progress.md"
_TRANSCRIPTS_FOLDER = f"{META_FOLDER}/transcripts"
ASSET_PATHS: tuple[tuple[str, str], ...] = (
    ("plan", "plan.md"),
    ("plan", "plan"),
    ("progress", PROGRESS_FILE),
    ("design", "design.md"),
    ("design", "design"),
    ("learnings", "learnings"),
    ("discuss", "discuss"),
    ("transcript", _TRANSCRIPTS_FOLDER),
)
"""Asset types and their paths below the thread's folder, in listing order."""

_MAX_THREAD_ID_CHARACTERS = 64
_THREAD_ID_CHARACTERS = frozenset(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
)


def is_thread_id(value: object) -> bool:
    """Return whether the untrusted value is safe as the name of a thread's folder."""
    if not isinstance(value, str) or not 0 < len(value) <= _MAX_THREAD_ID_CHARACTERS:
        return False
    return value[0] != "." and _THREAD_ID_CHARACTERS.issuperset(value)


def thread_folder(thread_id: str) -> str:
    """Return the path of the thread's folder."""
    return f"{THREADS_FOLDER}/{thread_id}"


def transcripts_folder(thread_id: str, *, is_subagent: bool = False) -> str:
    """Return the path of the folder with the thread's transcripts.

    Transcripts of subagents have a folder of their own.
    """
    name = f"{META_FOLDER}/subagents" if is_subagent else _TRANSCRIPTS_FOLDER
    return f"{thread_folder(thread_id)}/{name}"


def meta_gitignore_file(thread_id: str) -> str:
    """Return the path of the `.gitignore` in the thread's `.meta` folder."""
    return f"{thread_folder(thread_id)}/{META_FOLDER}/.gitignore"


def exports_folder(thread_id: str) -> str:
    """Return the path of the folder with the exports of the thread's session."""
    return f"{thread_folder(thread_id)}/{META_FOLDER}/exports"


def assets_file(thread_id: str) -> str:
    """Return the path of the index of the thread's assets."""
    return f"{thread_folder(thread_id)}/{META_FOLDER}/assets.json"


def collected_file(thread_id: str, asset_type: str) -> str:
    """Return the path of the copy of an asset that the agent keeps elsewhere."""
    return f"{thread_folder(thread_id)}/{META_FOLDER}/collected/{asset_type}.md"


def split_thread_path(path: str) -> tuple[str, str]:
    """Return the thread id and the rest of a path into a thread's folder.

    The path may be absolute. Both are empty if it is not below `.leslie/threads`.
    """
    _, _, below_threads = f"/{path}".partition(f"/{THREADS_FOLDER}/")
    thread_id, _, rest = below_threads.partition("/")
    return thread_id, rest
