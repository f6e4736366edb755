"""The context that an agent gets about its thread."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from leslied.errors import LesliedError, UserError
from leslied.queries.threads.lookup import ThreadLocation, get_latest_thread, get_thread
from leslied.threads.context import ThreadContext, build_context
from leslied.threads.operations import CycleError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from leslied.queries.context import QueryContext


class LocatedContext(NamedTuple):
    """The context of a thread, and the folder that holds the thread."""

    context: ThreadContext
    base: Path

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, without the warnings."""
        context = self.context
        return {
            "thread_id": context.thread_id,
            "objective": context.objective,
            "base": str(self.base),
            "assets": _assets_to_dicts(context.assets),
            "refs": [
                {"thread": name, "assets": _assets_to_dicts(assets)}
                for name, assets in context.refs.items()
            ],
            "context": context.xml,
        }


def load_thread_context(
    context: QueryContext, id_prefix: str, refs: Sequence[str], folder: Path
) -> LocatedContext:
    """Return the context of a thread; `refs` are the ids of referenced threads.

    Without an id, use the thread last active in the project of `folder`. Raise
    LesliedError if the thread does not exist or a reference closes a cycle.
    """
    location = (
        get_thread(context, id_prefix, folder)
        if id_prefix
        else get_latest_thread(context, folder)
    )
    is_central = location.base.is_relative_to(context.paths.central_dir)
    try:
        thread_context = build_context(
            location.base,
            location.thread_id,
            extra_refs=[_locate_ref(context, ref, location) for ref in refs],
            prefix=f"{location.base}/" if is_central else "",
        )
    except CycleError as error:
        raise LesliedError(str(error), "Omit that --ref.") from error
    _redact(thread_context, context.redact_value)
    return LocatedContext(thread_context, Path(context.redact(str(location.base))))


def _redact(context: ThreadContext, redact_value: Callable[[Any], Any]) -> None:
    """Replace the secrets in all texts of a context."""
    for name in ThreadContext.__slots__:
        setattr(context, name, redact_value(getattr(context, name)))


def _locate_ref(
    context: QueryContext, ref: str, location: ThreadLocation
) -> ThreadLocation:
    """Return the location of a referenced thread.

    An unknown thread gets the folder of the referring thread, where
    `build_context` does not find it and warns.
    """
    try:
        return get_thread(context, ref, location.base)
    except UserError:
        return ThreadLocation(ref, location.base)


def _assets_to_dicts(assets: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"type": kind, "path": path} for kind, path in assets]
