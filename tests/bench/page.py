"""Write the results of a bench into docs/performance.md, and draw its chart."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from tests.bench.chart import draw_chart
from tests.bench.curves import AXES, OPERATIONS, SIZES, make_task_name
from tests.bench.environment import ROOT
from tests.bench.results import Figures, ResultFile, Spread, list_peer_versions
from tests.bench.rows import OURS, Row
from tests.support.doc_sections import replace_section

PAGE = ROOT / "docs/performance.md"
CHART = ROOT / "docs/images/performance.svg"
UNMEASURED_PAGE = "Nothing has been measured yet."
_HEAD = ("what", "leslied", "CPU, RSS", "peer", "CPU, RSS", "ratio", "goal", "met")


def format_number(value: float) -> str:
    """Return a number with three significant digits, or all digits of large ones."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.3g}"


def format_spread(spread: Spread | None, unit: str) -> str:
    """Return a median with the extremes and the number of runs."""
    if spread is None:
        return "not measured"
    text = f"{format_number(spread.median)} {unit}".strip()
    if spread.runs == 1:
        return f"{text} (n=1)"
    extremes = f"{format_number(spread.least)}–{format_number(spread.largest)}"
    return f"{text} ({extremes}, n={spread.runs})"


def format_row(row: Row, results: ResultFile) -> tuple[str, ...]:
    """Return the cells of a row."""
    figures = results.get_figures(row)
    ours = format_spread(figures.ours, row.unit)
    if results.find_error(row):
        ours = "failed"
    peer = f"{row.peer}: {format_spread(figures.peer, row.unit)}" if row.peer else ""
    ratio = "" if figures.ratio is None else f"{figures.ratio:.2g}"
    return (
        row.name,
        ours,
        _format_costs(results, row, row.program, row.figure),
        peer,
        _format_costs(results, row, row.peer, row.peer_figure or row.figure),
        ratio,
        row.goal.format(row.unit) if row.goal else "",
        format_verdict(figures),
    )


def _format_costs(results: ResultFile, row: Row, program: str, figure: str) -> str:
    """Return the CPU time and the memory of all processes that belong to a figure."""
    cpu, memory = (
        results.get_spread(row.task.name, program, f"{figure} {kind}")
        for kind in ("cpu", "all rss")
    )
    if cpu is None or memory is None:
        return ""
    return f"{format_number(cpu.median)} s, {memory.median:.0f} MB"


def format_verdict(figures: Figures) -> str:
    if figures.is_met is None:
        return ""
    return "yes" if figures.is_met else "**no**"


def format_tables(rows: Iterable[Row], results: ResultFile) -> str:
    """Return a table for each section."""
    parts = []
    for section, section_rows in groupby(rows, key=lambda row: row.section):
        lines = [_HEAD, ("---",) * len(_HEAD)]
        lines += [format_row(row, results) for row in section_rows]
        table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
        parts.append(f"### {section}\n\n{table}")
    return "\n".join([*parts, format_curves(results)])


def format_curves(results: ResultFile) -> str:
    """Return what each operation costs at the least and the largest size."""
    lines = [("operation", *AXES), ("---",) * (len(AXES) + 1)]
    for operation in OPERATIONS:
        cells = [_format_growth(results, axis, operation) for axis in AXES]
        lines.append((operation, *cells))
    table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    least, largest = SIZES[0], SIZES[-1]
    return (
        f"CPU time at {least:,} and at {largest:,}, and the exponent of the growth:\n\n"
        f"{table}"
    )


def _format_growth(results: ResultFile, axis: str, operation: str) -> str:
    task = make_task_name(axis)
    figures = (f"{operation}, {SIZES[0]}", f"{operation}, {SIZES[-1]}", operation)
    spreads = [results.get_spread(task, OURS, figure) for figure in figures]
    if None in spreads:
        return "not measured"
    first, last, exponent = (spread.median for spread in spreads if spread)
    return f"{format_number(first)} → {format_number(last)} ms ({exponent:.2f})"


def format_section(rows: list[Row], results: ResultFile) -> str:
    """Return the generated part of the page."""
    return (
        f"{_format_circumstances(results)}\nPeers: {list_peer_versions()}.\n\n"
        f"![leslied beside its peers](images/{CHART.name})\n\n"
        f"{format_tables(rows, results)}"
    )


def _format_circumstances(results: ResultFile) -> str:
    machine = results.machine
    if machine is None:
        return UNMEASURED_PAGE
    sentences = list(machine.describe())
    minutes = sum(result.seconds for result in results.results) / 60
    sentences.append(f"The measurements took {minutes:.0f} minutes.")
    if others := {result.commit for result in results.results} - {machine.commit}:
        sentences.append(f"Some rows were measured at {', '.join(sorted(others))}.")
    return "\n".join(sentences)


def write_page(rows: list[Row], results: ResultFile) -> None:
    """Write the generated part of the page, and the chart."""
    text = PAGE.read_text(encoding="utf-8")
    section = format_section(rows, results)
    PAGE.write_text(replace_section(text, "bench", section), encoding="utf-8")
    CHART.write_text(draw_chart(rows, results), encoding="utf-8")


def print_tables(rows: list[Row], results: ResultFile) -> None:
    """Print the rows that have a figure, for a terminal."""
    width = max(len(row.name) for row in rows)
    for section, section_rows in groupby(rows, key=lambda row: row.section):
        print(f"\n{section}")
        for row in section_rows:
            name, ours, _, peer, _, ratio, goal, verdict = format_row(row, results)
            if error := results.find_error(row):
                ours = f"failed: {error}"
            cells = [name.ljust(width), ours, peer, ratio, goal, verdict.strip("*")]
            print("  " + "  ".join(cell for cell in cells if cell))
