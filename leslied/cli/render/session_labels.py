"""Labels and colours of the sessions in `leslied follow`."""

from __future__ import annotations

from typing import TYPE_CHECKING
from zlib import crc32

from leslied.cli.render.output import sanitize
from leslied.cli.render.widths import pad_to_width
from leslied.queries.short_ids import shorten_ids

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from leslied.model.record import SessionKey
    from leslied.model.session import SessionSummary

LABEL_WIDTH = 24
_COLORS = ("cyan", "magenta", "green", "blue")
"""Colours readable on light and dark terminals; red is for errors."""
_SUBAGENT_MARK = "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}"


class SessionLabels:
    """Labels that start each line of `leslied follow` and name its session."""

    def __init__(self, list_similar_ids: Callable[[list[str]], Iterable[str]]) -> None:
        self._list_similar_ids = list_similar_ids
        self._short_ids: dict[str, str] = {}

    def format_label(self, key: SessionKey, summary: SessionSummary | None) -> str:
        """Format id and folder of a session, or parent id and task of a subagent."""
        short_id = self._shorten_id(key.session_id)
        if summary is None or not summary.is_subagent:
            folder = summary.project.rstrip("/").rpartition("/")[2] if summary else ""
            return _fit_label(f"{short_id} {folder or key.agent}")
        # The type alone is ambiguous: several subagents of one type may run at once.
        name = summary.description or summary.agent_type
        name = name or self._shorten_id(summary.subagent_id)
        return _fit_label(f"{short_id} {_SUBAGENT_MARK} {name}")

    def _shorten_id(self, full_id: str) -> str:
        """Return a prefix that no other id has; later calls return the same one."""
        if full_id not in self._short_ids:
            other_ids = [*self._short_ids, *self._list_similar_ids([full_id])]
            self._short_ids |= shorten_ids([full_id], other_ids)
        return self._short_ids[full_id]


def pick_color(session_id: str) -> str:
    """Return a colour that is always the same for this session."""
    return _COLORS[crc32(session_id.encode(errors="replace")) % len(_COLORS)]


def _fit_label(label: str) -> str:
    """Return the label on one line, cut or padded to LABEL_WIDTH."""
    return pad_to_width(sanitize(" ".join(label.split())), LABEL_WIDTH)
