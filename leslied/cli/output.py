"""What reaches the terminal: envelopes for scripts, tables for people."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from bisect import bisect_left
from datetime import UTC, datetime
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import click

from leslied.errors import UserError
from leslied.model.source import WAITING
from leslied.paths import read_environ

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from leslied.model.stats import Cost

_CONTROL_CHARS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028\u2029"
    "\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
_EMOJI_MODIFIERS = re.compile(
    "[\ufe0e\ufe0f\U0001f3fb-\U0001f3ff]|\u200d[\u2190-\u2bff\U0001f000-\U0001faff]"
)
"""What turns one emoji into another; some terminals draw both, side by side."""
_DEFAULT_WIDTH = 120
_MIN_ID_CHARS = 8
_MIN_STRETCH_WIDTH = 24
"""With less than this for its longest text, a table rather leaves columns out."""
_MIN_COLUMN_WIDTH = 8
_MIN_SHARED_WIDTH = 12
_MAX_WIDTH = 1000
_MAX_CELL_CHARS = 2000
"""No terminal shows more of a cell, and laying it out takes its time."""
_FORMULA_PREFIXES = ("=", "+", "-", "@", "\t", "\r")

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
csv_option = click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")


def check_format_options(options: Mapping[str, Any]) -> None:
    """Whoever asks for JSON and CSV at once is asked which."""
    if options["as_json"] and options["as_csv"]:
        raise UserError("--json and --csv exclude each other.", "Choose one of them.")


def find_color_setting(environ: Mapping[str, str]) -> bool | None:
    """Whether colours are wanted; None where being a terminal decides."""
    if environ.get("NO_COLOR"):
        return False
    forces = ("FORCE_COLOR", "CLICOLOR_FORCE")
    if any(environ.get(name, "0") not in ("", "0") for name in forces):
        return True
    return False if environ.get("TERM") == "dumb" else None


def sanitize(text: str) -> str:
    """The text with every control and direction mark made visible."""
    return _CONTROL_CHARS.sub(_escape_char, text) if not text.isprintable() else text


def _escape_char(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"<U+{code:04X}>"


def emit(
    data: Any,
    lines: Callable[[], Iterable[str]],
    *,
    as_json: bool,
    warnings: Sequence[str] = (),
) -> None:
    """The answer: an envelope for scripts, or lines for a person."""
    if as_json:
        _print_envelope(data, warnings, None)
        return
    for line in lines():
        click.echo(line)
    for warning in warnings:
        click.echo(click.style("warning: ", fg="yellow") + sanitize(warning), err=True)


def format_troubles(troubles: Iterable[tuple[object, str]]) -> list[str]:
    """Return a line for each unreadable log, and one for all that wait for one reason.

    Hundreds of old logs may wait; `leslied bundle` has the path of each.
    """
    lines: list[str] = []
    waiting: dict[str, list[object]] = {}
    for path, reason in troubles:
        if reason.startswith(WAITING):
            waiting.setdefault(reason, []).append(path)
        else:
            lines.append(f"{path}: {reason}")
    for reason, (first, *others) in waiting.items():
        more = f" and {format_count(len(others), 'other log')}" if others else ""
        lines.append(f"{first}{more}: {reason}")
    return lines


def report_error(message: str, hint: str, code: int, *, as_json: bool) -> int:
    """One sentence and what to do next, or the same as an envelope."""
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
    # The same JSON, in which nothing speaks to a terminal.
    safe = _CONTROL_CHARS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    sys.stdout.buffer.write(safe.encode("utf-8", "replace") + b"\n")
    sys.stdout.buffer.flush()


def _encode_json(value: Any) -> bytes:
    """The value as JSON that people can read, too."""
    import msgspec  # noqa: PLC0415 - not every command prints JSON

    try:
        return msgspec.json.format(msgspec.json.encode(value, enc_hook=str))
    except (UnicodeEncodeError, RecursionError):
        # A lone surrogate, or nested deeper than can be laid out.
        text = json.dumps(value, ensure_ascii=False, default=str)
        return text.encode("utf-8", "replace")


def print_csv(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """The rows for a spreadsheet, which takes none of them for a formula."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(map(_csv_cell, names))
    for row in rows:
        writer.writerow(map(_csv_cell, row))
        sys.stdout.buffer.write(out.getvalue().encode("utf-8", "replace"))
        out.seek(0)
        out.truncate()
    sys.stdout.buffer.write(out.getvalue().encode("utf-8", "replace"))
    sys.stdout.buffer.flush()


def _csv_cell(value: Any) -> Any:
    if isinstance(value, list):
        value = " ".join(value)
    if isinstance(value, str):
        value = sanitize(value)
        return "'" + value if value.startswith(_FORMULA_PREFIXES) else value
    return value


def format_table(
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    stretch: int | None,
    right_aligned: str = "",
    droppable: Sequence[str] = (),
) -> Iterable[str]:
    """Aligned columns, no wider than the terminal.

    Columns whose name is in `right` are set to the right. Where room is short, the
    `stretch` column gives way, then the columns of `least` go, the first one first;
    without a `stretch` column the widest give way together.
    """
    from rich.cells import cell_len  # noqa: PLC0415

    cells = [
        [_flatten_cell(cell[:_MAX_CELL_CHARS]) for cell in row]
        for row in (headers, *rows)
    ]
    widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
    numbers = {at for at, name in enumerate(headers) if name in right_aligned.split()}
    spare = [headers.index(name) for name in droppable if name in headers]
    if stretch is None:
        kept, widths = list(range(len(headers))), _shrink_columns(widths)
    else:
        kept = _fit_columns(widths, stretch, spare, numbers)
    for number, row in enumerate(cells):
        fitted = [_pad_cell(row[at], widths[at], is_right=at in numbers) for at in kept]
        line = "  ".join(fitted).rstrip()
        yield click.style(line, dim=True) if number == 0 else line


def _flatten_cell(text: str) -> str:
    """The text in one line of characters that every terminal draws equally wide."""
    return _EMOJI_MODIFIERS.sub(
        "", sanitize(text).replace("\n", " ").replace("\t", " ")
    )


def _fit_columns(
    widths: list[int], stretch: int, droppable: Sequence[int], numbers: set[int]
) -> list[int]:
    """The columns that are shown; `widths` is what each of them gets."""
    kept = list(range(len(widths)))
    columns = _find_screen_width()
    wanted, width = widths[stretch], columns or _DEFAULT_WIDTH

    def room() -> int:
        return width - sum(widths[at] + 2 for at in kept if at != stretch)

    for at in droppable if columns else ():
        if room() >= min(wanted, _MIN_STRETCH_WIDTH):
            break
        kept.remove(at)
    widths[stretch] = min(wanted, max(room(), _MIN_COLUMN_WIDTH))
    # Words may be cut; never a number, nor the first column, which is to be typed.
    words = [at for at in kept[1:] if at not in numbers] if columns else []
    while words and room() < widths[stretch]:
        widest = max(words, key=widths.__getitem__)
        if widths[widest] <= _MIN_COLUMN_WIDTH:
            break
        widths[widest] -= 1
    return kept


def _shrink_columns(widths: list[int]) -> list[int]:
    """The widths with the widest cut to one measure, so that a line fits."""
    room = (_find_screen_width() or _DEFAULT_WIDTH) - 2 * (len(widths) - 1)
    limit = max(widths)
    while (
        sum(min(width, limit) for width in widths) > room and limit > _MIN_SHARED_WIDTH
    ):
        limit -= 1
    return [min(width, limit) for width in widths]


def _pad_cell(text: str, width: int, *, is_right: bool) -> str:
    from rich.cells import cell_len, set_cell_size  # noqa: PLC0415

    if cell_len(text) > width:
        return set_cell_size(text, width - 1) + "…"
    space = " " * (width - cell_len(text))
    return space + text if is_right else text + space


def has_room(columns: int) -> bool:
    """Whether lines of so many columns fit."""
    return (_find_screen_width() or _DEFAULT_WIDTH) >= columns


def _find_screen_width() -> int | None:
    """The columns that lines must keep to; None where no one said."""
    if sys.stdout.isatty() or read_environ().get("COLUMNS"):
        from shutil import get_terminal_size  # noqa: PLC0415 - slow to load

        return min(get_terminal_size().columns, _MAX_WIDTH)
    return None


def parse_time(text: str | None) -> datetime | None:
    """The time that was written down for scripts, to be told to people."""
    return datetime.fromisoformat(text) if text else None


def format_time(time: datetime | None) -> str:
    """Local time to the minute."""
    return time.astimezone().strftime("%Y-%m-%d %H:%M") if time else "-"


def format_ago(time: datetime | None, now: datetime) -> str:
    """How long ago, in the largest unit that fits."""
    if time is None:
        return "never"
    seconds = max(int((now - time.astimezone(UTC)).total_seconds()), 0)
    for size, name in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {name} ago"
    return f"{seconds} s ago"


def format_number(number: int) -> str:
    """A count as people read it: 950, 12k, 3.4M."""
    if number < 10_000:
        return str(number)
    if number < 1_000_000:
        return f"{number // 1000}k"
    return f"{number / 1_000_000:.1f}M"


def format_cost(cost: Cost) -> str:
    """Dollars; `+` where part of it has no known price, `-` where all has none."""
    if cost.usd is None:
        return "-"
    mark = "+" if cost.unpriced else ""
    return f"${cost.usd:,.2f}{mark}" if cost.usd >= 0.005 else f"<$0.01{mark}"


def format_bytes(size: int) -> str:
    """A size as people read it."""
    for limit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "KB")):
        if size >= limit:
            return f"{size / limit:.1f} {name}"
    return f"{size} B"


def format_path(path: str, home: str) -> str:
    """The path with the home folder as `~`."""
    if home and (path == home or path.startswith(home + "/")):
        return "~" + path[len(home) :]
    return path


def format_count(number: int, noun: str) -> str:
    """`1 unit`, `2 units`."""
    return f"{format_number(number)} {noun}{'' if number == 1 else 's'}"


def shorten_ids(ids: Iterable[str], among: Iterable[str]) -> dict[str, str]:
    """Each id's shortest beginning that means it alone, of eight characters or more.

    Alone among themselves and the others, which are all that begin like one of them.
    """
    wanted = list(ids)
    ordered = sorted({*wanted, *among})
    return {each: each[: _find_prefix_length(each, ordered)] for each in wanted}


def _find_prefix_length(each: str, ordered: Sequence[str]) -> int:
    at = bisect_left(ordered, each)
    beside = [*ordered[max(at - 1, 0) : at], *ordered[at + 1 : at + 2]]
    return max(
        [_MIN_ID_CHARS, *(_count_common_prefix(each, other) + 1 for other in beside)]
    )


def _count_common_prefix(one: str, other: str) -> int:
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
