"""`leslied statusline`: a status line for Claude Code."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from leslied.cli.help import LesliedCommand
from leslied.control_characters import format_one_line
from leslied.model.stats import PICO, Cost
from leslied.rendering.humanize import format_cost, format_number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.model.stats import UsageSummary

_MAX_INPUT_BYTES = 1_000_000


@click.command(
    cls=LesliedCommand,
    examples=[
        ("leslied statusline < session.json", "print the line for this session"),
    ],
    see_also=["stats"],
)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Print one line: model, today's cost, cost of the session, context in use.

    Claude Code passes the session as JSON on standard input. The command never fails;
    values that are not available are left out. To enable it, add this to
    ~/.claude/settings.json:

    "statusLine": {"type": "command", "command": "leslied statusline"}
    """
    payload = _read_payload()
    today, session = _load_totals(ctx, _get_text(payload, "session_id"))
    parts = _iter_parts(payload, today, session)
    click.echo(format_one_line(" · ".join(parts)) or "leslied")


def _read_payload() -> dict[str, Any]:
    with suppress(Exception):
        if not sys.stdin.isatty():
            payload = json.loads(sys.stdin.buffer.read(_MAX_INPUT_BYTES))
            return payload if isinstance(payload, dict) else {}
    return {}


def _load_totals(
    ctx: click.Context, session_id: str
) -> tuple[UsageSummary | None, UsageSummary | None]:
    """Return the usage of today and of the session; None if not available."""
    today: UsageSummary | None = None
    session: UsageSummary | None = None
    with suppress(Exception):
        from leslied.app import get_app  # noqa: PLC0415 - suppress import errors too
        from leslied.queries.time_args import parse_time_arg  # noqa: PLC0415
        from leslied.queries.usage.stats import load_totals  # noqa: PLC0415

        app = get_app(ctx)
        since = parse_time_arg("today", app.clock.now(), None)
        with app.open_queries() as queries:
            today, session = load_totals(queries, since, session_id)
    return today, session


def _iter_parts(
    payload: dict[str, Any], today: UsageSummary | None, session: UsageSummary | None
) -> Iterator[str]:
    model = payload.get("model")
    name = _get_text(model, "display_name") or _get_text(model, "id")
    if name:
        yield name[:40]
    if today and today.cost.priced:
        yield f"{format_cost(today.cost)} today"
    tokens = session.tokens if session else 0
    cost = _get_session_cost(payload, session)
    if tokens or cost.priced:
        amounts = [f"{format_number(tokens)} tokens"] if tokens else []
        amounts += [format_cost(cost)] if cost.priced else []
        yield f"session {', '.join(amounts)}"
    percent = _compute_context_percent(payload.get("context_window"))
    if percent is not None:
        yield f"context {percent:.0f}%"


def _get_session_cost(payload: dict[str, Any], session: UsageSummary | None) -> Cost:
    """Return Claude Code's own cost, which is up to date, else the store's."""
    usd = _get_number(payload.get("cost"), "total_cost_usd")
    if usd is not None:
        return Cost(round(usd * PICO), priced=1)
    return session.cost if session else Cost()


def _compute_context_percent(window: object) -> float | None:
    percent = _get_number(window, "used_percentage")
    if percent is not None or not isinstance(window, dict):
        return percent
    size = _get_number(window, "context_window_size")
    usage = window.get("current_usage")
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    counts = [_get_number(usage, name) or 0 for name in names]
    return 100 * sum(counts) / size if size and any(counts) else None


def _get_text(payload: object, name: str) -> str:
    value = payload.get(name) if isinstance(payload, dict) else None
    return value if isinstance(value, str) else ""


def _get_number(payload: object, name: str) -> float | None:
    value = payload.get(name) if isinstance(payload, dict) else None
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value < 1e12 else None  # type: ignore[arg-type, operator]
