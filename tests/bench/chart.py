"""Draw the results of a bench as an SVG that is readable on light and dark pages."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from html import escape

from tests.bench.results import Figures, ResultFile
from tests.bench.rows import Row

WIDTH, LABEL_WIDTH, VALUE_WIDTH = 920, 430, 70
LINE, HEAD, MARGIN = 22, 64, 16
LEAST, LARGEST = 0.005, 10.0
TICKS = (0.01, 0.1, 1.0, 10.0)
_STYLE = """
svg { background: #ffffff; font: 13px system-ui, sans-serif; }
text { fill: #1f2328; } .title { font-weight: 600; font-size: 15px; }
.quiet { fill: #59636e; font-size: 12px; } .end { text-anchor: end; }
.middle { text-anchor: middle; }
.grid { stroke: #d1d9e0; } .one { stroke: #59636e; stroke-width: 1.5; }
.goal { stroke: #1f2328; stroke-width: 2.5; }
.met { fill: #0b6bcb; stroke: #0b6bcb; } .missed { fill: #ffffff; stroke: #c2410c; }
.open { fill: #818b98; stroke: #818b98; } circle { stroke-width: 2.5; }
line.met, line.missed, line.open { stroke-width: 2; }
@media (prefers-color-scheme: dark) {
svg { background: #0d1117; } text { fill: #e6edf3; } .quiet { fill: #9198a1; }
.grid { stroke: #3d444d; } .one { stroke: #9198a1; } .goal { stroke: #e6edf3; }
.met { fill: #58a6ff; stroke: #58a6ff; } .missed { fill: #0d1117; stroke: #f0883e; }
.open { fill: #7d8590; stroke: #7d8590; }
}
"""


@dataclass(frozen=True, slots=True)
class Mark:
    """A row of the chart; all positions are multiples of the line at 1."""

    label: str
    value: float
    least: float
    largest: float
    goal: float | None
    kind: str

    @property
    def text(self) -> str:
        return f"{self.value:.2g} ×"


def make_mark(row: Row, figures: Figures, base: float | None) -> Mark | None:
    """Return the mark of a row, relative to a base; None without figures."""
    if figures.ours is None or not base:
        return None
    kind = {True: "met", False: "missed", None: "open"}[figures.is_met]
    goal = None if figures.limit is None else figures.limit / base
    ours = figures.ours
    label = row.name.replace("`", "")
    return Mark(
        label, ours.median / base, ours.least / base, ours.largest / base, goal, kind
    )


def draw_chart(rows: list[Row], results: ResultFile) -> str:
    """Return a chart: figures beside those of peers, and figures beside their goals."""
    beside_peers, beside_goals = [], []
    for row in rows:
        figures = results.get_figures(row)
        if row.peer:
            mark = make_mark(row, figures, figures.peer and figures.peer.median)
            beside_peers += [mark] if mark else []
        elif row.goal:
            mark = make_mark(row, figures, figures.limit)
            beside_goals += [replace(mark, goal=None)] if mark else []
    panels = [
        ("Beside a peer: 1 is what the peer needs", beside_peers),
        ("Beside the goal: 1 is the most that is allowed", beside_goals),
    ]
    parts, top = [], MARGIN
    for title, marks in panels:
        parts += draw_panel(title, marks, top)
        top += HEAD + LINE * len(marks) + MARGIN
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top + LINE}" '
        f'width="{WIDTH}" height="{top + LINE}" role="img">\n'
        f"<title>leslied beside its peers and its goals</title>\n"
        f"<style>{_STYLE}</style>\n{body}\n{draw_legend(top)}\n</svg>\n"
    )


def draw_panel(title: str, marks: list[Mark], top: int) -> Iterator[str]:
    """Yield the elements of one panel, with an axis above its rows."""
    yield f'<text class="title" x="{MARGIN}" y="{top + 18}">{escape(title)}</text>'
    first, last = top + HEAD - 14, top + HEAD + LINE * len(marks) - 6
    for tick in TICKS:
        x = get_x(tick)
        style = "one" if tick == 1 else "grid"
        yield f'<line class="{style}" x1="{x}" y1="{first}" x2="{x}" y2="{last}"/>'
        yield f'<text class="quiet middle" x="{x}" y="{first - 6}">{tick:g}</text>'
    for number, mark in enumerate(marks):
        yield from draw_mark(mark, top + HEAD + LINE * number)


def draw_mark(mark: Mark, y: int) -> Iterator[str]:
    """Yield the elements of a row: label, spread, goal, median, figure."""
    yield f'<text class="end" x="{LABEL_WIDTH}" y="{y + 4}">{escape(mark.label)}</text>'
    left, right = get_x(mark.least), get_x(mark.largest)
    yield f'<line class="{mark.kind}" x1="{left}" y1="{y}" x2="{right}" y2="{y}"/>'
    if mark.goal is not None:
        x = get_x(mark.goal)
        yield f'<line class="goal" x1="{x}" y1="{y - 7}" x2="{x}" y2="{y + 7}"/>'
    x = get_x(mark.value)
    yield f'<circle class="{mark.kind}" cx="{x}" cy="{y}" r="5"/>'
    end = WIDTH - MARGIN
    yield f'<text class="quiet end" x="{end}" y="{y + 4}">{escape(mark.text)}</text>'


def draw_legend(top: int) -> str:
    y, parts = top - 4, []
    items = (("met", "goal met"), ("missed", "goal missed"), ("open", "no goal"))
    for number, (kind, label) in enumerate(items):
        x = MARGIN + 8 + 120 * number
        parts.append(f'<circle class="{kind}" cx="{x}" cy="{y}" r="5"/>')
        parts.append(f'<text class="quiet" x="{x + 12}" y="{y + 4}">{label}</text>')
    x = MARGIN + 8 + 120 * len(items)
    parts.append(f'<line class="goal" x1="{x}" y1="{y - 7}" x2="{x}" y2="{y + 7}"/>')
    text = "goal; a dot is the median of all runs, its line reaches to the extremes"
    parts.append(f'<text class="quiet" x="{x + 12}" y="{y + 4}">{text}</text>')
    return "\n".join(parts)


def get_x(value: float) -> float:
    """Return where a multiple stands on the logarithmic axis."""
    value = min(max(value, LEAST), LARGEST)
    left, right = LABEL_WIDTH + 20, WIDTH - MARGIN - VALUE_WIDTH
    share = math.log(value / LEAST) / math.log(LARGEST / LEAST)
    return round(left + share * (right - left), 1)
