"""Output for scripts and people: JSON envelopes, CSV, tables."""

from __future__ import annotations

import json
import sys
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from leslied.app import get_app
from leslied.cli.render.widths import (
    measure_max_width,
    measure_width,
    truncate_to_width,
)
from leslied.control_characters import (
    escape_control_characters,
    replace_control_characters,
)
from leslied.errors import UserError
from leslied.paths import read_environ
from leslied.rendering.humanize import format_count

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from leslied.model.source import SourceProblem

_DEFAULT_WIDTH = 120
_MIN_STRETCH_WIDTH = 24
"""Columns are dropped before the flexible column gets narrower than this."""
_MIN_COLUMN_WIDTH = 8
_MIN_SHARED_WIDTH = 12
"""Without a flexible column, no column is cut to less than this."""
_MAX_WIDTH = 1000
_MAX_CELL_CHARS = 2000
"""Longer cells are cut before measuring, which is slow; no terminal shows more."""

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
csv_option = click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")


def check_format_options(options: Mapping[str, Any]) -> None:
    """Raise UserError if both --json and --csv are set."""
    if options["as_json"] and options["as_csv"]:
        raise UserError("--json cannot be combined with --csv.", "Choose one of them.")


def find_color_setting(environ: Mapping[str, str]) -> bool | None:
    """Return whether to use colours, or None to use them on terminals only."""
    if environ.get("NO_COLOR"):
        return False
    force_names = ("FORCE_COLOR", "CLICOLOR_FORCE")
    if any(environ.get(name, "0") not in ("", "0") for name in force_names):
        return True
    return False if environ.get("TERM") == "dumb" else None


def sanitize(text: str) -> str:
    """Replace control, bidirectional and invisible characters by visible names."""
    return replace_control_characters(text)


def emit(
    to_dict: Callable[[], Mapping[str, Any]],
    lines: Callable[[], Iterable[str]],
    *,
    as_json: bool,
    warnings: Sequence[str] = (),
) -> None:
    """Print an answer in a JSON envelope, or the lines and warnings as text.

    `to_dict` is the answer's method that returns its JSON form. The warnings may quote
    names of files; secrets in them are replaced.
    """
    if warnings:
        redact = get_app(click.get_current_context()).load_redact()
        warnings = [redact(warning) for warning in warnings]
    if as_json:
        _print_envelope(to_dict(), warnings, None)
        return
    for line in lines():
        click.echo(line)
    for warning in warnings:
        click.echo(click.style("warning: ", fg="yellow") + sanitize(warning), err=True)


def format_source_errors(problems: Iterable[SourceProblem]) -> list[str]:
    """Return a warning for each source that was not read.

    Logs that wait for the same reason share one line, because there may be hundreds of
    them; `leslied bundle` lists the path of each.
    """
    lines: list[str] = []
    paths_by_reason: dict[str, list[str]] = {}
    for problem in problems:
        if problem.is_waiting:
            paths_by_reason.setdefault(problem.reason, []).append(problem.path)
        else:
            lines.append(f"{problem.path}: {problem.reason}")
    for reason, (first, *others) in paths_by_reason.items():
        suffix = f" and {format_count(len(others), 'other log')}" if others else ""
        lines.append(f"{first}{suffix}: {reason}")
    return lines


def report_error(message: str, hint: str, code: int, *, as_json: bool) -> int:
    """Print an error with its hint, as text or JSON; return the exit code."""
    if as_json:
        error = {"message": message, "hint": hint or None, "exit_code": code}
        _print_envelope(None, (), error)
        return code
    color = find_color_setting(read_environ())
    text = click.style("leslied: ", fg="red") + sanitize(message)
    click.echo(text, err=True, color=color)
    if hint:
        click.echo(sanitize(hint), err=True)
    return code


def _print_envelope(
    data: Any, warnings: Sequence[str], error: dict[str, Any] | None
) -> None:
    envelope = {
        "success": error is None,
        "data": data,
        "warnings": list(warnings),
        "error": error,
    }
    text = _encode_json(envelope).decode("utf-8", "replace")
    # Escape characters that a terminal would interpret; the JSON value stays the
    # same.
    safe = escape_control_characters(text)
    sys.stdout.buffer.write(safe.encode("utf-8", "replace") + b"\n")
    sys.stdout.buffer.flush()


def _encode_json(value: Any) -> bytes:
    """Encode the value as JSON, indented if msgspec can encode it."""
    import msgspec  # noqa: PLC0415 - not every command prints JSON

    try:
        return msgspec.json.format(msgspec.json.encode(value, enc_hook=str))
    except (UnicodeEncodeError, RecursionError):
        # The value has a lone surrogate, or is nested too deeply for msgspec.
        text = json.dumps(value, ensure_ascii=False, default=str)
        return text.encode("utf-8", "replace")


def print_csv(headers: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print CSV; cells that look like a formula are made harmless."""
    from leslied.rendering.csv_text import format_csv  # noqa: PLC0415 - rarely needed

    for line in format_csv(headers, rows):
        sys.stdout.buffer.write(line.encode("utf-8", "replace"))
    sys.stdout.buffer.flush()


def format_table(
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    flexible: str | None,
    right_aligned: Collection[str] = (),
    droppable: Sequence[str] = (),
) -> Iterable[str]:
    """Yield the lines of a table that fits the terminal.

    Columns are named by their headers. If the terminal is too narrow, the `flexible`
    column is cut first, then `droppable` columns are left out, in this order. Without a
    flexible column, the widest columns are cut. Without a terminal, no column is left
    out.
    """
    cells = [
        [_flatten_cell(cell[:_MAX_CELL_CHARS]) for cell in row]
        for row in (headers, *rows)
    ]
    widths = [
        max(map(measure_max_width, column)) for column in zip(*cells, strict=True)
    ]
    right_indexes = {i for i, name in enumerate(headers) if name in right_aligned}
    droppable_indexes = [headers.index(name) for name in droppable if name in headers]
    if flexible is None:
        visible_indexes, widths = list(range(len(headers))), _shrink_columns(widths)
    else:
        visible_indexes = _fit_columns(
            widths, headers.index(flexible), droppable_indexes, right_indexes
        )
    for number, row in enumerate(cells):
        fitted_cells = [
            _fit_cell(row[i], widths[i], is_right_aligned=i in right_indexes)
            for i in visible_indexes
        ]
        line = "  ".join(fitted_cells).rstrip()
        yield click.style(line, dim=True) if number == 0 else line


def _flatten_cell(text: str) -> str:
    """Put the text on one line."""
    return sanitize(text).replace("\n", " ").replace("\t", " ")


def _fit_columns(
    widths: list[int],
    flexible_index: int,
    droppable_indexes: Sequence[int],
    right_indexes: set[int],
) -> list[int]:
    """Return the indexes of visible columns; shrink their `widths` in place."""
    visible_indexes = list(range(len(widths)))
    screen_width = find_screen_width()
    line_width = screen_width or _DEFAULT_WIDTH
    full_width = widths[flexible_index]

    def width_left() -> int:
        """Return the width that the other columns leave for the flexible column."""
        other_widths = (widths[i] + 2 for i in visible_indexes if i != flexible_index)
        return line_width - sum(other_widths)

    for index in droppable_indexes if screen_width else ():
        if width_left() >= min(full_width, _MIN_STRETCH_WIDTH):
            break
        visible_indexes.remove(index)
    widths[flexible_index] = min(full_width, max(width_left(), _MIN_COLUMN_WIDTH))
    if not screen_width:
        return visible_indexes
    # Text may be cut, but not numbers, nor the first column: people type its ids.
    text_indexes = [i for i in visible_indexes[1:] if i not in right_indexes]
    while text_indexes and width_left() < widths[flexible_index]:
        widest = max(text_indexes, key=widths.__getitem__)
        if widths[widest] <= _MIN_COLUMN_WIDTH:
            break
        widths[widest] -= 1
    return visible_indexes


def _shrink_columns(widths: list[int]) -> list[int]:
    """Return widths with one upper limit, chosen so that a line fits."""
    available = (find_screen_width() or _DEFAULT_WIDTH) - 2 * (len(widths) - 1)
    limit = max(widths)
    while (
        sum(min(width, limit) for width in widths) > available
        and limit > _MIN_SHARED_WIDTH
    ):
        limit -= 1
    return [min(width, limit) for width in widths]


def _fit_cell(text: str, width: int, *, is_right_aligned: bool) -> str:
    """Cut or pad the text to the width."""
    text = truncate_to_width(text, width)
    space = " " * (width - measure_width(text))
    return space + text if is_right_aligned else text + space


def has_room(columns: int) -> bool:
    """Return whether lines of this many columns fit the terminal."""
    return (find_screen_width() or _DEFAULT_WIDTH) >= columns


def find_screen_width() -> int | None:
    """Return the width that COLUMNS or the terminal sets; None if there is neither."""
    if sys.stdout.isatty() or read_environ().get("COLUMNS"):
        from shutil import get_terminal_size  # noqa: PLC0415 - slow to load

        return min(get_terminal_size().columns, _MAX_WIDTH)
    return None


def parse_time(text: str | None) -> datetime | None:
    """Parse a time of the JSON output; return None for None and ""."""
    return datetime.fromisoformat(text) if text else None


def format_time(time: datetime | None) -> str:
    """Format a time in the local zone, to the minute; `-` for None."""
    return time.astimezone().strftime("%Y-%m-%d %H:%M") if time else "-"
