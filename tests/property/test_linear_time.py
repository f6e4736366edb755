"""Text that somebody chose to be slow: twice as much takes about twice as long."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from functools import partial

import pytest

from leslied.cli.render.markdown import render_markdown
from leslied.cli.render.output import sanitize
from leslied.cli.render.widths import measure_width, truncate_to_width
from leslied.control_characters import format_one_line, replace_control_characters
from leslied.graphemes import ellipsize
from leslied.queries.search_query import parse_query
from leslied.queries.snippets import fold_text
from leslied.redact import RULES, Redactor
from leslied.rendering.edits import find_edits, find_patch_edits
from leslied.rendering.export_parts import _diff_texts
from leslied.rendering.markdown_html import render_markdown_html
from leslied.rendering.text_diff import diff_texts
from leslied.sessions.shell import find_writes
from leslied.sessions.titles import choose_title, strip_attachment_marks
from leslied.sinks.leslie.names import make_slug
from leslied.sinks.markdown import _sanitize_markdown
from leslied.threads.progress import parse_progress

MAX_RATIO = 3.2
"""Twice the input may take this much longer; a quadratic function takes four times."""
MIN_SECONDS = 0.3
"""Shorter times are noise; what is quadratic takes seconds."""
SIZE = 20_000
PIECES = (
    *(
        "[",
        "]",
        "*",
        "_",
        "`",
        "``a",
        "> ",
        "- ",
        "1. ",
        "[a](",
        "[a]: <b>\n",
        "![",
        "<",
    ),
    *(
        "<a ",
        "&",
        "&#",
        "\\",
        "**a ",
        "*a_ ",
        "~~",
        "|a|\n|-|\n",
        "\n",
        "  \n",
        "\t",
        "a",
    ),
    *(
        "é",
        "e\u0301",
        "👨\u200d",
        "\u202e",
        "\x1b[",
        "\x1b]8;;",
        "$(",
        "((",
        "<<A\n",
        ";",
    ),
    *(
        "*** Begin Patch\n",
        "@@\n",
        "A b ",
        "#",
        "- [ ] a\n",
        "> > ",
        "* a\n  ",
        "a:",
        '"',
    ),
    *(
        "\\u0022",
        "%3D",
        "&quot;",
        "{'",
        "password=",
        "://",
        "-----BEGIN PRIVATE KEY-----\n",
    ),
)
FUNCTIONS: dict[str, Callable[[str], object]] = {
    "html": render_markdown_html,
    "markdown": lambda text: list(_sanitize_markdown(text)),
    "terminal": lambda text: list(render_markdown(text[: SIZE // 2], 80) or ()),
    "redact": Redactor(b"k" * 32).redact,
    "title": lambda text: choose_title("", strip_attachment_marks(text), ""),
    "one line": format_one_line,
    "slug": make_slug,
    "ellipsize": lambda text: ellipsize(text, len(text) - 1),
    "width": measure_width,
    "truncate": lambda text: truncate_to_width(text, 80),
    "sanitize": sanitize,
    "controls": replace_control_characters,
    "shell": find_writes,
    "patch": lambda text: find_patch_edits("apply_patch", {"input": text}),
    "search query": lambda text: parse_query(text, {"after": str, "before": str}),
    "fold": fold_text,
    "progress": parse_progress,
}


def measure(function: Callable[[], object]) -> float:
    """Return the processor time of a call, without collections of garbage."""
    gc.disable()
    start = time.process_time()
    try:
        function()
        return time.process_time() - start
    finally:
        gc.enable()


def is_slow(function: Callable[[str], object], piece: str, size: int) -> bool:
    """Return whether twice the text takes much longer, by the best of five attempts."""
    texts = [repeat(piece, size), repeat(piece, 2 * size)]
    best = [float("inf"), float("inf")]
    for _ in range(5):
        best = [
            min(seconds, measure(partial(function, text)))
            for seconds, text in zip(best, texts, strict=True)
        ]
        if best[1] < max(MAX_RATIO * best[0], MIN_SECONDS):
            return False
    return True


def repeat(piece: str, size: int) -> str:
    return (piece * (size // len(piece) + 1))[:size]


@pytest.mark.heavy
@pytest.mark.threat("S6")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_twice_the_text_takes_about_twice_as_long(name: str):
    function = FUNCTIONS[name]

    assert [piece for piece in PIECES if is_slow(function, piece, SIZE)] == []


@pytest.mark.heavy
@pytest.mark.threat("S6")
def test_no_anchor_makes_redaction_slow():
    redact = Redactor(b"k" * 32).redact
    anchors = sorted({anchor for rule in RULES for anchor in rule.anchors})

    assert [anchor for anchor in anchors if is_slow(redact, anchor, 4000)] == []


def make_lines(count: int) -> tuple[str, str]:
    """Return two texts with the same lines, which have nothing to pair them by."""
    lines = [str(number) for number in range(count)]
    return "\n".join(lines), "\n".join(lines[::2] + lines[1::2])


def test_texts_with_many_lines_are_not_compared_line_by_line():
    old, new = make_lines(10_000)
    edit = {"file_path": "a", "old_string": old, "new_string": new}

    assert _diff_texts(old, new)[0] == "@@ too long to compare @@"
    assert diff_texts(old, new).lines
    (changes,) = (each.changes for each in find_edits("Edit", edit))
    assert len(changes) == 20_000


def test_markup_behind_backslashes_is_found_in_one_pass():
    """The pattern used to be tried again at every backslash."""
    (line,) = _sanitize_markdown("\\" * 100_000 + "<b>")

    assert line == "\\" * 100_000 + "&lt;b>"
