"""`<thread_context>`: the description of a thread that agents receive.

The context contains paths, never contents: the agent reads the files that it needs. The
same files give the same bytes. Hooks load this module, so it imports little.
"""

from __future__ import annotations

import os

from leslied.layout import (
    ASSET_PATHS,
    INHERITED_FOLDER,
    RELATIONS_FILE,
    is_thread_id,
    thread_folder,
)
from leslied.model.quotation import show_hidden_characters
from leslied.threads.operations import (
    CycleError,
    find_bindings,
    is_reachable,
    make_objective_id,
)
from leslied.threads.relations import read_relations

TYPE_CHECKING = False  # Importing it from `typing` would cost a hook milliseconds.
if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from leslied.threads.operations import RelationsData

    Assets = list[tuple[str, str]]
    """List of pairs of asset type and path."""

_ESCAPES = {
    ord("&"): "&amp;",
    ord("<"): "&lt;",
    ord(">"): "&gt;",
    ord('"'): "&quot;",
    ord("'"): "&apos;",
    ord("\t"): "&#9;",
    ord("\n"): "&#10;",
}
_MAX_OBJECTIVE_CHARACTERS = 200
"""A relations file may come from anybody, and its objectives go to the agent."""


class ThreadContext:
    """A thread's context, its parts, and warnings about its references."""

    __slots__ = ("assets", "objective", "refs", "thread_id", "warnings", "xml")

    def __init__(self, thread_id: str, objective: str) -> None:
        self.thread_id = thread_id
        self.objective = objective
        self.assets: Assets = []
        self.refs: dict[str, Assets] = {}
        """Assets of each referenced thread, by thread id."""
        self.warnings: list[str] = []
        self.xml = ""


def build_context(
    base: Path | str,
    thread_id: str,
    *,
    extra_refs: Iterable[tuple[str, Path]] = (),
    prefix: str = "",
) -> ThreadContext:
    """Build the context of a thread; `base` is the folder that holds `.leslie`.

    `extra_refs` are additional references for this context only, each with the folder
    that holds its `.leslie`. `prefix` is put before every path, for an agent that works
    in another folder. Raise CycleError (`T201`) if an extra reference would close a
    cycle. A reference to a thread that does not exist is omitted, with a warning
    (`W202`). The context of an invalid thread id is empty.
    """
    if not is_thread_id(thread_id):
        return ThreadContext(thread_id, "")
    data = read_relations(base)
    thread = data["threads"].get(thread_id, {})
    context = ThreadContext(
        thread_id, thread.get("objective") or make_objective_id(thread_id)
    )
    context.assets = _list_assets(base, thread_folder(thread_id), prefix)
    _add_refs(context, data, base, prefix)
    for target, target_base in extra_refs:
        if target == thread_id or (
            target_base == base and is_reachable(data, target, thread_id)
        ):
            raise CycleError(
                f"T201: {target} already leads to {thread_id}; "
                "the reference would close a cycle."
            )
        path_prefix = prefix if target_base == base else f"{target_base}/"
        assets = _list_assets(target_base, thread_folder(target), path_prefix)
        target_data = data if target_base == base else read_relations(target_base)
        exists = _thread_exists(target_data, target_base, target)
        _add_ref(context, target, assets, exists=exists)
    context.xml = _render(context, prefix)
    return context


def render_context(base: Path | str, thread_id: str) -> str:
    """Return the XML element of the thread's context; empty for an invalid id."""
    return build_context(base, thread_id).xml


def _add_refs(
    context: ThreadContext, data: RelationsData, base: Path | str, prefix: str
) -> None:
    """Add the thread's references from the relations file to the context.

    For a frozen reference, list the assets of the copy, if there is one.
    """
    thread_id = context.thread_id
    bindings = find_bindings(data, thread_id)
    for target in data["relations"].get(thread_id, {}).get("references_to", []):
        if is_reachable(data, target, thread_id):
            context.warnings.append(
                f"T201: {thread_id} and {target} reference each other."
            )
        copy_folder = f"{thread_folder(thread_id)}/{INHERITED_FOLDER}/{target}"
        is_frozen = (
            is_thread_id(target)
            and bindings.get(target) != "live"
            and os.path.isdir(f"{base}/{copy_folder}")
        )
        folder = copy_folder if is_frozen else thread_folder(target)
        exists = is_frozen or _thread_exists(data, base, target)
        assets = _list_assets(base, folder, prefix) if exists else []
        _add_ref(context, target, assets, exists=exists)


def _add_ref(
    context: ThreadContext, target: str, assets: Assets, *, exists: bool
) -> None:
    """Add the reference, or a warning if its target does not exist."""
    if not exists:
        context.warnings.append(f"W202: Referenced thread '{target}' not found")
    else:
        context.refs.setdefault(target, assets)


def _thread_exists(data: RelationsData, base: Path | str, thread_id: str) -> bool:
    """Return whether the thread is in the relations file or has a folder."""
    if not is_thread_id(thread_id):
        return False
    return thread_id in data["threads"] or os.path.isdir(
        f"{base}/{thread_folder(thread_id)}"
    )


def _list_assets(base: Path | str, folder: str, prefix: str) -> Assets:
    """Return the assets in a folder below `base`, their paths with the prefix."""
    return [
        (asset_type, f"{prefix}{folder}/{path}")
        for asset_type, path in ASSET_PATHS
        if os.path.exists(f"{base}/{folder}/{path}")
    ]


def _render(context: ThreadContext, prefix: str) -> str:
    """Render the element, byte for byte as Leslie does."""
    asset_lines = "\n".join(_render_asset(asset, "  ") for asset in context.assets)
    refs = "".join(
        f'\n  <ref thread="{_escape(target)}">\n'
        + "\n".join(_render_asset(asset, "    ") for asset in assets)
        + "\n  </ref>"
        for target, assets in context.refs.items()
    )
    return (
        f'<thread_context thread="{_escape(context.thread_id)}" '
        f'objective="{_escape(_shorten(context.objective))}" '
        f'relations_file="{_escape(prefix + RELATIONS_FILE)}">\n'
        f"{asset_lines}{refs}\n</thread_context>"
    )


def _render_asset(asset: tuple[str, str], indent: str) -> str:
    asset_type, path = asset
    return f'{indent}<asset type="{asset_type}" path="{_escape(path)}" />'


def _shorten(text: str) -> str:
    is_short = len(text) <= _MAX_OBJECTIVE_CHARACTERS
    return text if is_short else text[: _MAX_OBJECTIVE_CHARACTERS - 1] + "…"


def _escape(text: str) -> str:
    """Escape the text for an XML attribute, and make hidden characters visible."""
    return show_hidden_characters(text).translate(_ESCAPES)
