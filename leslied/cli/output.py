"""What reaches the terminal: envelopes for scripts, tables for people."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import sys
from datetime import UTC
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from leslied.model.stats import Cost

_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028\u2029"
    "\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
_PLAIN_WIDTH = 120
_NARROWEST = 12
_FORMULA = ("=", "+", "-", "@", "\t", "\r")

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def clean(text: str) -> str:
    """The text with every control and direction mark made visible."""
    return _UNSAFE.sub(_show, text) if not text.isprintable() else text


def _show(match: re.Match[str]) -> str:
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
        click.echo(click.style("warning: ", fg="yellow") + clean(warning), err=True)


def tell_error(message: str, hint: str, code: int, *, as_json: bool) -> int:
    """One sentence and what to do next, or the same as an envelope."""
    if as_json:
        error = {"message": message, "hint": hint or None, "exit_code": code}
        _print_envelope(None, (), error)
        return code
    click.echo(click.style("leslied: ", fg="red") + clean(message), err=True)
    if hint:
        click.echo(clean(hint), err=True)
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
    text = json.dumps(envelope, ensure_ascii=False, indent=2, default=str)
    sys.stdout.buffer.write(text.encode("utf-8", "replace") + b"\n")
    sys.stdout.buffer.flush()


def print_csv(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """The rows for a spreadsheet, which takes none of them for a formula."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(map(_cell, names))
    for row in rows:
        writer.writerow(map(_cell, row))
        sys.stdout.buffer.write(out.getvalue().encode("utf-8", "replace"))
        out.seek(0)
        out.truncate()
    sys.stdout.buffer.write(out.getvalue().encode("utf-8", "replace"))
    sys.stdout.buffer.flush()


def _cell(value: Any) -> Any:
    if isinstance(value, list):
        value = " ".join(value)
    if isinstance(value, str):
        value = clean(value)
        return "'" + value if value.startswith(_FORMULA) else value
    return value


def table(
    names: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    stretch: int | None,
    right: str = "",
) -> Iterable[str]:
    """Aligned columns as wide as the terminal; the `stretch` column gives way.

    Without one, the widest columns do. Those whose name is in `right` are set to
    the right.
    """
    from rich.cells import cell_len, set_cell_size  # noqa: PLC0415

    cells = [[_one_line(cell) for cell in row] for row in rows]
    widths = [
        max(cell_len(cell) for cell in column)
        for column in zip(names, *cells, strict=True)
    ]
    if stretch is None:
        widths = _narrow(widths)
    else:
        room = _width() - sum(widths) - 2 * (len(names) - 1) + widths[stretch]
        widths[stretch] = min(widths[stretch], max(room, _NARROWEST))
    set_right = {at for at, name in enumerate(names) if name in right.split()}
    for number, row in enumerate([list(names), *cells]):
        fitted = []
        for at, (cell, width) in enumerate(zip(row, widths, strict=True)):
            if cell_len(cell) > width:
                fitted.append(set_cell_size(cell, width - 1) + "…")
            elif at in set_right:
                fitted.append(" " * (width - cell_len(cell)) + cell)
            else:
                fitted.append(cell + " " * (width - cell_len(cell)))
        line = "  ".join(fitted).rstrip()
        yield click.style(line, dim=True) if number == 0 else line


def _one_line(text: str) -> str:
    return clean(text).replace("\n", " ").replace("\t", " ")


def _narrow(widths: list[int]) -> list[int]:
    """The widths with the widest cut to one measure, so that a line fits."""
    room = _width() - 2 * (len(widths) - 1)
    most = max(widths)
    while sum(min(width, most) for width in widths) > room and most > _NARROWEST:
        most -= 1
    return [min(width, most) for width in widths]


def has_room(columns: int) -> bool:
    """Whether lines of so many columns fit."""
    return _width() >= columns


def _width() -> int:
    if sys.stdout.isatty():
        return shutil.get_terminal_size().columns
    return _PLAIN_WIDTH


def say_time(time: datetime | None) -> str:
    """Local time to the minute."""
    return time.astimezone().strftime("%Y-%m-%d %H:%M") if time else "-"


def say_ago(time: datetime | None, now: datetime) -> str:
    """How long ago, in the largest unit that fits."""
    if time is None:
        return "never"
    seconds = max(int((now - time.astimezone(UTC)).total_seconds()), 0)
    for size, name in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {name} ago"
    return f"{seconds} s ago"


def say_number(number: int) -> str:
    """A count as people read it: 950, 12k, 3.4M."""
    if number < 10_000:
        return str(number)
    if number < 1_000_000:
        return f"{number // 1000}k"
    return f"{number / 1_000_000:.1f}M"


def say_cost(cost: Cost) -> str:
    """Dollars; `+` where part of it has no known price, `-` where all has none."""
    if cost.usd is None:
        return "-"
    mark = "+" if cost.unpriced else ""
    return f"${cost.usd:,.2f}{mark}" if cost.usd >= 0.005 else f"<$0.01{mark}"


def say_bytes(size: int) -> str:
    """A size as people read it."""
    for limit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "KB")):
        if size >= limit:
            return f"{size / limit:.1f} {name}"
    return f"{size} B"


def say_path(path: str, home: str) -> str:
    """The path with the home folder as `~`."""
    if home and (path == home or path.startswith(home + "/")):
        return "~" + path[len(home) :]
    return path


def say_count(number: int, thing: str) -> str:
    """`1 unit`, `2 units`."""
    return f"{say_number(number)} {thing}{'' if number == 1 else 's'}"


def shorten_ids(ids: Iterable[str]) -> dict[str, str]:
    """Each id's shortest beginning that means it alone, of eight characters or more."""
    ordered = sorted(set(ids))
    around = zip(["", *ordered], ordered, [*ordered[1:], ""], strict=False)
    return {
        each: each[: max(8, _common(left, each) + 1, _common(each, right) + 1)]
        for left, each, right in around
    }


def _common(one: str, other: str) -> int:
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
