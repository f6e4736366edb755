"""Numbers, sizes, costs, ages and paths as short texts for people."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from leslied.model.session import SummarizedSession
    from leslied.model.stats import Cost

_COMMON_MODEL_FAMILY = "claude-"
"""Start of most model names; tables omit it."""


def format_ago(time: datetime | None, now: datetime) -> str:
    """Format how long ago the time is, as in `3 h ago`; `never` for None."""
    if time is None:
        return "never"
    seconds = max(int((now - time.astimezone(UTC)).total_seconds()), 0)
    for size, name in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {name} ago"
    return f"{seconds} s ago"


def format_number(number: int) -> str:
    """Format a count: 950, 12k, 3.4M."""
    if number < 10_000:
        return str(number)
    if number < 1_000_000:
        return f"{number // 1000}k"
    return f"{number / 1_000_000:.1f}M"


def format_cost(cost: Cost) -> str:
    """Format dollars; `+` marks an incomplete sum, `-` means that no price is known."""
    if cost.usd is None:
        return "-"
    mark = "+" if cost.unpriced else ""
    return f"${cost.usd:,.2f}{mark}" if cost.usd >= 0.005 else f"<$0.01{mark}"


def format_bytes(size: int) -> str:
    """Format a size: 512 B, 1.5 MB."""
    for limit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "KB")):
        if size >= limit:
            return f"{size / limit:.1f} {name}"
    return f"{size} B"


def format_path(path: str, home: str) -> str:
    """Abbreviate the home folder to `~`."""
    if home and (path == home or path.startswith(home + "/")):
        return "~" + path[len(home) :]
    return path


def format_count(number: int, noun: str) -> str:
    """Format a number with its noun: `1 unit`, `2 units`."""
    return f"{format_number(number)} {noun}{'' if number == 1 else 's'}"


def shorten_model(model: str) -> str:
    """Return the model's name without provider, model family and date."""
    name = model.rpartition("/")[2].removeprefix(_COMMON_MODEL_FAMILY)
    head, _, tail = name.rpartition("-")
    return head if len(tail) == 8 and tail.isdigit() else name


def format_status(session: SummarizedSession) -> str:
    """Return `waits: ` and what an agent waits for during a turn, else the status."""
    from leslied.model.session import find_waiting_for  # noqa: PLC0415 - slow to load

    waiting_for = find_waiting_for(session)
    if waiting_for in (None, "prompt"):
        return session.status
    return f"waits: {waiting_for}"
