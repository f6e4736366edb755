"""Snippets of a text around the words of a search, and where these words are in it."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache, partial
from itertools import islice, pairwise
from typing import TYPE_CHECKING, NamedTuple

from leslied.graphemes import take_characters
from leslied.store.fts_text import CJK_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leslied.model.query import Term

_CHARACTERS_BEFORE, _CHARACTERS_AFTER = 60, 140
_MAX_FOLDED_CHARACTERS = 200_000
_MAX_COMPARED_MATCHES = 30
"""Matches whose surroundings are compared to choose the best snippet of a text."""
_CJK = f"[{CJK_CHARACTERS}]"
_WORD_CHARACTER = rf"[^\W_{CJK_CHARACTERS}]"
"""A letter or digit of a word; each CJK character is a word of its own."""
_SEPARATOR = r"[\W_]"
_NO_MATCH = "(?!)"


class Snippet(NamedTuple):
    """A part of a text in one line."""

    text: str
    matches: tuple[tuple[int, int], ...] = ()
    """Start and end of every match in the snippet, in characters."""


def make_snippet(
    text: str, terms: Sequence[Term], *, is_substring: bool = False
) -> Snippet:
    """Return the text around the first place with the most terms, as one line.

    Terms match whole words, or any characters with `is_substring`. If no term matches,
    return the beginning of the text.
    """
    pattern = _compile_terms(tuple(terms), is_substring=is_substring)
    place = _find_place(fold_text(text), terms, pattern)
    start = len(take_characters(text, place - _CHARACTERS_BEFORE))
    end = len(take_characters(text, place + _CHARACTERS_AFTER))
    line = " ".join(text[start:end].split())
    prefix = "…" if start else ""
    suffix = "…" if end < len(text) else ""
    snippet = f"{prefix}{line}{suffix}"
    matches = tuple(match.span() for match in pattern.finditer(fold_text(snippet)))
    return Snippet(snippet, matches)


def _find_place(
    folded_text: str, terms: Sequence[Term], pattern: re.Pattern[str]
) -> int:
    """Return the first position with the most different terms after it, or 0."""
    limit = _MAX_COMPARED_MATCHES if len(terms) > 1 else 1
    matches = list(islice(pattern.finditer(folded_text), limit))
    if matches:
        return max(matches, key=partial(_count_terms, matches)).start()
    # The index splits some texts into other words than the pattern does.
    positions = [folded_text.find(fold_text(term.text)) for term in terms]
    return min((position for position in positions if position >= 0), default=0)


def _count_terms(matches: Sequence[re.Match[str]], first: re.Match[str]) -> int:
    """Return the number of different matches in a snippet that begins at `first`."""
    start, end = first.start(), first.start() + _CHARACTERS_AFTER
    return len({match[0] for match in matches if start <= match.start() < end})


@lru_cache(maxsize=64)
def _compile_terms(terms: tuple[Term, ...], *, is_substring: bool) -> re.Pattern[str]:
    """Compile a pattern that matches any of the terms in a folded text."""
    compile_term = _compile_substring if is_substring else _compile_words
    patterns = sorted(filter(None, map(compile_term, terms)), key=len, reverse=True)
    return re.compile("|".join(patterns) or _NO_MATCH)


def _compile_substring(term: Term) -> str:
    return re.escape(fold_text(term.text + "*" * term.is_prefix))


def _compile_words(term: Term) -> str:
    """Return a pattern for the words of a term, whatever separates them."""
    words: list[str] = re.findall(rf"{_CJK}|{_WORD_CHARACTER}+", fold_text(term.text))
    if not words:
        return ""
    pattern = words[0]
    for previous, word in pairwise(words):
        is_adjacent = re.match(_CJK, previous) or re.match(_CJK, word)
        pattern += f"{_SEPARATOR}{'*' if is_adjacent else '+'}{word}"
    if not re.match(_CJK, words[0]):
        pattern = f"(?<!{_WORD_CHARACTER}){pattern}"
    if not term.is_prefix and not re.match(_CJK, words[-1]):
        pattern = f"{pattern}(?!{_WORD_CHARACTER})"
    return pattern


def fold_text(text: str) -> str:
    """Return the text in lower case and without accents.

    Each character keeps its position. Long texts that are not ASCII are truncated.
    """
    if text.isascii():
        return text.lower()
    return "".join(map(_fold_character, text[:_MAX_FOLDED_CHARACTERS]))


@lru_cache(maxsize=4096)
def _fold_character(character: str) -> str:
    """Return one character in lower case, without accents."""
    # Decomposition would reduce each Korean syllable to its first consonant.
    if "\uac00" <= character <= "\ud7a3":
        return character
    return unicodedata.normalize("NFD", character)[0].lower()[0]
