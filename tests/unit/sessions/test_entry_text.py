"""The text by which entries are compared, and its similarity."""

from __future__ import annotations

from leslied.sessions.entry_text import compute_similarity, record_to_text
from tests.support.records import make_event, make_record
from tests.support.units import make_call


def test_the_order_of_arguments_does_not_matter():
    a = make_call("Edit", '{"path": "a.py", "line": 3}', "1")
    b = make_call("Edit", '{"line":3,"path":"a.py"}', "2")

    assert record_to_text(a) == record_to_text(b) == "line: 3\npath: a.py"


def test_an_argument_with_several_lines_starts_below_its_name():
    call = make_call("Write", '{"text": "one\\ntwo"}', "1")

    assert record_to_text(call) == "text:\none\ntwo"


def test_arguments_that_are_not_json_are_unchanged():
    assert record_to_text(make_call("apply", "*** Begin", "1")) == "*** Begin"


def test_line_ends_and_trailing_spaces_do_not_matter():
    assert record_to_text(make_record("a  \r\nb\n\n")) == "a\nb"


def test_the_text_of_a_result_in_a_side_file_is_complete():
    assert (
        record_to_text(make_record("cut", spilled="cut and whole")) == "cut and whole"
    )


def test_the_text_of_an_event_is_its_note():
    assert (
        record_to_text(make_event("notice", metadata={"note": "interrupt"}))
        == "interrupt"
    )


def test_similarity_counts_words_in_any_script():
    assert compute_similarity("fix the login", "fix the login") == 1.0
    assert 0.6 < compute_similarity("fix the login", "fix the logout") < 1.0
    assert compute_similarity("修复登录错误", "修复登录问题") > 0.6
    assert compute_similarity("fix", "登录") == 0.0
    assert compute_similarity("?", "!") == 0.0
