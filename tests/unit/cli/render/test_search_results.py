"""Search hits in a terminal."""

from __future__ import annotations

import click
import pytest
from msgspec import structs

from leslied.cli.render.search_results import format_groups, format_hits, format_notes
from leslied.queries.search import SUBSTRING_ADVICE, SearchHit, SearchResult
from leslied.queries.search_groups import GroupedSearch, SearchGroup
from tests.support.records import START_TIME, make_key


@pytest.fixture(autouse=True)
def _narrow_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def make_hit(snippet: str = "the needle") -> SearchHit:
    return SearchHit(
        key=make_key("session-1"),
        chat_id="chat-1",
        entry_id="0123456789abcdef",
        type="tool_result",
        tool_name="Bash",
        at=START_TIME,
        snippet=snippet,
        score=None,
        matches=((4, 10),),
    )


def make_group(hits: int = 1, hidden: int = 0, title: str = "Fix it") -> SearchGroup:
    return SearchGroup(
        agent="claude-code",
        session_id="session-1",
        title=title,
        project="/home/dev/app",
        ended_at=START_TIME,
        hits=(make_hit(),) * hits,
        hidden=hidden,
        query="",
    )


def format_plain(result: GroupedSearch, command: str = "leslied search x") -> list[str]:
    lines = format_groups(result, {"session-1": "sess"}, command)
    return [click.unstyle(line) for line in lines]


def test_a_session_has_a_heading_and_its_hits():
    lines = format_plain(GroupedSearch(groups=(make_group(),), session_count=1))

    assert lines[0] == "Fix it  claude-code  app  sess"
    assert lines[1].endswith("Bash result  0123456789ab  leslied show chat-1")
    assert lines[2] == "    the needle"
    assert len(lines) == 3


def test_hits_that_are_left_out_have_a_command():
    lines = format_plain(
        GroupedSearch(groups=(make_group(hidden=12),), session_count=1)
    )

    assert lines[-1] == "  … 12 more in this session: leslied search x session:sess"


def test_a_search_in_one_session_asks_for_a_larger_limit():
    result = GroupedSearch(groups=(make_group(hidden=12),), session_count=1)

    lines = format_plain(result, "leslied search x session:sess")

    assert lines[-1] == "  … 12 more in this session: use -n"


def test_sessions_that_are_left_out_are_counted():
    result = GroupedSearch(groups=(make_group(hits=2),), session_count=9)

    assert format_plain(result)[-1] == (
        "Shown are 1 of 9 sessions with hits. Show more with: -n 20"
    )


def test_hits_that_were_not_looked_at_are_mentioned():
    result = GroupedSearch(
        groups=(make_group(),), session_count=1, hit_count=1000, has_more=True
    )

    assert format_plain(result)[-1].startswith("Only 1,000 hits were looked at.")


def test_a_long_title_is_cut_to_the_screen():
    (heading, *_) = format_plain(
        GroupedSearch(groups=(make_group(title="x" * 500),), session_count=1)
    )

    assert len(heading) <= 80


def test_a_long_snippet_is_wrapped_between_words_and_indented():
    group = structs.replace(make_group(), hits=(make_hit("the needle " * 20),))

    _, _, *lines = format_plain(GroupedSearch(groups=(group,), session_count=1))

    assert len(lines) == 3
    assert all(line.startswith("    ") and len(line) <= 80 for line in lines)
    assert all(set(line.split()) == {"the", "needle"} for line in lines)


def test_nothing_found_has_advice():
    assert format_plain(GroupedSearch())[0].startswith("Nothing found.")


def test_matches_are_highlighted_and_control_characters_are_harmless():
    result = SearchResult((make_hit("the needle\x1b[2J"),), ())

    line = list(format_hits(result, {"session-1": "sess"}))[1]

    assert click.style("needle", bold=True, fg="yellow") in line
    assert "\x1b[2J" not in line


def test_a_list_names_the_session_of_each_hit():
    result = SearchResult((make_hit(),), (), has_more=True)

    lines = [click.unstyle(line) for line in format_hits(result, {"session-1": "sess"})]

    assert "sess 0123456789ab" in lines[0]
    assert lines[-1] == "There are more hits. Show more with: -n 10"


def test_a_note_names_the_option_that_it_suggests():
    notes = format_notes(["Filters apply.", f"To find it, {SUBSTRING_ADVICE}."])

    assert notes == [
        "Filters apply.",
        "To find it, search for any characters with --substring.",
    ]
