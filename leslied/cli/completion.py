"""What a shell may offer after Tab: ids, agents and projects.

Whatever goes wrong, nothing is offered and nothing is said: a person is typing.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING

from click.shell_completion import CompletionItem

from leslied.cli.output import sanitize
from leslied.paths import get_paths, read_environ

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import click

    from leslied.paths import AppPaths
    from leslied.store.completion_queries import CompletionReader

    Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]

MAX_ITEMS = 50
_SHELL_SAFE = re.compile(r"[\w.][\w.@+-]*", re.ASCII)
"""A word that no shell reads anything into: ids come from logs, and get typed."""
_MAX_TITLE_CHARS = 70


def _completer(
    list_items: Callable[[AppPaths, str], Iterator[CompletionItem]],
) -> Completer:
    """The completer that offers what is told, or nothing at all."""

    def complete(
        ctx: click.Context, _param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        found: list[CompletionItem] = []
        with suppress(Exception):
            config = ctx.find_root().params.get("config")
            told = list_items(get_paths(read_environ(), config), incomplete)
            found = [item for item in told if _is_safe_match(item, incomplete)]
        return found

    return complete


def _is_safe_match(item: CompletionItem, incomplete: str) -> bool:
    is_plain = item.value.startswith(incomplete) and _SHELL_SAFE.fullmatch(item.value)
    return item.type == "dir" or bool(is_plain)


def _open_names(paths: AppPaths) -> CompletionReader:
    from leslied.store.completion_queries import CompletionReader  # noqa: PLC0415 - most words need no store

    return CompletionReader(paths.store_file)


def _list_ids(
    paths: AppPaths, incomplete: str, *, prefer_threads: bool
) -> Iterator[CompletionItem]:
    """The newest ids of one kind, and of the other once it is begun."""
    from leslied.redact import Redactor  # noqa: PLC0415 - as above

    with _open_names(paths) as names:
        found = names.list_sessions(incomplete, MAX_ITEMS)
    # A key of the moment: a look must not make the one in the data folder.
    redact = Redactor(os.urandom(32)).redact
    yield CompletionItem("last", help="the newest session")
    for each in found:
        first = redact(each.title).strip().split("\n")[0]
        title = sanitize(" ".join(first.split()))[:_MAX_TITLE_CHARS]
        if prefer_threads or incomplete:
            yield CompletionItem(each.thread_id, help=title or None)
        if incomplete or not prefer_threads:
            yield CompletionItem(each.session_id, help=title or None)


@_completer
def complete_session(paths: AppPaths, incomplete: str) -> Iterator[CompletionItem]:
    """The ids of sessions, newest first, and `last`."""
    return _list_ids(paths, incomplete, prefer_threads=False)


@_completer
def complete_thread(paths: AppPaths, incomplete: str) -> Iterator[CompletionItem]:
    """The ids of threads, newest first, and `last`."""
    return _list_ids(paths, incomplete, prefer_threads=True)


@_completer
def complete_recipient(paths: AppPaths, _: str) -> Iterator[CompletionItem]:
    """The threads that were ever sent a message."""
    from leslied.hooks.inbox import list_threads  # noqa: PLC0415

    return map(CompletionItem, list_threads(str(paths.data_dir)))


@_completer
def complete_agent(paths: AppPaths, _: str) -> Iterator[CompletionItem]:
    """The agents that have sessions."""
    with _open_names(paths) as names:
        return map(CompletionItem, names.list_agents())


@_completer
def complete_project(paths: AppPaths, incomplete: str) -> Iterator[CompletionItem]:
    """The names of projects, last active first; folders, once a path is begun."""
    if "/" in incomplete or incomplete[:1] in (".", "~"):
        return iter([CompletionItem(incomplete, type="dir")])
    with _open_names(paths) as names:
        found = dict.fromkeys(cwd.rpartition("/")[2] for cwd in names.list_folders())
    return map(CompletionItem, list(found)[:MAX_ITEMS])
