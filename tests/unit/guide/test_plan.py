"""What a file becomes. Row 12 of the origins' test vectors."""

from __future__ import annotations

import pytest

from leslied.errors import UserError
from leslied.guide import Guide, plan_init, plan_remove

END = b"</leslie_system_guide>"


def make(version: str, words: str = "words") -> bytes:
    tag = f'<leslie_system_guide version="{version}" description="from 1.0.0">'
    return f"{tag}\n{words}\n".encode() + END


GUIDE = Guide("2.1.0", make("2.1.0"))


def test_a_file_that_is_missing_is_made():
    change = plan_init(None, GUIDE)

    assert (change.status, change.data) == ("created", GUIDE.text + b"\n")
    assert (change.previous_version, change.next_version) == (None, "2.1.0")


def test_a_file_without_a_guide_gets_it_at_the_end():
    change = plan_init(b"# Mine\n", GUIDE)

    assert change.status == "appended"
    assert change.data == b"# Mine\n\n" + GUIDE.text + b"\n"


@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_the_same_guide_again_changes_no_byte(newline: bytes):
    data = b"a" + (b"\n\n" + GUIDE.text + b"\nb").replace(b"\n", newline)

    change = plan_init(data, GUIDE)

    assert (change.status, change.data) == ("unchanged", data)


def test_a_guide_whose_line_ends_git_changed_is_still_the_same():
    data = b"a\r\n\r\n" + GUIDE.text + b"\r\n"

    assert plan_init(data, GUIDE).status == "unchanged"


@pytest.mark.parametrize("found", ["2.0.0", "2.0.7", "2.1.0-rc.1"])
def test_a_minor_step_is_taken(found: str):
    change = plan_init(b"a\n" + make(found) + b"\nb", GUIDE)

    assert (change.status, change.needs_consent) == ("updated", False)
    assert (change.previous_version, change.next_version) == (found, "2.1.0")
    assert change.data == b"a\n" + GUIDE.text + b"\nb"


@pytest.mark.parametrize("found", ["1.9.0", "0.1.0", "latest", "2", ""])
def test_a_major_step_or_an_unknown_one_needs_consent(found: str):
    change = plan_init(make(found), GUIDE)

    assert (change.status, change.needs_consent) == ("updated", True)
    assert change.data == GUIDE.text


@pytest.mark.parametrize("found", ["2.1.1", "2.2.0", "3.0.0", "3.0.0-rc.1"])
def test_the_way_back_is_refused(found: str):
    with pytest.raises(UserError, match=f"has version {found}, this leslied brings"):
        plan_init(make(found), GUIDE)


def test_words_changed_by_hand_are_put_back_and_told():
    change = plan_init(make("2.1.0", "my own words"), GUIDE)

    assert (change.status, change.needs_consent) == ("updated", False)
    assert change.was_edited


def test_two_guides_are_refused_with_their_lines():
    data = b"a\n" + make("2.0.0") + b"\n\n" + GUIDE.text + b"\n"

    with pytest.raises(UserError, match="more than one guide, on lines 2 and 6"):
        plan_init(data, GUIDE)


def test_two_guides_are_both_taken_out():
    data = b"a\n\n" + make("1.0.0") + b"\n\nb\n\n" + GUIDE.text + b"\n"

    assert plan_remove(data).data == b"a\n\nb\n"


@pytest.mark.parametrize("mark", [b"\xff\xfe", b"\xfe\xff"])
def test_a_file_of_wide_characters_is_refused(mark: bytes):
    with pytest.raises(UserError, match="UTF-16"):
        plan_init(mark + b"a\0", GUIDE)


def test_removing_what_init_made_leaves_no_file():
    made = plan_init(None, GUIDE).data

    change = plan_remove(made)

    assert (change.status, change.data) == ("removed", None)
    assert (change.previous_version, change.next_version) == ("2.1.0", None)


def test_an_empty_file_is_empty_again_afterwards():
    filled = plan_init(b"", GUIDE).data

    assert plan_remove(filled).data == b""


@pytest.mark.parametrize("data", [None, b"", b"# Mine\n"])
def test_removing_where_there_is_none_changes_nothing(data: bytes | None):
    change = plan_remove(data)

    assert (change.status, change.data) == ("absent", data)


@pytest.mark.parametrize("found", ["1.0.0", "99.0.0", "latest"])
def test_a_guide_of_any_version_is_taken_out(found: str):
    assert plan_remove(b"a\n\n" + make(found) + b"\n").data == b"a\n"
