"""Rendering of Markdown for a terminal.

Everything in the text stays visible, also parts that a web page would hide: raw HTML,
the URLs of links and images, link definitions and every line break. Only the terminal's
sixteen colours are used, without backgrounds, so the output is readable on light and
dark terminals. No escape sequences other than colours are written.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, ClassVar

from pygments.token import Token as Code
from rich.color import ColorSystem
from rich.console import Console
from rich.markdown import CodeBlock, Heading, Markdown
from rich.segment import Segment
from rich.style import Style
from rich.syntax import ANSISyntaxTheme, Syntax
from rich.text import Text
from rich.theme import Theme

from leslied.cli.render.output import sanitize
from leslied.rendering.markdown_text import LosslessParser

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from markdown_it.token import Token
    from rich.console import ConsoleOptions, JustifyMethod, RenderResult
    from rich.markdown import MarkdownElement

_MAX_CHARS = 40_000
"""Longer texts are shown unrendered: rendering them takes too long."""
_MAX_NESTING = 20
"""Text nested deeper than this is shown unrendered: it does not fit a terminal."""
_LANGUAGES = frozenset(
    """
    bash c cpp css diff docker dockerfile go graphql html ini java javascript js json
    jsx kotlin lua make makefile php py python rb rs ruby rust scss sh shell sql swift
    toml ts tsx typescript xml yaml yml zsh
    """.split()  # noqa: SIM905 - a list would take forty lines
)
"""Highlighted languages. Looking up any other name would load every lexer."""
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
    """Return an iterator over the text's lines, rendered to fit `width` columns.

    Return None for text that is too long to render, or of which a part would be lost.
    """
    if len(text) > _MAX_CHARS:
        return None
    tokens = _get_parser().parse(sanitize(text))
    if tokens is None:
        return None
    options = _get_console().options.update(width=width)
    rendered_lines = _get_console().render_lines(
        _TerminalMarkdown(tokens), options, pad=False
    )
    lines = [_trim_line(line) for line in rendered_lines]
    while lines and not lines[0]:
        lines.pop(0)
    while lines and not lines[-1]:
        lines.pop()
    return ("".join(_render_segments(line)) for line in lines)


class _LeftHeading(Heading):
    """Heading aligned to the left; Rich centres headings of level 1."""

    LEVEL_ALIGN: ClassVar[dict[str, JustifyMethod]] = {}


class _IndentedCodeBlock(CodeBlock):
    """Code block that is indented by two columns, without padding and background.

    The words after the fence, such as a file name, are shown above the code, unless
    they are only a language that is highlighted.
    """

    @classmethod
    def create(cls, markdown: Markdown, token: Token) -> _IndentedCodeBlock:
        """Create the block for a `fence` or `code_block` token.

        Unlike Rich, store all words after the fence in `lexer_name`, not only the
        language.
        """
        del markdown
        return cls(sanitize(token.info).strip(), "")

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> RenderResult:
        del console, options
        language, _, attributes = self.lexer_name.lower().partition(" ")
        # Show the words after the fence, unless they only name a known language.
        if attributes or (language and language not in _LANGUAGES):
            yield Text(f"  {self.lexer_name}", style="dim")
        yield Syntax(
            str(self.text).rstrip(),
            language if language in _LANGUAGES else "text",
            theme=_CODE_THEME,
            word_wrap=True,
            padding=(0, 0, 0, 2),
        )


class _TerminalMarkdown(Markdown):
    """Parsed Markdown with the elements above, and with every line break kept."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _LeftHeading,
        "fence": _IndentedCodeBlock,
        "code_block": _IndentedCodeBlock,
    }

    def __init__(self, tokens: list[Token]) -> None:
        super().__init__("", hyperlinks=False)
        self.parsed = tokens
        for token in tokens:
            for child in token.children or ():
                _complete_token(child)


def _complete_token(token: Token) -> None:
    """Make a soft line break a hard one, and show the title of a link.

    Agents break lines on purpose.
    """
    if token.type == "softbreak":
        token.type = "hardbreak"
    elif title := token.attrGet("title"):
        token.attrSet("href", f'{token.attrGet("href")} "{title}"')


@cache
def _get_parser() -> LosslessParser:
    return LosslessParser(_MAX_NESTING)


@cache
def _get_console() -> Console:
    return Console(
        force_terminal=True,
        color_system="standard",
        theme=Theme(_STYLES),
        highlight=False,
        emoji=False,
        legacy_windows=False,
    )


def _trim_line(line: Iterable[Segment]) -> list[Segment]:
    """Drop empty segments and trailing spaces."""
    segments = [segment for segment in line if segment.text and not segment.control]
    while segments and not segments[-1].text.rstrip():
        segments.pop()
    if segments:
        segments[-1] = Segment(segments[-1].text.rstrip(), segments[-1].style)
    return segments


def _render_segments(line: Iterable[Segment]) -> Iterator[str]:
    for text, style, _ in line:
        # Sanitize again: the parser has decoded character references such as `&#13;`,
        # so the text may have new control characters.
        safe_text = sanitize(text)
        if not style:
            yield safe_text
            continue
        style_without_link = style.update_link(None)
        yield style_without_link.render(safe_text, color_system=ColorSystem.STANDARD)
