"""Text and Markdown as HTML that is safe in any page.

All text of a log is escaped. Markdown is rendered without raw HTML and images, links
may only point to web and mail addresses, and nothing has a style attribute, so pages
can forbid inline styles.
"""

from __future__ import annotations

from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

from leslied.rendering.highlight import highlight_code
from leslied.rendering.text import replace_controls

if TYPE_CHECKING:
    from leslied.rendering.markdown_text import LosslessParser

_MAX_MARKDOWN_CHARACTERS = 200_000
"""Longer text is shown as plain text, not rendered as Markdown."""
_MAX_NESTING = 60
"""Text that is nested deeper is shown as plain text, too."""


def escape_text(text: str) -> str:
    """Return the text as HTML, with visible control characters."""
    return escape(replace_controls(text))


def render_pre(text: str) -> str:
    """Render text in a fixed-width font, as it is."""
    # HTML ignores a line end right after the opening tag.
    return f"<pre>\n{escape_text(text.strip(chr(10)))}</pre>"


def render_text(text: str) -> str:
    """Render plain text with its own line breaks."""
    return f'<div class="text plain">{escape_text(text.strip())}</div>'


def render_markdown_html(text: str, *, with_colours: bool = False) -> str:
    """Render Markdown; if `with_colours`, tokens of code blocks get class names."""
    if len(text) > _MAX_MARKDOWN_CHARACTERS:
        return render_text(text)
    parser = _get_markdown_parser()
    tokens = parser.parse(replace_controls(text))
    if tokens is None:
        return render_text(text)
    for token in tokens:
        _complete_token(token)
    env = {"with_colours": with_colours}
    html = parser.markdown.renderer.render(tokens, parser.markdown.options, env)
    return f'<div class="text">{html}</div>'


@cache
def _get_markdown_parser() -> LosslessParser:
    # The parser takes a while to import.
    from leslied.rendering.markdown_text import LosslessParser  # noqa: PLC0415

    parser = LosslessParser(_MAX_NESTING)
    parser.markdown.validateLink = lambda url: url.lower().startswith(  # type: ignore[method-assign]
        ("http://", "https://", "mailto:")
    )
    parser.markdown.add_render_rule("link_open", _render_link)
    parser.markdown.add_render_rule("link_close", _render_link_end)
    parser.markdown.add_render_rule("fence", _render_fence)
    return parser


def _complete_token(token: Any) -> None:
    """Keep list numbers and the alignment of cells; replace control characters.

    The parser decodes character references such as `&#7;`, so control characters may
    appear after the text was cleaned.
    """
    if token.type == "list_item_open" and token.info:
        token.attrSet("value", token.info)
    if style := token.attrs.pop("style", ""):
        # Only the cells of a table have one, such as `text-align:right`.
        token.attrSet("class", f"align-{str(style).rpartition(':')[2]}")
    for child in token.children or ():
        child.content = replace_controls(child.content)
        if title := child.attrGet("title"):
            child.attrSet("title", replace_controls(title))


def _render_link(renderer: Any, tokens: Any, index: int, options: Any, env: Any) -> str:
    tokens[index].attrSet("rel", "noopener noreferrer")
    html: str = renderer.renderToken(tokens, index, options, env)
    return html


def _render_link_end(
    _renderer: Any, tokens: Any, index: int, _options: Any, _env: Any
) -> str:
    """Render the end of a link; a link without text shows its address."""
    start = tokens[index - 1]
    address = start.attrGet("href") if start.type == "link_open" else ""
    return f"{escape_text(address)}</a>"


def _render_fence(
    renderer: Any, tokens: Any, index: int, options: Any, env: Any
) -> str:
    """Render a code block; show the words after its opening fence above the code."""
    token = tokens[index]
    info = token.info.strip()
    if env.get("with_colours") and info:
        code = highlight_code(token.content, info.split()[0])
        html = f"<pre><code>{code}</code></pre>\n"
    else:
        # The renderer's class still has the rule that this function replaces.
        html = type(renderer).fence(renderer, tokens, index, options, env)
    return f'<p class="facts">{escape_text(info)}</p>{html}' if info else html
