"""Stars, tags and notes, and which sessions are unread."""

from __future__ import annotations

from datetime import timedelta

import pytest

from leslied.app import App
from leslied.errors import UserError
from leslied.model.query import Selection
from leslied.queries.annotations import (
    MAX_NOTE_CHARACTERS,
    MAX_TAGS,
    MarksChange,
    change_marks,
    check_tag,
    count_tags,
    load_annotations,
    load_marks,
    select_marked,
)
from leslied.queries.context import QueryContext
from leslied.queries.session_list import load_session_list
from leslied.queries.show import show_session
from leslied.queries.unit_selection import UnitSelection
from tests.support.claude import SESSION, ClaudeHome
from tests.support.queries import SECRET, write_session

NO_MARKS = {"starred": False, "tags": [], "note": None, "unread": False}


def test_a_session_has_no_marks_at_first(queries: QueryContext):
    names = {"id": SESSION, "agent": "claude-code"}

    assert load_marks(queries, SESSION[:8]).to_dict() == names | NO_MARKS


def test_each_change_keeps_the_other_marks(queries: QueryContext):
    change_marks(queries, SESSION, MarksChange(is_starred=True))
    change_marks(queries, SESSION, MarksChange(tags="later bug"))
    marked = change_marks(queries, SESSION, MarksChange(note=" a note\n"))

    assert marked.to_dict() == {
        "id": SESSION,
        "agent": "claude-code",
        "starred": True,
        "tags": ["bug", "later"],
        "note": "a note",
        "unread": False,
    }


def test_lists_and_the_session_itself_show_the_marks(queries: QueryContext):
    change_marks(queries, SESSION, MarksChange(is_starred=True, note="a note"))
    (listed,) = load_session_list(queries, Selection()).to_dict()["sessions"]
    shown = show_session(queries, SESSION, UnitSelection()).to_dict()["session"]

    for session in (listed, shown):
        assert (session["starred"], session["note"]) == (True, "a note")


def test_secrets_in_notes_are_stored_as_typed_and_redacted_on_output(app: App):
    change = MarksChange(note=f"the token is {SECRET}")
    with app.open_queries() as queries:
        assert SECRET not in str(change_marks(queries, SESSION, change).to_dict())
        sessions = load_session_list(queries, Selection()).to_dict()
        assert SECRET not in str(sessions["sessions"][0]["note"])
    with app.open_queries(reveal=True) as queries:
        assert load_marks(queries, SESSION).marks.note == f"the token is {SECRET}"


def test_tags_are_added_and_removed(queries: QueryContext):
    change_marks(queries, SESSION, MarksChange(added_tags=("Bug", "#later")))
    change = MarksChange(added_tags=("new",), removed_tags=("bug", "unknown"))

    assert change_marks(queries, SESSION, change).marks.tags == ("later", "new")


def test_an_empty_text_removes_all_tags(queries: QueryContext):
    change_marks(queries, SESSION, MarksChange(tags="bug, later"))

    assert change_marks(queries, SESSION, MarksChange(tags=" ")).marks.tags == ()


@pytest.mark.parametrize("text", ["", "two words", "x" * 51, "<b>", "a\x00b", "#"])
def test_only_a_short_word_can_be_a_tag(text: str):
    with pytest.raises(UserError, match="cannot be a tag"):
        check_tag(text)


def test_tags_and_notes_have_limits(queries: QueryContext):
    tags = " ".join(f"tag{number}" for number in range(MAX_TAGS + 1))
    with pytest.raises(UserError, match="at most 20 tags"):
        change_marks(queries, SESSION, MarksChange(tags=tags))
    with pytest.raises(UserError, match="10,001 characters"):
        change_marks(queries, SESSION, MarksChange(note="x" * 10_001))
    # A note of exactly the maximum length is no error.
    change_marks(queries, SESSION, MarksChange(note="x" * MAX_NOTE_CHARACTERS))


def test_characters_of_a_note_that_cannot_be_stored_are_replaced(queries: QueryContext):
    marked = change_marks(queries, SESSION, MarksChange(note="a\0b\udcff"))

    assert marked.marks.note == "a b?"


def test_a_session_is_unread_until_it_is_visited(
    queries: QueryContext, claude: ClaudeHome
):
    summary = load_session_list(queries, Selection()).sessions[0].summary
    assert summary.ended_at
    claude.clock.at = summary.ended_at - timedelta(seconds=1)
    visited = change_marks(queries, SESSION, MarksChange(is_visited=True))
    claude.clock.at = summary.ended_at + timedelta(seconds=1)
    visited_again = change_marks(queries, SESSION, MarksChange(is_visited=True))
    unread = change_marks(queries, SESSION, MarksChange(is_visited=False))

    assert visited.marks.unread
    assert not visited_again.marks.unread
    assert unread.marks.unread


def test_sessions_are_selected_by_star_and_tag(app: App, claude: ClaudeHome):
    write_session(claude, "another-session")
    claude.sync()
    with app.open_queries() as queries:
        change_marks(queries, SESSION, MarksChange(is_starred=True))
        change_marks(queries, "another-session", MarksChange(tags="bug"))

        def list_ids(*, is_starred: bool = False, tag: str | None = None) -> list[str]:
            only = select_marked(queries, is_starred=is_starred, tag=tag)
            selection = Selection(only=only, with_hidden=False)
            return [s.id for s in load_session_list(queries, selection).sessions]

        assert list_ids(is_starred=True) == [SESSION]
        assert list_ids(tag="BUG") == ["another-session"]
        assert list_ids(is_starred=True, tag="bug") == []
        assert len(list_ids()) == 2


def test_tags_are_counted_by_sessions_that_exist(app: App, claude: ClaudeHome):
    write_session(claude, "another-session")
    claude.sync()
    with app.open_queries() as queries:
        change_marks(queries, SESSION, MarksChange(tags="bug later"))
        change_marks(queries, "another", MarksChange(tags="later", is_starred=True))
        annotations = queries.annotations
        name = next(iter(annotations.load().by_session))
        missing_name = name._replace(session_id="missing")
        annotations.update(
            missing_name, lambda old: MarksChange(tags="later").apply(old, 1), 1
        )
        counts = count_tags(queries)

    assert counts.to_dict() == {
        "starred_sessions": 1,
        "tags": [{"name": "later", "sessions": 2}, {"name": "bug", "sessions": 1}],
    }


def test_a_damaged_file_is_not_in_the_way_of_reading(app: App):
    app.paths.annotations_file.write_bytes(b"not a database" * 100)
    with app.open_queries() as queries:
        (session,) = load_session_list(queries, Selection()).to_dict()["sessions"]

        assert session["starred"] is False
        assert load_annotations(queries).by_session == {}
