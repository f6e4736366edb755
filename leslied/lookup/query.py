"""The words of a search, understood: any text is a query, and none is an error.

    word  "a phrase"  begin*  one OR other  (one OR other) third  -word  NOT word
    agent:codex  project:app  after:7d  -tool:Bash  is:error

Only a filter whose value makes no sense is refused, with a sentence.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, get_args

from leslied.errors import UserError
from leslied.model.query import AllOf, AnyOf, Filter, FilterKey, Query, Term
from leslied.model.record import Role
from leslied.model.session import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from leslied.model.query import QueryPart

    ValueParsers = Mapping[str, Callable[[str], str | int]]

_TOKEN = re.compile(
    r"(?P<open>\()"
    r'|(?P<out>-?)(?:(?P<key>[a-z]+):)?"(?P<phrase>[^"]*)(?:"(?P<star>\*?)|$)'
    r"|(?P<word>\S+)"
)
_WORD = re.compile(r"(?P<out>-(?!-))?(?:(?P<key>[a-z]+):)?(?P<text>.+)", re.DOTALL)
_KEYS: tuple[FilterKey, ...] = get_args(FilterKey)
_CHOICES: dict[str, tuple[str, ...]] = {
    "role": get_args(Role),
    "status": get_args(Status),
    "is": ("error", "subagent"),
}
_MAX_TERMS = 60
_MAX_DEPTH = 20


class _Token(NamedTuple):
    sign: str = ""
    """An operator or a parenthesis; empty for a term or a filter."""
    item: Term | Filter = Term("")
    is_negated: bool = False


def parse_query(text: str, value_parsers: ValueParsers) -> Query:
    """What the text asks for; `understand` makes filters' values of what was typed."""
    return _QueryParser(_tokenize(sanitize_text(text), value_parsers)).parse()


def sanitize_text(text: str) -> str:
    """The text as a store can take it: what is no character is shown as one."""
    return text.replace("\0", " ").encode(errors="replace").decode()


def has_syntax(text: str) -> bool:
    """Whether the text is more than words to be found beside each other."""
    return '"' in text or any(
        token.sign or token.is_negated or isinstance(token.item, Filter)
        for token in _tokenize(text, {})
    )


def make_filter(
    key: FilterKey, text: str, value_parsers: ValueParsers, *, is_negated: bool = False
) -> Filter:
    """The condition that somebody typed; a value that cannot be is refused."""
    text = sanitize_text(text)
    choices = _CHOICES.get(key)
    if choices and text not in choices:
        told = ", ".join(f"{key}:{choice}" for choice in choices)
        raise UserError(f"{key}:{text} is no filter.", f"There are: {told}")
    value = value_parsers[key](text) if key in value_parsers else text
    return Filter(key, value, is_negated)


def _tokenize(text: str, value_parsers: ValueParsers) -> Iterator[_Token]:
    depth = 0
    for match in _TOKEN.finditer(text):
        if match["open"]:
            depth += 1
            yield _Token("(")
        elif match["word"] is None:
            yield _read_token(
                match, match["phrase"] + (match["star"] or ""), value_parsers
            )
        else:
            word, closing = _split_closing(match["word"], depth)
            depth -= closing
            if word in ("AND", "OR", "NOT"):
                yield _Token(word)
            elif word and (parts := _WORD.fullmatch(word)):
                yield _read_word(word, parts, value_parsers)
            yield from [_Token(")")] * closing


def _split_closing(word: str, depth: int) -> tuple[str, int]:
    """The word without the parentheses that close what was opened before it."""
    surplus = word.count(")") - word.count("(")
    bare = word.rstrip(")")
    closing = max(min(surplus, depth, len(word) - len(bare)), 0)
    return word[: len(word) - closing], closing


def _read_word(word: str, parts: re.Match[str], value_parsers: ValueParsers) -> _Token:
    if parts["key"] not in (None, *_KEYS):
        # `http://…` and the like: no filter, but what somebody looks for.
        bare = word.removeprefix(parts["out"] or "")
        return _Token("", _make_term(bare), bool(parts["out"]))
    return _read_token(parts, parts["text"], value_parsers)


def _read_token(parts: re.Match[str], text: str, value_parsers: ValueParsers) -> _Token:
    is_out = bool(parts["out"])
    key = next((each for each in _KEYS if each == parts["key"]), None)
    if key and text:
        return _Token("", make_filter(key, text, value_parsers, is_negated=is_out))
    if parts["key"] and not key:
        text = f"{parts['key']}:{text}"
    return _Token("", _make_term(text), is_out)


def _make_term(text: str) -> Term:
    bare = text.rstrip("*")
    return Term(bare, is_prefix=bare != text) if bare else Term(text)


class _QueryParser:
    """From tokens to a query; what cannot be meant is left out, and told."""

    def __init__(self, tokens: Iterable[_Token]) -> None:
        self._tokens = list(tokens)
        self._at = 0
        self._depth = 0
        self._negation_depth = 0
        self._terms = 0
        self._filters: list[Filter] = []
        self._notes: dict[str, None] = {}

    def parse(self) -> Query:
        parts: list[QueryPart] = []
        without: list[QueryPart] = []
        while self._at < len(self._tokens):
            found = self._read_alternatives()
            if isinstance(found, AllOf):
                parts += found.parts
                without += found.excluded
            elif found:
                parts.append(found)
            self._at += 1  # a parenthesis that closes nothing
        words = AllOf(tuple(parts), tuple(without))
        return Query(
            words=words, filters=tuple(self._filters), notes=tuple(self._notes)
        )

    def _read_alternatives(self) -> QueryPart | None:
        """Up to a closing parenthesis or the end: one of what `OR` stands between."""
        before = len(self._filters)
        found = [self._read_conjunction()]
        while self._sign() == "OR":
            self._at += 1
            found.append(self._read_conjunction())
        if len(found) > 1 and len(self._filters) > before:
            self._add_note("A filter counts for all of the query, also beside OR.")
        parts = [part for part in found if part]
        if len(parts) <= 1:
            return parts[0] if parts else None
        if any(isinstance(part, AllOf) and not part.parts for part in parts):
            self._add_note("NOT beside OR needs a word of its own; it was left out.")
        whole = [p for p in parts if not isinstance(p, AllOf) or p.parts]
        return AnyOf(tuple(whole)) if whole else None

    def _read_conjunction(self) -> QueryPart | None:
        """Up to an `OR`: all of it, without what is left out."""
        parts: list[QueryPart] = []
        without: list[QueryPart] = []
        is_out = False
        while self._sign() not in (")", "OR", "end"):
            token = self._tokens[self._at]
            self._at += 1
            if token.sign in ("AND", "NOT"):
                is_out = token.sign == "NOT"
                continue
            part = self._read_part(token, is_negated=is_out)
            if part:
                (without if is_out or token.is_negated else parts).append(part)
            is_out = False
        if not without and len(parts) <= 1:
            return parts[0] if parts else None
        return AllOf(tuple(parts), tuple(without))

    def _read_part(self, token: _Token, *, is_negated: bool) -> QueryPart | None:
        if token.sign == "(":
            return self._read_group(is_negated=is_negated)
        if isinstance(token.item, Filter):
            is_refused = token.item.is_negated or is_negated or self._negation_depth > 0
            self._filters.append(token.item._replace(is_negated=is_refused))
            return None
        self._terms += 1
        if self._terms > _MAX_TERMS:
            self._add_note(f"Only the first {_MAX_TERMS} words count.")
            return None
        return token.item if token.item.text else None

    def _read_group(self, *, is_negated: bool) -> QueryPart | None:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            self._add_note("Parentheses that stand too deep were left out.")
            self._depth -= 1
            return None
        before = len(self._filters)
        self._negation_depth += is_negated
        found = self._read_alternatives()
        self._negation_depth -= is_negated
        self._at += 1
        self._depth -= 1
        if is_negated and found and len(self._filters) > before:
            self._add_note(
                "A filter in NOT (…) is left out by itself, whatever the words."
            )
        if isinstance(found, AllOf) and not found.parts:
            self._add_note("NOT alone in parentheses says nothing; it was left out.")
            return None
        return found

    def _sign(self) -> str:
        """The sign at this place, `end` after the last."""
        return self._tokens[self._at].sign if self._at < len(self._tokens) else "end"

    def _add_note(self, words: str) -> None:
        self._notes[words] = None
