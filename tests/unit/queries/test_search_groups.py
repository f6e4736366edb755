"""Search hits by session."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from leslied.app import App
from leslied.errors import UserError
from leslied.queries.search import SearchMode
from leslied.queries.search_groups import (
    GroupedSearch,
    GroupLimits,
    search_by_session,
)
from leslied.queries.search_query import parse_query
from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.queries import SECRET, make_app, write_session

SearchFunction = Callable[..., GroupedSearch]


def write_needles(claude: ClaudeHome, session_id: str, count: int) -> None:
    """Write a session with one prompt and many answers that contain a word."""
    builder = ClaudeLogBuilder(session_id)
    claude.write(
        builder.prompt(f"Find the needle {session_id}"),
        *[builder.answer(f"needle number {number}") for number in range(count)],
        name=f"-home-dev-app/{session_id}.jsonl",
    )


@pytest.fixture
def app(claude: ClaudeHome) -> App:
    """An app whose store has three sessions; two of them contain needles."""
    write_session(claude)
    write_needles(claude, "aaaa", 6)
    write_needles(claude, "bbbb", 1)
    claude.sync()
    return make_app(claude)


@pytest.fixture
def search(app: App) -> SearchFunction:
    def run(
        text: str, mode: SearchMode = "newest", **limits: float | None
    ) -> GroupedSearch:
        with app.open_queries() as queries:
            query = parse_query(text, {})
            return search_by_session(queries, text, query, mode, GroupLimits(**limits))

    return run


@pytest.mark.parametrize("mode", ["newest", "rank", "substring"])
def test_a_session_has_at_most_three_hits(search: SearchFunction, mode: SearchMode):
    result = search("needle", mode)
    hits = {
        group.session_id: (len(group.hits), group.hidden) for group in result.groups
    }

    assert hits == {"aaaa": (3, 4), "bbbb": (2, 0)}
    assert (result.session_count, result.hit_count, result.has_more) == (2, 9, False)


def test_a_prompt_is_among_the_best_hits(search: SearchFunction):
    group = next(g for g in search("needle").groups if g.session_id == "aaaa")

    assert "user_message" in [hit.type for hit in group.hits]
    assert group.title == "Find the needle aaaa"


def test_the_query_of_a_group_finds_all_its_hits(search: SearchFunction):
    group = next(g for g in search("needle").groups if g.session_id == "aaaa")

    (found,) = search(group.query).groups

    assert (len(found.hits), found.hidden) == (7, 0)


def test_the_number_of_sessions_is_limited(search: SearchFunction):
    result = search("needle", sessions=1)

    assert (len(result.groups), result.session_count) == (1, 2)


def test_the_total_number_of_hits_is_limited(search: SearchFunction):
    result = search("needle", hits=4)

    assert sum(len(group.hits) for group in result.groups) == 4


def test_matches_are_marked(search: SearchFunction):
    hit = search("needle").groups[0].hits[0]

    assert [hit.snippet[start:end] for start, end in hit.matches] == ["needle"]


def test_more_hits_than_are_counted_are_reported(
    search: SearchFunction, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("leslied.queries.search_groups.MAX_SCANNED_HITS", 5)

    result = search("needle")

    assert (result.hit_count, result.has_more) == (5, True)


@pytest.mark.threat("W7")
def test_a_search_that_takes_too_long_is_stopped(
    search: SearchFunction, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("leslied.store.read.search._STEPS_PER_STOP_CHECK", 1)

    result = search("needle", "substring", seconds=-1.0)

    assert result.has_more
    assert any("was stopped" in note for note in result.notes)


@pytest.mark.threat("S2")
def test_secrets_are_redacted(search: SearchFunction):
    result = search("login")

    assert result.hit_count
    assert SECRET not in str(result.to_dict())


def test_a_query_without_words_is_explained(search: SearchFunction):
    result = search("::")

    assert result.groups == ()
    assert any("no word to search for" in note for note in result.notes)


def test_an_unknown_agent_is_an_error(search: SearchFunction):
    with pytest.raises(UserError):
        search("needle agent:nobody")


def test_filters_alone_find_entries(search: SearchFunction):
    result = search("role:user session:bbbb")

    assert result.hit_count == 1
    assert [each.filter for each in result.filters] == ["role:user", "session:bbbb"]
