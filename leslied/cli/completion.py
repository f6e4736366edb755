"""Completers for ids, agents and projects.

A completer never fails and never prints anything but completions, because its output
appears while the user types; on an error it offers nothing.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

from click.shell_completion import CompletionItem

from leslied.cli.render.output import sanitize
from leslied.paths import get_paths, read_environ

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import click

    from leslied.paths import AppPaths
    from leslied.queries.completion import CompletionReader

    Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]

MAX_ITEMS = 50
_SHELL_SAFE = re.compile(r"[\w.][\w.@+-]*", re.ASCII)
"""Words that a shell does not interpret; ids come from logs, so any text may occur."""
_MAX_TITLE_CHARS = 70


def _completer(
    list_items: Callable[[AppPaths, str], Iterator[CompletionItem]],
) -> Completer:
    """Turn a function that lists items into a completer that never fails."""

    def complete(
        ctx: click.Context, _param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        matches: list[CompletionItem] = []
        with suppress(Exception):
            config = ctx.find_root().params.get("config")
            items = list_items(get_paths(read_environ(), config), incomplete)
            matches = [item for item in items if _is_safe_match(item, incomplete)]
        return matches

    return complete


def _is_safe_match(item: CompletionItem, incomplete: str) -> bool:
    """Return whether to offer the item; the shell itself completes folders."""
    if item.type == "dir":
        return True
    is_safe = _SHELL_SAFE.fullmatch(item.value) is not None
    return is_safe and item.value.startswith(incomplete)


def _open_store(paths: AppPaths) -> CompletionReader:
    # Imported late because completing commands and options needs no store.
    from leslied.queries.completion import CompletionReader  # noqa: PLC0415

    return CompletionReader(paths.store_file)


def _list_ids(
    paths: AppPaths, incomplete: str, *, prefer_threads: bool
) -> Iterator[CompletionItem]:
    """Yield `last`, then the ids of the newest sessions or of their threads.

    Once a character is typed, yield the ids of both, because either may match. The
    caller drops the ids that do not match.
    """
    from leslied.queries.preview import make_preview_redact  # noqa: PLC0415

    with _open_store(paths) as store:
        sessions = store.list_sessions(incomplete, MAX_ITEMS)
    redact = make_preview_redact(paths.config_file)
    yield CompletionItem("last", help="the session that was active last")
    for session in sessions:
        first_line = redact(session.title).strip().split("\n")[0]
        title = sanitize(" ".join(first_line.split()))[:_MAX_TITLE_CHARS]
        if prefer_threads or incomplete:
            yield CompletionItem(session.thread_id, help=title or None)
        # A command would not find a session by a redacted id.
        is_shown = redact(session.session_id) == session.session_id
        if is_shown and (incomplete or not prefer_threads):
            yield CompletionItem(session.session_id, help=title or None)


@_completer
def complete_session(paths: AppPaths, incomplete: str) -> Iterator[CompletionItem]:
    """Complete session ids, newest first, and `last`."""
    return _list_ids(paths, incomplete, prefer_threads=False)


@_completer
def complete_thread(paths: AppPaths, incomplete: str) -> Iterator[CompletionItem]:
    """Complete thread ids, newest first, and `last`."""
    return _list_ids(paths, incomplete, prefer_threads=True)


@_completer
def complete_recipient(paths: AppPaths, _: str) -> Iterator[CompletionItem]:
    """Complete ids of threads that have messages in the inbox."""
    from leslied.hooks.inbox import list_threads  # noqa: PLC0415

    return map(CompletionItem, list_threads(str(paths.data_dir)))


@_completer
def complete_agent(paths: AppPaths, _: str) -> Iterator[CompletionItem]:
    """Complete names of agents that have sessions."""
    with _open_store(paths) as store:
        return map(CompletionItem, store.list_agents())


@_completer
def complete_project(paths: AppPaths, incomplete: str) -> Iterator[CompletionItem]:
    """Complete project names, last active first, or folders if a path is typed."""
    if "/" in incomplete or incomplete[:1] in (".", "~"):
        return iter([CompletionItem(incomplete, type="dir")])
    with _open_store(paths) as store:
        projects = store.list_projects()
    names = dict.fromkeys(project.rpartition("/")[2] for project in projects)
    matches = [name for name in names if name.startswith(incomplete)]
    return map(CompletionItem, matches[:MAX_ITEMS])


@_completer
def complete_tag(paths: AppPaths, _: str) -> Iterator[CompletionItem]:
    """Complete the tags that sessions have."""
    from leslied.queries.completion import list_tags  # noqa: PLC0415

    return map(CompletionItem, list_tags(paths.annotations_file))
