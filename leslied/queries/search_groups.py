"""Search hits grouped by session, with the best hits of each and the facets of all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs

from leslied.model.codec import encode_time
from leslied.queries.agent_names import check_agents
from leslied.queries.query_text import add_filter, format_filter
from leslied.queries.search import describe_unusable_query, list_search_notes, make_hit
from leslied.queries.search_facets import list_active_filters, list_facets
from leslied.queries.sessions import load_session_summary
from leslied.sessions.status import compute_stop_cutoff_us

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from leslied.model.query import Query
    from leslied.queries.context import QueryContext
    from leslied.queries.search import SearchHit, SearchMode
    from leslied.queries.search_facets import Facet, FacetValue
    from leslied.store.read.match_summary import MatchSummary
    from leslied.store.read.queries import SearchProtocol

MAX_SCANNED_HITS = 500
"""Maximum number of hits that are grouped and counted, unless more are to be shown.

Texts are loaded only for hits that are shown.
"""
HITS_PER_SESSION = 3
_HITS_OF_NAMED_SESSION = 200
"""Hits of a session that are shown if the query asks for one by its id."""
_TYPE_ORDER = ("user_message", "assistant_message", "error", "tool_use", "tool_result")
"""Types in the order in which hits without scores are chosen to be shown."""


class GroupLimits(Struct, frozen=True, kw_only=True):
    """How much of the result is returned."""

    sessions: int = 20
    hits: int | None = None
    """Hits in all sessions together; None for no limit."""
    hits_per_session: int = HITS_PER_SESSION
    seconds: float | None = None
    """Time after which the search stops with the hits so far; None for no limit."""


class SearchGroup(Struct, frozen=True, kw_only=True):
    """A session with its best hits."""

    agent: str
    session_id: str
    title: str
    project: str
    ended_at: datetime | None
    hits: tuple[SearchHit, ...]
    hidden: int
    """Number of hits in the session that are left out."""
    query: str
    """The query that finds all hits in the session."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "agent": self.agent,
            "session_id": self.session_id,
            "title": self.title,
            "project": self.project or None,
            "ended_at": encode_time(self.ended_at) if self.ended_at else None,
            "hits": [hit.to_dict() for hit in self.hits],
            "hidden": self.hidden,
            "query": self.query,
        }


class GroupedSearch(Struct, frozen=True, kw_only=True):
    """The result of a search by session."""

    groups: tuple[SearchGroup, ...] = ()
    session_count: int = 0
    """Number of sessions with hits, also those that the limit left out."""
    hit_count: int = 0
    has_more: bool = False
    """Whether there are more hits than were counted."""
    facets: tuple[Facet, ...] = ()
    filters: tuple[FacetValue, ...] = ()
    """The filters in the query."""
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "sessions": [group.to_dict() for group in self.groups],
            "session_count": self.session_count,
            "hit_count": self.hit_count,
            "has_more": self.has_more,
            "facets": [facet.to_dict() for facet in self.facets],
            "filters": [value.to_dict() for value in self.filters],
            "notes": list(self.notes),
        }


def search_by_session(
    context: QueryContext,
    text: str,
    query: Query,
    mode: SearchMode,
    limits: GroupLimits,
) -> GroupedSearch:
    """Return the sessions with entries that match the query.

    `text` is the query as the user typed it; facets change it. Raise UserError for an
    unknown agent.
    """
    check_agents(context.reader, query.filters)
    filters = list_active_filters(text)
    if notes := describe_unusable_query(query, mode):
        return GroupedSearch(filters=filters, notes=notes)
    is_substring = mode == "substring"
    search = context.reader.search(
        query, compute_stop_cutoff_us(context.now), is_substring=is_substring
    )
    limit = max(MAX_SCANNED_HITS, limits.hits or 0)
    # One more match than is counted shows whether there are more.
    matches = search.scan(
        limit + 1, _make_timer(context, limits.seconds), by_rank=mode == "rank"
    )
    counted_matches = matches[:limit]
    groups = _group(counted_matches)
    loader = _GroupLoader(context, search, text, query, is_substring=is_substring)
    shown_matches = _choose_hits(groups, _widen(limits, query), by_type=mode != "rank")
    return GroupedSearch(
        groups=tuple(
            loader.load(best, len(groups[key])) for key, best in shown_matches.items()
        ),
        session_count=len(groups),
        hit_count=len(counted_matches),
        has_more=len(matches) > limit or search.is_stopped,
        facets=list_facets(text, counted_matches, context.now, context.redact),
        filters=filters,
        notes=(*list_search_notes(search, query, mode), *_describe_stop(search)),
    )


def _widen(limits: GroupLimits, query: Query) -> GroupLimits:
    """Return the limits, with more hits per session if the query names a session."""
    names_session = any(f.key == "session" and not f.is_negated for f in query.filters)
    if not names_session:
        return limits
    return structs.replace(limits, hits_per_session=_HITS_OF_NAMED_SESSION)


def _make_timer(context: QueryContext, seconds: float | None) -> Callable[[], bool]:
    """Return a function that returns whether the time is up."""
    if seconds is None:
        return lambda: False
    deadline = context.clock.monotonic() + seconds
    return lambda: context.clock.monotonic() > deadline


def _describe_stop(search: SearchProtocol) -> Iterable[str]:
    if search.is_stopped:
        yield "The search took too long and was stopped. Add a word or a filter."


def _group(
    matches: Iterable[MatchSummary],
) -> dict[tuple[str, str], list[MatchSummary]]:
    """Group matches by session, in the order of each session's first match."""
    groups: dict[tuple[str, str], list[MatchSummary]] = {}
    for match in matches:
        groups.setdefault((match.key.agent, match.key.session_id), []).append(match)
    return groups


def _choose_hits(
    groups: dict[tuple[str, str], list[MatchSummary]],
    limits: GroupLimits,
    *,
    by_type: bool,
) -> dict[tuple[str, str], list[MatchSummary]]:
    """Return the matches to show of each session that is shown.

    They are the first of the session or, with `by_type`, those of `_choose_best`.
    """
    shown_matches: dict[tuple[str, str], list[MatchSummary]] = {}
    remaining_hits = limits.hits
    for key in list(groups)[: limits.sessions]:
        matches = groups[key]
        count = limits.hits_per_session
        if remaining_hits is not None:
            count = min(count, remaining_hits)
            remaining_hits -= min(count, len(matches))
        if count:
            shown_matches[key] = (
                _choose_best(matches, count) if by_type else matches[:count]
            )
    return shown_matches


def _choose_best(matches: Sequence[MatchSummary], count: int) -> list[MatchSummary]:
    """Return `count` matches in their original order, prompts before other types.

    `_TYPE_ORDER` decides which types are chosen first.
    """
    ranks = {name: rank for rank, name in enumerate(_TYPE_ORDER)}
    best = sorted(matches, key=lambda match: ranks.get(match.type, len(ranks)))
    ids = {match.entry_id for match in best[:count]}
    return [match for match in matches if match.entry_id in ids]


class _GroupLoader:
    """Loads the texts and the sessions of matches."""

    def __init__(
        self,
        context: QueryContext,
        search: SearchProtocol,
        text: str,
        query: Query,
        *,
        is_substring: bool,
    ) -> None:
        self._context = context
        self._search = search
        self._text = text
        self._terms = query.terms
        self._is_substring = is_substring

    def load(self, matches: Sequence[MatchSummary], match_count: int) -> SearchGroup:
        """Return the group of a session's best matches out of `match_count`."""
        agent, session_id, _ = matches[0].key
        summary = self._context.redact_summary(
            load_session_summary(self._context.reader, agent, session_id)
        )
        session_id = summary.key.session_id
        return SearchGroup(
            agent=agent,
            session_id=session_id,
            title=summary.title,
            project=summary.project,
            ended_at=summary.ended_at,
            hits=tuple(map(self._load_hit, matches)),
            hidden=match_count - len(matches),
            query=add_filter(self._text, format_filter("session", session_id)),
        )

    def _load_hit(self, match: MatchSummary) -> SearchHit:
        return make_hit(
            self._search.load(match),
            self._terms,
            self._context.redact,
            is_substring=self._is_substring,
        )
