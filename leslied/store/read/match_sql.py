"""Compile the words of a search to FTS5 syntax or to LIKE conditions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from leslied.model.query import AllOf, AnyOf, Term
from leslied.store.fts_text import space_cjk
from leslied.store.read.filter_sql import escape_like
from leslied.store.write.sanitize import replace_surrogates

if TYPE_CHECKING:
    from collections.abc import Iterable

    from leslied.model.query import QueryPart

_TEXT_COLUMNS = ("r.content", "r.tool_input", "r.spilled", "r.tool_name")


def compile_fts_query(part: QueryPart) -> str:
    """Compile a query to FTS5 syntax; return "" if it contains no word."""
    match part:
        case Term():
            return _quote(part)
        case AnyOf():
            alternatives = filter(None, map(compile_fts_query, part.parts))
            return _parenthesize(" OR ".join(alternatives))
        case AllOf():
            required = _parenthesize(
                " AND ".join(filter(None, map(compile_fts_query, part.parts)))
            )
            excluded = compile_fts_query(AnyOf(part.excluded)) if required else ""
            return f"({required} NOT {excluded})" if excluded else required


def _parenthesize(text: str) -> str:
    return f"({text})" if text else ""


def _quote(term: Term) -> str:
    """Quote a term as an FTS5 phrase; return "" if it has no letter or digit."""
    body = space_cjk(replace_surrogates(term.text))
    if not any(character.isalnum() for character in body):
        return ""
    escaped = body.replace('"', '""').replace("\0", " ")
    return f'"{escaped}"{"*" if term.is_prefix else ""}'


def compile_like(part: QueryPart) -> tuple[str, list[str]]:
    """Compile a query to LIKE conditions on a record `r`, with their values."""
    match part:
        case Term():
            # In a search for substrings, `*` at the end of a word is a character.
            text = replace_surrogates(part.text) + "*" * part.is_prefix
            # Arguments are stored as JSON, in which a quote has a backslash.
            spellings = {text, json.dumps(text, ensure_ascii=False)[1:-1]}
            conditions = [
                f"{column} LIKE ? ESCAPE '\\'"
                for column in _TEXT_COLUMNS
                for _ in spellings
            ]
            patterns = [f"%{escape_like(spelling)}%" for spelling in spellings]
            return f"({' OR '.join(conditions)})", patterns * len(_TEXT_COLUMNS)
        case AnyOf():
            return _join_like(part.parts, " OR ", "0")
        case AllOf():
            required, values = _join_like(part.parts, " AND ", "1")
            excluded, excluded_values = _join_like(part.excluded, " OR ", "0")
            return f"({required} AND NOT {excluded})", [*values, *excluded_values]


def _join_like(
    parts: Iterable[QueryPart], operator: str, if_empty: str
) -> tuple[str, list[str]]:
    """Join the conditions of the parts; without any parts, use the SQL `if_empty`."""
    conditions = [compile_like(part) for part in parts]
    sql = operator.join(condition for condition, _ in conditions) or if_empty
    return f"({sql})", [value for _, values in conditions for value in values]
