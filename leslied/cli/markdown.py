"""An answer's Markdown, as a terminal shows it.

Nothing is hidden that a page would hide: raw HTML, the addresses of links and pictures,
definitions of links, every line break. Colours are the terminal's own sixteen, without
backgrounds, so that it can be read on light and dark. Nothing but colours is ever sent
to the terminal.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, ClassVar

from markdown_it import MarkdownIt
from pygments.token import Token as Code
from rich.color import ColorSystem
from rich.console import Console
from rich.markdown import CodeBlock, Heading, Markdown
from rich.segment import Segment
from rich.style import Style
from rich.syntax import ANSISyntaxTheme, Syntax
from rich.text import Text
from rich.theme import Theme

from leslied.cli.output import sanitize

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from markdown_it.token import Token
    from rich.console import ConsoleOptions, JustifyMethod, RenderResult
    from rich.markdown import MarkdownElement

_MAX_CHARS = 40_000
"""Longer texts are for programs; to lay them out would take long."""
_MAX_NESTING = 20
"""What is nested deeper has no room on a terminal."""
_LANGUAGES = frozenset(
    """
    bash c cpp css diff docker dockerfile go graphql html ini java javascript js json
    jsx kotlin lua make makefile php py python rb rs ruby rust scss sh shell sql swift
    toml ts tsx typescript xml yaml yml zsh
    """.split()  # noqa: SIM905 - forty lines of names say no more
)
"""Known by name: a search for the others would look through all that is installed."""
_STYLES = {
    "markdown.block_quote": "dim",
    "markdown.code": "cyan",
    "markdown.code_block": "none",
    "markdown.h1": "bold underline",
    "markdown.h2": "bold underline",
    "markdown.h3": "bold",
    "markdown.h4": "bold italic",
    "markdown.h5": "italic",
    "markdown.h6": "italic",
    "markdown.hr": "dim",
    "markdown.item.bullet": "dim",
    "markdown.item.number": "dim",
    "markdown.link": "none",
    "markdown.link_url": "blue",
    "markdown.list": "none",
    "markdown.table.border": "dim",
    "markdown.table.header": "bold",
}
_CODE_THEME = ANSISyntaxTheme(
    {
        Code.Comment: Style(dim=True),
        Code.Keyword: Style(color="magenta"),
        Code.Literal.Number: Style(color="cyan"),
        Code.Literal.String: Style(color="green"),
        Code.Name.Class: Style(color="blue"),
        Code.Name.Decorator: Style(color="blue"),
        Code.Name.Function: Style(color="blue"),
        Code.Name.Tag: Style(color="magenta"),
        Code.Generic.Deleted: Style(color="red"),
        Code.Generic.Inserted: Style(color="green"),
        Code.Generic.Subheading: Style(dim=True),
    }
)


def render_markdown(text: str, width: int) -> Iterator[str] | None:
    """The text laid out in so many columns, line by line; None where it cannot be."""
    if len(text) > _MAX_CHARS:
        return None
    parsed = _parser().parse(sanitize(text))
    if any(token.level >= _MAX_NESTING for token in parsed):
        return None
    options = _console().options.update(width=width)
    found = _console().render_lines(_TerminalMarkdown(parsed), options, pad=False)
    lines = [_trim_line(line) for line in found]
    full = [number for number, line in enumerate(lines) if line]
    shown = lines[full[0] : full[-1] + 1] if full else []
    return ("".join(_render_segments(line)) for line in shown)


class _LeftHeading(Heading):
    LEVEL_ALIGN: ClassVar[dict[str, JustifyMethod]] = {}


class _IndentedCodeBlock(CodeBlock):
    """Code, indented instead of framed."""

    @classmethod
    def create(cls, markdown: Markdown, token: Token) -> _IndentedCodeBlock:
        """One for this token."""
        del markdown
        return cls(sanitize(token.info).strip(), "")

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> RenderResult:
        del console, options
        name, _, more = self.lexer_name.lower().partition(" ")
        if more:
            yield Text(f"  {self.lexer_name}", style="dim")
        yield Syntax(
            str(self.text).rstrip(),
            name if name in _LANGUAGES else "text",
            theme=_CODE_THEME,
            word_wrap=True,
            padding=(0, 0, 0, 2),
        )


class _TerminalMarkdown(Markdown):
    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _LeftHeading,
        "fence": _IndentedCodeBlock,
        "code_block": _IndentedCodeBlock,
    }

    def __init__(self, parsed: list[Token]) -> None:
        super().__init__("", hyperlinks=False)
        self.parsed = parsed
        for token in parsed:
            for child in token.children or ():
                _harden_break(child)


def _harden_break(token: Token) -> None:
    """An agent ends a line where it means to."""
    if token.type == "softbreak":
        token.type = "hardbreak"


@cache
def _parser() -> MarkdownIt:
    more = {"html": False, "maxNesting": _MAX_NESTING + 2}
    parser = MarkdownIt("commonmark", more)
    return parser.enable(["strikethrough", "table"]).disable(["image", "reference"])


@cache
def _console() -> Console:
    return Console(
        force_terminal=True,
        color_system="standard",
        theme=Theme(_STYLES),
        highlight=False,
        emoji=False,
        legacy_windows=False,
    )


def _trim_line(line: Iterable[Segment]) -> list[Segment]:
    """The line without the spaces that only fill it up."""
    kept = [segment for segment in line if segment.text and not segment.control]
    while kept and not kept[-1].text.rstrip():
        kept.pop()
    if kept:
        kept[-1] = Segment(kept[-1].text.rstrip(), kept[-1].style)
    return kept


def _render_segments(line: Iterable[Segment]) -> Iterator[str]:
    for text, style, _ in line:
        # `&#13;` is a control character only now.
        shown = sanitize(text)
        colour = style.update_link(None) if style else None
        yield (
            colour.render(shown, color_system=ColorSystem.STANDARD) if colour else shown
        )
