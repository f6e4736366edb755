"""Changes of a query's text: complete its last word, add and remove filters."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leslied.queries.search_query import find_filter_texts

if TYPE_CHECKING:
    from leslied.model.query import FilterKey
    from leslied.queries.search_query import FilterText

MIN_COMPLETED_CHARACTERS = 2
"""One letter is the beginning of too many words to find them all quickly."""
_LAST_WORD = re.compile(r"[^\W_]+\Z")
_OPERATOR = re.compile(r"(?<!\S)(?:AND|OR|NOT)\Z")
_PLAIN_VALUE = re.compile(r"[^\s\"()*]+")


def match_last_word_as_prefix(text: str) -> str:
    """Append `*` to the last word, because the user may still be typing it."""
    word = _LAST_WORD.search(text)
    is_in_phrase = text.count('"') % 2 == 1
    is_in_filter = any(part.end == len(text) for part in find_filter_texts(text))
    if not word or is_in_phrase or is_in_filter or _OPERATOR.search(text):
        return text
    return f"{text}*" if len(word[0]) >= MIN_COMPLETED_CHARACTERS else text


def format_filter(key: FilterKey, value: str) -> str:
    """Return a filter as it is written in a query; "" if it cannot be written."""
    if '"' in value or not value:
        return ""
    return f"{key}:{value}" if _PLAIN_VALUE.fullmatch(value) else f'{key}:"{value}"'


def add_filter(text: str, filter_text: str) -> str:
    """Return the query with one more filter at its end."""
    # An open quotation mark would include the filter in the phrase.
    closed_text = f'{text}"' if text.count('"') % 2 else text
    return f"{closed_text.strip()} {filter_text}".strip()


def remove_filter(text: str, part: FilterText) -> str:
    """Return the query without this part of it."""
    return f"{text[: part.start].rstrip()} {text[part.end :].lstrip()}".strip()
