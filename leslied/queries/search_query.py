"""The parser of search queries. Any text can be parsed.

    word  "a phrase"  prefix*  this OR that  (this OR that) more  -word  NOT word
    agent:codex  project:app  after:7d  -tool:Bash  is:error

Only an invalid value of a filter raises UserError. Other parts that cannot be used are
dropped, and the notes of the query explain why.
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
    r'|(?P<minus>-?)(?:(?P<key>[a-z]+):)?"(?P<phrase>[^"]*)(?:"(?P<star>\*?)|$)'
    r"|(?P<word>\S+)"
)
_WORD = re.compile(r"(?P<minus>-(?!-))?(?:(?P<key>[a-z]+):)?(?P<text>.+)", re.DOTALL)
_NEGATION = re.compile(r"(?<!\S)NOT\s+\Z")
_KEYS: tuple[FilterKey, ...] = get_args(FilterKey)
_CHOICES: dict[str, tuple[str, ...]] = {
    "role": get_args(Role),
    "status": get_args(Status),
    "is": ("error", "subagent"),
}
_MAX_TERMS = 60
_MAX_DEPTH = 20


class _Token(NamedTuple):
    """An operator, a term or a filter."""

    operator: str = ""
    """`AND`, `OR`, `NOT` or a parenthesis; empty for a term or a filter."""
    item: Term | Filter = Term("")
    is_negated: bool = False


def parse_query(text: str, value_parsers: ValueParsers) -> Query:
    """Parse a query.

    `value_parsers` maps keys of filters to functions that convert a value from text.
    Raise UserError if a filter has an invalid value.
    """
    return _QueryParser(_tokenize(sanitize_text(text), value_parsers)).parse()


def sanitize_text(text: str) -> str:
    """Replace NUL and lone surrogates, which the store cannot encode."""
    return text.replace("\0", " ").encode(errors="replace").decode()


def has_syntax(text: str) -> bool:
    """Return whether the text contains more than plain words."""
    return '"' in text or any(
        token.operator or token.is_negated or isinstance(token.item, Filter)
        for token in _tokenize(text, {})
    )


def make_filter(
    key: FilterKey, text: str, value_parsers: ValueParsers, *, is_negated: bool = False
) -> Filter:
    """Make a filter from the text of its value; raise UserError if it is invalid."""
    text = sanitize_text(text)
    choices = _CHOICES.get(key)
    if choices and text not in choices:
        valid = ", ".join(f"{key}:{choice}" for choice in choices)
        raise UserError(f"{key}:{text} is not a filter.", f"Use one of: {valid}")
    value = value_parsers[key](text) if key in value_parsers else text
    return Filter(key, value, is_negated)


class FilterText(NamedTuple):
    """A filter as it is written in a query; its value may be invalid."""

    key: FilterKey
    value: str
    is_negated: bool
    start: int
    end: int


def find_filter_texts(text: str) -> list[FilterText]:
    """Return the filters in a query and where they are in its text."""
    filters: list[FilterText] = []
    depth = 0
    for match in _TOKEN.finditer(text):
        # The match whose groups are those of a filter: of `_TOKEN` for a phrase in
        # quotation marks, of `_WORD` for a word.
        part: re.Match[str] | None = match
        end = match.end()
        if match["open"]:
            depth += 1
        elif match["word"] is not None:
            word, closing_count = _split_closing(match["word"], depth)
            depth -= closing_count
            part, end = _WORD.fullmatch(word), match.start() + len(word)
        key = next((name for name in _KEYS if part and name == part["key"]), None)
        if part and key:
            value = part["text"] if part is not match else part["phrase"]
            start = match.start()
            negation = _NEGATION.search(text, 0, start)
            start = negation.start() if negation else start
            is_negated = bool(part["minus"] or negation)
            filters.append(FilterText(key, value, is_negated, start, end))
    return filters


def _tokenize(text: str, value_parsers: ValueParsers) -> Iterator[_Token]:
    depth = 0
    for match in _TOKEN.finditer(text):
        if match["open"]:
            depth += 1
            yield _Token("(")
        elif match["word"] is None:
            phrase = match["phrase"] + (match["star"] or "")
            yield _make_token(match, phrase, value_parsers)
        else:
            word, closing_count = _split_closing(match["word"], depth)
            depth -= closing_count
            if word in ("AND", "OR", "NOT"):
                yield _Token(word)
            elif word and (word_match := _WORD.fullmatch(word)):
                yield _make_word_token(word, word_match, value_parsers)
            yield from [_Token(")")] * closing_count


def _split_closing(word: str, depth: int) -> tuple[str, int]:
    """Split off the closing parentheses that belong to groups and not to the word.

    `depth` is the number of open groups. Return the word and the number of
    parentheses.
    """
    unmatched_count = word.count(")") - word.count("(")
    trailing_count = len(word) - len(word.rstrip(")"))
    closing_count = max(min(unmatched_count, depth, trailing_count), 0)
    return word[: len(word) - closing_count], closing_count


def _make_word_token(
    word: str, match: re.Match[str], value_parsers: ValueParsers
) -> _Token:
    """Make a filter or a term from a word that `_WORD` matches."""
    if match["key"] not in (None, *_KEYS):
        # An unknown key, as in `http://…`, is part of the word and not a filter.
        text = word.removeprefix(match["minus"] or "")
        return _Token("", _make_term(text), bool(match["minus"]))
    return _make_token(match, match["text"], value_parsers)


def _make_token(match: re.Match[str], text: str, value_parsers: ValueParsers) -> _Token:
    """Make a filter or a term from a match with the groups `minus` and `key`."""
    is_negated = bool(match["minus"])
    # Unlike `match["key"]`, an item of `_KEYS` has the type FilterKey.
    key = next((name for name in _KEYS if name == match["key"]), None)
    if key and text:
        return _Token("", make_filter(key, text, value_parsers, is_negated=is_negated))
    if match["key"] and not key:
        text = f"{match['key']}:{text}"
    return _Token("", _make_term(text), is_negated)


def _make_term(text: str) -> Term:
    """Make a term; a `*` at the end makes it a prefix, unless there is nothing else."""
    prefix = text.rstrip("*")
    return Term(prefix, is_prefix=prefix != text) if prefix else Term(text)


class _QueryParser:
    """Recursive-descent parser that drops unusable parts and adds notes about them."""

    def __init__(self, tokens: Iterable[_Token]) -> None:
        self._tokens = list(tokens)
        self._position = 0
        self._depth = 0
        self._negation_depth = 0
        self._term_count = 0
        self._filters: list[Filter] = []
        self._notes: dict[str, None] = {}

    def parse(self) -> Query:
        """Return the query that the tokens form; call it only once."""
        parts: list[QueryPart] = []
        excluded: list[QueryPart] = []
        while self._position < len(self._tokens):
            part = self._read_alternatives()
            if isinstance(part, AllOf):
                parts += part.parts
                excluded += part.excluded
            elif part:
                parts.append(part)
            self._position += 1  # Skip an unmatched closing parenthesis.
        words = AllOf(tuple(parts), tuple(excluded))
        return Query(
            words=words, filters=tuple(self._filters), notes=tuple(self._notes)
        )

    def _read_alternatives(self) -> QueryPart | None:
        """Read conjunctions joined by `OR`, up to a closing parenthesis or the end."""
        filter_count = len(self._filters)
        alternatives = [self._read_conjunction()]
        while self._peek_operator() == "OR":
            self._position += 1
            alternatives.append(self._read_conjunction())
        if len(alternatives) > 1 and len(self._filters) > filter_count:
            self._add_note("A filter applies to the whole query, even next to OR.")
        parts = [part for part in alternatives if part]
        if len(parts) <= 1:
            return parts[0] if parts else None
        if any(isinstance(part, AllOf) and not part.parts for part in parts):
            self._add_note("NOT was ignored: next to OR it needs a word to search for.")
        usable_parts = [
            part for part in parts if not isinstance(part, AllOf) or part.parts
        ]
        return AnyOf(tuple(usable_parts)) if usable_parts else None

    def _read_conjunction(self) -> QueryPart | None:
        """Read parts that must all match, up to `OR`, a parenthesis or the end.

        Negated parts must not match.
        """
        parts: list[QueryPart] = []
        excluded: list[QueryPart] = []
        is_negated = False
        while self._peek_operator() not in (")", "OR", "end"):
            token = self._tokens[self._position]
            self._position += 1
            if token.operator in ("AND", "NOT"):
                is_negated = token.operator == "NOT"
                continue
            part = self._read_part(token, is_negated=is_negated)
            if part and (is_negated or token.is_negated):
                excluded.append(part)
            elif part:
                parts.append(part)
            is_negated = False
        if not excluded and len(parts) <= 1:
            return parts[0] if parts else None
        return AllOf(tuple(parts), tuple(excluded))

    def _read_part(self, token: _Token, *, is_negated: bool) -> QueryPart | None:
        """Return the group or term that starts with the token.

        A filter is added to `_filters`, not returned. Return None if there is nothing
        to match. `is_negated` is whether `NOT` precedes the token; the caller
        negates what is returned.
        """
        if token.operator == "(":
            return self._read_group(is_negated=is_negated)
        if isinstance(token.item, Filter):
            is_negated = token.item.is_negated or is_negated or self._negation_depth > 0
            self._filters.append(token.item._replace(is_negated=is_negated))
            return None
        self._term_count += 1
        if self._term_count > _MAX_TERMS:
            self._add_note(f"Only the first {_MAX_TERMS} words were used.")
            return None
        return token.item if token.item.text else None

    def _read_group(self, *, is_negated: bool) -> QueryPart | None:
        """Read a group up to and including its closing parenthesis."""
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            self._add_note("Parentheses that are nested too deeply were ignored.")
            self._depth -= 1
            return None
        filter_count = len(self._filters)
        self._negation_depth += is_negated
        part = self._read_alternatives()
        self._negation_depth -= is_negated
        self._position += 1
        self._depth -= 1
        if is_negated and part and len(self._filters) > filter_count:
            self._add_note(
                "A filter in NOT (…) is negated on its own, independent of the words."
            )
        if isinstance(part, AllOf) and not part.parts:
            self._add_note("NOT was ignored: it is alone in parentheses.")
            return None
        return part

    def _peek_operator(self) -> str:
        """Return the operator of the next token, or `end` after the last token."""
        return (
            self._tokens[self._position].operator
            if self._position < len(self._tokens)
            else "end"
        )

    def _add_note(self, note: str) -> None:
        self._notes[note] = None
