"""Search of entries, and snippets of the text of each hit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from leslied.model.codec import encode_time
from leslied.model.field import TEXT_OR_NULL, TIME_OR_NULL, Field, encode_fields
from leslied.model.record import MAIN
from leslied.queries.agent_names import check_agents
from leslied.queries.snippets import make_snippet
from leslied.redact.session import redact_key
from leslied.sessions.status import compute_stop_cutoff_us
from leslied.store import MAX_RANKED, compile_fts_query
from leslied.store.read.search import MAX_MATCH_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from leslied.model.query import Query, Term
    from leslied.model.record import SessionKey
    from leslied.queries.context import QueryContext
    from leslied.store import Match, StoreQueries
    from leslied.store.read.queries import SearchProtocol

SUBSTRING_ADVICE = "search for any characters"
"""Words with which notes suggest the mode `substring`; callers add how to choose it."""
_INDEX_IS_INCOMPLETE = (
    "The first sync is not finished: entries are missing. Search again after it, or "
    f"{SUBSTRING_ADVICE}."
)
_CUT_CHARACTERS = 64 * 1024
"""Characters dropped from the end of a cut text, where a secret may be cut."""

SearchMode = Literal["newest", "rank", "substring"]


class SearchHit(Struct, frozen=True, kw_only=True):
    """An entry that matches a query, with a snippet of its text."""

    key: SessionKey
    chat_id: str
    entry_id: str
    type: str
    tool_name: str
    at: datetime | None
    snippet: str
    score: float | None
    matches: tuple[tuple[int, int], ...] = ()
    """Start and end of every match in the snippet, in characters."""

    @property
    def show_id(self) -> str:
        """The id for `leslied show`: of the subagent, the unit, or else the session."""
        if self.key.source != MAIN:
            return self.key.subagent_id
        return self.chat_id or self.key.session_id

    @property
    def command(self) -> str:
        """The command that shows the hit."""
        return f"leslied show {self.show_id}"

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return encode_fields(HIT_FIELDS, self)


HIT_FIELDS = (
    Field("session_id", "the session's id", lambda hit: hit.key.session_id),
    Field(
        "source",
        "`main`, or `subagent:` and the subagent's id",
        lambda hit: hit.key.source,
    ),
    Field("agent", "the agent's name", lambda hit: hit.key.agent),
    Field("chat_id", "the unit's id", lambda hit: hit.chat_id or None, TEXT_OR_NULL),
    Field("entry_id", "the entry's id", lambda hit: hit.entry_id),
    Field("type", "the entry's type", lambda hit: hit.type),
    Field("tool_name", "the tool", lambda hit: hit.tool_name or None, TEXT_OR_NULL),
    Field("at", "the time in the log", lambda hit: hit.at, TIME_OR_NULL, encode_time),
    Field("snippet", "the text around the best match", lambda hit: hit.snippet),
    Field(
        "matches",
        "start and end of every match in the snippet, in characters",
        lambda hit: [list(span) for span in hit.matches],
        {
            "type": "array",
            "items": {"type": "array", "items": {"type": "integer"}},
        },
    ),
    Field(
        "score",
        "how well it matches, with `--rank`",
        lambda hit: hit.score,
        {"type": ["number", "null"]},
        lambda score: round(score, 3),
    ),
    Field("command", "the command that shows it", lambda hit: hit.command),
)
"""The fields of a search hit."""


class SearchResult(Struct, frozen=True):
    """Hits of a search, and notes for the user."""

    hits: tuple[SearchHit, ...]
    notes: tuple[str, ...]
    has_more: bool = False
    """Whether the limit left out hits."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, without the notes."""
        hits = [hit.to_dict() for hit in self.hits]
        return {"hits": hits, "has_more": self.has_more}


def search(
    context: QueryContext, query: Query, mode: SearchMode, limit: int
) -> SearchResult:
    """Return up to `limit` entries that match; raise UserError for an unknown agent."""
    return search_entries(
        context.reader,
        query,
        mode,
        limit,
        stop_cutoff_us=compute_stop_cutoff_us(context.now),
        redact=context.redact,
    )


def search_entries(
    reader: StoreQueries,
    query: Query,
    mode: SearchMode,
    limit: int,
    *,
    stop_cutoff_us: int,
    redact: Callable[[str], str],
) -> SearchResult:
    """Return up to `limit` entries that match the query.

    Sessions without entries since `stop_cutoff_us` count as stopped. `redact` is
    applied to the whole text before a snippet is cut out, because it would not
    recognize a part of a secret. Raise UserError for an unknown agent.
    """
    check_agents(reader, query.filters)
    if notes := describe_unusable_query(query, mode):
        return SearchResult((), notes)
    search = reader.search(query, stop_cutoff_us, is_substring=mode == "substring")
    list_matches = search.list_best if mode == "rank" else search.list_newest
    # One more match than is returned shows whether there are more.
    matches = list_matches(limit + 1)
    hits = tuple(
        make_hit(match, query.terms, redact, is_substring=mode == "substring")
        for match in matches[:limit]
    )
    notes = list_search_notes(search, query, mode)
    return SearchResult(hits, notes, has_more=len(matches) > limit)


def describe_unusable_query(query: Query, mode: SearchMode) -> tuple[str, ...]:
    """Return notes on a query that has neither words nor filters; else ()."""
    if query.filters or _has_words(query, mode):
        return ()
    return (
        *query.notes,
        *_describe_unsearchable_terms(query, mode),
        "The query contains no word to search for.",
    )


def list_search_notes(
    search: SearchProtocol, query: Query, mode: SearchMode
) -> tuple[str, ...]:
    """Return notes for the user about the result of a search that has run."""
    notes = [*query.notes, *_describe_unsearchable_terms(query, mode)]
    if mode != "substring" and search.is_index_incomplete:
        notes.append(_INDEX_IS_INCOMPLETE)
    if mode == "rank" and search.is_truncated:
        notes.append(f"Only the newest {MAX_RANKED:,} hits were ranked.")
    return tuple(notes)


def _has_words(query: Query, mode: SearchMode) -> bool:
    """Return whether the query contains a word that this mode can search for."""
    words = query.words
    if mode == "substring":
        return bool(words.parts or words.excluded)
    return any(map(compile_fts_query, (*words.parts, *words.excluded)))


def _describe_unsearchable_terms(query: Query, mode: SearchMode) -> list[str]:
    """Return notes about terms that the full-text index cannot contain."""
    if mode == "substring":
        return []
    return [
        f"{term.text!r} has no letter or digit. To find it, {SUBSTRING_ADVICE}."
        for term in query.terms
        if not compile_fts_query(term)
    ]


def make_hit(
    match: Match,
    terms: Sequence[Term],
    redact: Callable[[str], str],
    *,
    is_substring: bool,
) -> SearchHit:
    """Return the hit of a match, with a snippet of its redacted text."""
    text = redact(match.text)
    if len(match.text) >= MAX_MATCH_CHARACTERS:
        # The store has cut the text, possibly within a secret, which `redact` then does
        # not recognize.
        text = text[:-_CUT_CHARACTERS]
    snippet = make_snippet(text, terms, is_substring=is_substring)
    return SearchHit(
        key=redact_key(match.key, redact),
        chat_id=match.chat_id,
        entry_id=match.entry_id,
        type=match.type,
        tool_name=redact(match.tool_name),
        at=match.at,
        snippet=snippet.text,
        matches=snippet.matches,
        score=match.score,
    )
