"""A short name for every session that is followed, and a colour that stays its own."""

from __future__ import annotations

from typing import TYPE_CHECKING
from zlib import crc32

from leslied.cli.output import clean, shorten_ids

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from leslied.model.record import SessionKey
    from leslied.model.session import SessionSummary

WIDTH = 24
_COLOURS = ("cyan", "magenta", "green", "blue")
"""Those that can be read on light and on dark; red is for errors."""


_UNDER = "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}"


class Labels:
    """What stands before every line."""

    def __init__(self, find_like: Callable[[list[str]], Iterable[str]]) -> None:
        self._find_like = find_like
        self._shorts: dict[str, str] = {}

    def name(self, key: SessionKey, summary: SessionSummary | None) -> str:
        """Its id and folder, or for a subagent its parent's id and what it does."""
        short = self._shorten(key.session_id)
        if summary is None or not summary.is_subagent:
            folder = summary.cwd.rstrip("/").rpartition("/")[2] if summary else ""
            return _fill(f"{short} {folder or key.agent}")
        # Several of one type may work side by side.
        told = summary.description or summary.agent_type
        told = told or self._shorten(summary.subagent_id)
        return _fill(f"{short} {_UNDER} {told}")

    def _shorten(self, name: str) -> str:
        """A beginning that nothing before it has: a name never changes."""
        if name not in self._shorts:
            others = [*self._shorts, *self._find_like([name])]
            self._shorts |= shorten_ids([name], others)
        return self._shorts[name]


def find_colour(session_id: str) -> str:
    """The same for this session, today and tomorrow."""
    return _COLOURS[crc32(session_id.encode(errors="replace")) % len(_COLOURS)]


def _fill(label: str) -> str:
    from rich.cells import cell_len, set_cell_size  # noqa: PLC0415

    line = clean(" ".join(label.split()))
    if cell_len(line) > WIDTH:
        return set_cell_size(line, WIDTH - 1) + "…"
    return set_cell_size(line, WIDTH)
