"""`<thread_context>`: what an agent is told of its thread.

Paths, never contents: the agent reads what it needs. The same files give the same
bytes. Imports are few, because the hook program starts with this.
"""

from __future__ import annotations

import os

from leslied.threads.layout import (
    ASSET_PATHS,
    INHERITED_FOLDER,
    RELATIONS_FILE,
    THREADS_FOLDER,
    is_thread_id,
)
from leslied.threads.operations import (
    CycleError,
    find_bindings,
    is_reachable,
    make_objective,
)
from leslied.threads.relations import read_relations

TYPE_CHECKING = False  # the module of that name costs a hook milliseconds
if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from leslied.threads.operations import RelationsData

    Assets = list[tuple[str, str]]
    """Type and path of each asset."""

_ESCAPES = {
    ord("&"): "&amp;",
    ord("<"): "&lt;",
    ord(">"): "&gt;",
    ord('"'): "&quot;",
    ord("'"): "&apos;",
}
_ESCAPES |= {code: f"&#{code};" for code in (*range(32), 127)}


class ThreadContext:
    """A thread's context, its parts, and what was wrong with its references."""

    __slots__ = ("assets", "objective", "refs", "thread_id", "warnings", "xml")

    def __init__(self, thread_id: str, objective: str) -> None:
        self.thread_id = thread_id
        self.objective = objective
        self.assets: Assets = []
        self.refs: dict[str, Assets] = {}
        self.warnings: list[str] = []
        self.xml = ""


def build_context(
    base: Path | str,
    thread_id: str,
    *,
    extra_refs: Iterable[tuple[str, Path]] = (),
    prefix: str = "",
) -> ThreadContext:
    """The context of a thread whose `.leslie` stands in `base`.

    `more_refs` are threads referenced for this once, each with the folder that holds
    its `.leslie`. `prefix` goes before every path: an agent that works elsewhere needs
    whole ones. A reference that would close a circle is refused (`T201`); one to a
    thread that is not there is left out, with a warning (`W202`). A name that cannot
    be a thread's has no context at all.
    """
    if not is_thread_id(thread_id):
        return ThreadContext(thread_id, "")
    data = read_relations(base)
    known = data["threads"].get(thread_id, {})
    context = ThreadContext(
        thread_id, known.get("objective") or make_objective(thread_id)
    )
    context.assets = _list_assets(base, f"{THREADS_FOLDER}/{thread_id}", prefix)
    _add_refs(context, data, base, prefix)
    for target, place in extra_refs:
        if target == thread_id or (
            place == base and is_reachable(data, target, thread_id)
        ):
            raise CycleError(
                f"T201: {target} already leads to {thread_id}; "
                "the reference would close a circle."
            )
        there = prefix if place == base else f"{place}/"
        found = _list_assets(place, f"{THREADS_FOLDER}/{target}", there)
        threads = data if place == base else read_relations(place)
        _add_ref(context, target, found, is_there=_is_thread(threads, place, target))
    context.xml = _render(context, prefix)
    return context


def render_context(base: Path | str, thread_id: str) -> str:
    """The element alone, for those who inject it."""
    return build_context(base, thread_id).xml


def _add_refs(
    context: ThreadContext, data: RelationsData, base: Path | str, prefix: str
) -> None:
    """The references that the file knows; a frozen one is its copy."""
    thread_id = context.thread_id
    bindings = find_bindings(data, thread_id)
    for target in data["relations"].get(thread_id, {}).get("references_to", []):
        if is_reachable(data, target, thread_id):
            context.warnings.append(
                f"T201: {thread_id} and {target} reference each other."
            )
        copy = f"{THREADS_FOLDER}/{thread_id}/{INHERITED_FOLDER}/{target}"
        is_frozen = (
            is_thread_id(target)
            and bindings.get(target) != "live"
            and os.path.isdir(f"{base}/{copy}")
        )
        place = copy if is_frozen else f"{THREADS_FOLDER}/{target}"
        is_there = is_frozen or _is_thread(data, base, target)
        found = _list_assets(base, place, prefix) if is_there else []
        _add_ref(context, target, found, is_there=is_there)


def _add_ref(
    context: ThreadContext, target: str, found: Assets, *, is_there: bool
) -> None:
    if not is_there:
        context.warnings.append(f"W202: Referenced thread '{target}' not found")
    else:
        context.refs.setdefault(target, found)


def _is_thread(data: RelationsData, base: Path | str, thread_id: str) -> bool:
    """Whether there is such a thread: by the file, or by its folder."""
    if not is_thread_id(thread_id):
        return False
    return thread_id in data["threads"] or os.path.isdir(
        f"{base}/{THREADS_FOLDER}/{thread_id}"
    )


def _list_assets(base: Path | str, place: str, prefix: str) -> Assets:
    return [
        (kind, f"{prefix}{place}/{path}")
        for kind, path in ASSET_PATHS
        if os.path.exists(f"{base}/{place}/{path}")
    ]


def _render(context: ThreadContext, prefix: str) -> str:
    """The element, letter by letter as Leslie writes it."""
    own = "\n".join(_render_asset(each, "  ") for each in context.assets)
    refs = "".join(
        f'\n  <ref thread="{_escape(target)}">\n'
        + "\n".join(_render_asset(each, "    ") for each in assets)
        + "\n  </ref>"
        for target, assets in context.refs.items()
    )
    return (
        f'<thread_context thread="{_escape(context.thread_id)}" '
        f'objective="{_escape(context.objective)}" '
        f'relations_file="{_escape(prefix + RELATIONS_FILE)}">\n'
        f"{own}{refs}\n</thread_context>"
    )


def _render_asset(asset: tuple[str, str], indent: str) -> str:
    kind, path = asset
    return f'{indent}<asset type="{kind}" path="{_escape(path)}" />'


def _escape(text: str) -> str:
    """Nothing in the text can end the attribute or the line."""
    return text.translate(_ESCAPES)
