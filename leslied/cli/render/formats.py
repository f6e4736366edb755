"""Lines about log formats that changed: kinds of entries that no decoder knows."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from leslied.cli.render.output import sanitize
from leslied.rendering.humanize import format_count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from leslied.model.unknown_kind import UnknownKind


def format_unknown_kinds(kinds: Iterable[UnknownKind], limit: int) -> Iterator[str]:
    """Yield a line for each version of an agent that wrote unknown kinds.

    A line names at most `limit` kinds.
    """
    sorted_kinds = sorted(kinds, key=lambda k: (k.agent, k.version, -k.entries, k.kind))
    for (agent, version), group in groupby(
        sorted_kinds, key=lambda kind: (kind.agent, kind.version)
    ):
        version_kinds = list(group)
        kind_count = len(version_kinds)
        entry_count = sum(kind.entries for kind in version_kinds)
        entries = "1 entry" if entry_count == 1 else f"{entry_count} entries"
        names = ", ".join(kind.kind for kind in version_kinds[:limit])
        more = f" and {kind_count - limit} more" if kind_count > limit else ""
        name = f"{agent} {version}".rstrip()
        yield sanitize(
            f"{name}: {entries} of {format_count(kind_count, 'unknown kind')}, "
            f"kept as written: {names}{more}"
        )
