"""Lines about formats that moved: kinds of entries that no decoder knows."""

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
    by_version = sorted(kinds, key=lambda k: (k.agent, k.version, -k.entries, k.kind))
    for (agent, version), group in groupby(
        by_version, key=lambda kind: (kind.agent, kind.version)
    ):
        listed = list(group)
        count = sum(kind.entries for kind in listed)
        entries = "1 entry" if count == 1 else f"{count} entries"
        names = ", ".join(kind.kind for kind in listed[:limit])
        more = f" and {len(listed) - limit} more" if len(listed) > limit else ""
        name = f"{agent} {version}".rstrip()
        yield sanitize(
            f"{name}: {entries} of {format_count(len(listed), 'unknown kind')}, "
            f"kept as written: {names}{more}"
        )
