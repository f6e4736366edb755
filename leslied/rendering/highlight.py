"""Code as HTML in which each kind of token has a class name.

Style sheets give the classes their colours, so the same HTML serves light and dark.
"""

from __future__ import annotations

from functools import lru_cache
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_CHARACTERS = 30_000
"""Longer code is not highlighted: it takes long, and nobody reads all of it."""
_MAX_LINE_CHARACTERS = 2_000
"""Code with a longer line is not highlighted either: the time that some lexers need
grows with the square of a line's length."""
_CLASSES = {
    "Comment": "tok-comment",
    "Keyword": "tok-keyword",
    "Operator.Word": "tok-keyword",
    "Literal.String": "tok-string",
    "Literal.Number": "tok-number",
    "Name.Builtin": "tok-builtin",
    "Name.Class": "tok-name",
    "Name.Function": "tok-name",
    "Name.Tag": "tok-keyword",
    "Name.Attribute": "tok-builtin",
    "Name.Decorator": "tok-builtin",
    "Name.Variable": "tok-builtin",
    "Generic.Deleted": "tok-deleted",
    "Generic.Inserted": "tok-inserted",
    "Generic.Heading": "tok-name",
    "Generic.Subheading": "tok-comment",
    "Generic.Prompt": "tok-comment",
}
"""Class of each type of token; other types have the class of their parent type."""


def highlight_code(code: str, language: str) -> str:
    """Return the code as escaped HTML, with classes if the language is known."""
    is_long = len(code) > MAX_CHARACTERS
    if is_long or max(map(len, code.split("\n"))) > _MAX_LINE_CHARACTERS:
        return escape(code)
    lexer = _find_lexer(language.casefold())
    if lexer is None:
        return escape(code)
    return "".join(_iter_spans(lexer, code))


def _iter_spans(lexer: Any, code: str) -> Iterator[str]:
    for token_type, text in lexer.get_tokens(code):
        name = _find_class(token_type)
        yield f'<span class="{name}">{escape(text)}</span>' if name else escape(text)


@lru_cache(maxsize=256)
def _find_class(token_type: Any) -> str:
    names = list(token_type)
    while names:
        if css_class := _CLASSES.get(".".join(names)):
            return css_class
        names.pop()
    return ""


@lru_cache(maxsize=64)
def _find_lexer(language: str) -> Any:
    """Return the lexer of a language, such as `python` or `py`, or None."""
    # Pygments takes a while to import, and most texts have no code.
    from pygments.lexers import get_lexer_by_name  # noqa: PLC0415
    from pygments.util import ClassNotFound  # noqa: PLC0415

    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


def find_language(path: str) -> str:
    """Return the language of a file by the ending of its name, or ""."""
    name = path.rpartition("/")[2]
    ending = name.rpartition(".")[2].casefold() if "." in name else ""
    return _LANGUAGES.get(ending, ending)


_LANGUAGES = {
    "cc": "cpp", "cfg": "ini", "h": "c", "hpp": "cpp", "htm": "html",
    "js": "javascript", "jsx": "javascript", "kt": "kotlin", "markdown": "md",
    "mjs": "javascript", "py": "python", "pyi": "python", "rb": "ruby", "rs": "rust",
    "tsx": "typescript", "ts": "typescript", "yml": "yaml",
}  # fmt: skip
"""Language by file ending; any other ending is itself the name of a language."""
