"""Table of a session's units."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leslied.cli.render.output import format_table, format_time
from leslied.cli.render.session import has_conversation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leslied.model.session import Unit

_COLUMNS = ("N", "BEGAN", "TOOK", "TOOLS", "STOP", "CHAT", "PROMPT")


def render_unit_table(units: Sequence[Unit]) -> Iterator[str]:
    """Yield a table of the units, with the chat ids that `leslied show` accepts.

    Unit 0 is left out if it has no conversation.
    """
    yield ""
    rows = [
        (
            str(unit.number),
            # Without the year, which the header of the session shows.
            format_time(unit.started_at)[len("2026-") :] or "-",
            format_duration(unit),
            str(unit.tool_calls),
            "rewound" if unit.is_rewound else unit.stop_reason,
            unit.chat_id,
            " ".join(unit.prompt.split()) or "-",
        )
        for unit in units
        if unit.number or has_conversation(unit)
    ]
    if not rows:
        yield "The session is empty."
        return
    yield from format_table(
        _COLUMNS,
        rows,
        flexible="PROMPT",
        right_aligned=("N", "TOOLS", "TOOK"),
    )


def format_duration(unit: Unit) -> str:
    """Format the duration of a unit: `8 s`, `3 min`, `2 h 5 min`."""
    if unit.started_at is None or unit.ended_at is None:
        return "-"
    seconds = round((unit.ended_at - unit.started_at).total_seconds())
    if seconds < 60:
        return f"{max(seconds, 0)} s"
    hours, minutes = divmod(seconds // 60, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
