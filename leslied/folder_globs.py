"""Match folders with globs, however a folder is spelt.

Agents and users spell one folder in several ways: through a symlink, with `..`, or
with a wildcard that matches a symlink. Globs and folders are therefore resolved
before they are compared, and a folder matches if any of its spellings does.
"""

from __future__ import annotations

import glob
import os
from fnmatch import fnmatchcase
from functools import lru_cache

TYPE_CHECKING = False  # Hooks load this module; `typing` would cost milliseconds.
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_MAX_CACHED_FOLDERS = 1024


def make_folder_matcher(globs: Sequence[str]) -> Callable[[str], bool]:
    """Return a predicate, true if a glob matches a folder or one above it.

    Answers are cached, so make a new matcher whenever settings are read again: links
    may have changed since.
    """
    patterns = [os.path.expanduser(pattern) for pattern in globs]  # noqa: PTH111 - a glob

    @lru_cache(maxsize=_MAX_CACHED_FOLDERS)
    def matches(folder: str) -> bool:
        if not folder:
            return False
        spellings = {os.path.normpath(folder), _resolve(folder)}
        return any(
            fnmatchcase(spelling, expanded)
            or fnmatchcase(spelling, expanded.rstrip("/") + "/*")
            for pattern in patterns
            for expanded in _expand(pattern)
            for spelling in spellings
        )

    return matches


def _expand(pattern: str) -> Iterator[str]:
    """Yield the pattern, its resolved form, and the targets of links it matches."""
    yield os.path.normpath(pattern)
    parts = pattern.split("/")
    wildcards = (n for n, part in enumerate(parts) if glob.has_magic(part))
    first_wildcard = next(wildcards, len(parts))
    literal_path = _resolve("/".join(parts[:first_wildcard]) or "/")
    yield "/".join([glob.escape(literal_path).rstrip("/"), *parts[first_wildcard:]])
    if first_wildcard == len(parts):
        return
    # `~/clients/*` matches `/data/acme` too if `~/clients/acme` is a link to it:
    # agents log the resolved folder, which no resolved glob would match.
    for path in glob.iglob(pattern, include_hidden=True):  # noqa: PTH207 - absolute
        resolved = _resolve(path)
        if resolved != path:
            yield glob.escape(resolved)


def _resolve(path: str) -> str:
    """Return the path without links and `..`; a path that cannot exist stays as is."""
    try:
        return os.path.realpath(path) if path.startswith("/") else path
    except (OSError, ValueError):
        return path
