"""Plans for a file with and without the guide."""

from __future__ import annotations

import pytest

from leslied.errors import UserError
from leslied.guide import Guide, plan_init, plan_remove

END = b"</leslie_system_guide>"


def make_block(version: str, text: str = "words") -> bytes:
    tag = f'<leslie_system_guide version="{version}" description="from 1.0.0">'
    return f"{tag}\n{text}\n".encode() + END


GUIDE = Guide("2.1.0", make_block("2.1.0"))


def test_a_missing_file_is_created():
    plan = plan_init(None, GUIDE)

    assert (plan.status, plan.data) == ("created", GUIDE.text + b"\n")
    assert (plan.previous_version, plan.next_version) == (None, "2.1.0")


def test_the_guide_is_appended_to_a_file_without_one():
    plan = plan_init(b"# Mine\n", GUIDE)

    assert plan.status == "appended"
    assert plan.data == b"# Mine\n\n" + GUIDE.text + b"\n"


@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_a_file_with_the_current_guide_is_unchanged(newline: bytes):
    data = b"a" + (b"\n\n" + GUIDE.text + b"\nb").replace(b"\n", newline)

    plan = plan_init(data, GUIDE)

    assert (plan.status, plan.data) == ("unchanged", data)


def test_a_guide_that_differs_only_in_newlines_is_unchanged():
    data = b"a\r\n\r\n" + GUIDE.text + b"\r\n"

    assert plan_init(data, GUIDE).status == "unchanged"


@pytest.mark.parametrize("installed", ["2.0.0", "2.0.7", "2.1.0-rc.1"])
def test_a_minor_update_needs_no_consent(installed: str):
    plan = plan_init(b"a\n" + make_block(installed) + b"\nb", GUIDE)

    assert (plan.status, plan.needs_consent) == ("updated", False)
    assert (plan.previous_version, plan.next_version) == (installed, "2.1.0")
    assert plan.data == b"a\n" + GUIDE.text + b"\nb"


@pytest.mark.parametrize("installed", ["1.9.0", "0.1.0", "latest", "2", ""])
def test_a_major_or_unknown_update_needs_consent(installed: str):
    plan = plan_init(make_block(installed), GUIDE)

    assert (plan.status, plan.needs_consent) == ("updated", True)
    assert plan.data == GUIDE.text


@pytest.mark.parametrize("installed", ["2.1.1", "2.2.0", "3.0.0", "3.0.0-rc.1"])
def test_a_downgrade_is_refused(installed: str):
    with pytest.raises(
        UserError, match=f"has version {installed}, but this leslied has"
    ):
        plan_init(make_block(installed), GUIDE)


def test_an_edited_guide_is_restored_and_reported_as_edited():
    plan = plan_init(make_block("2.1.0", "my own words"), GUIDE)

    assert (plan.status, plan.needs_consent) == ("updated", False)
    assert plan.was_edited


def test_two_guides_are_refused_with_their_line_numbers():
    data = b"a\n" + make_block("2.0.0") + b"\n\n" + GUIDE.text + b"\n"

    with pytest.raises(UserError, match="more than one guide, on lines 2 and 6"):
        plan_init(data, GUIDE)


def test_removing_the_guide_removes_every_copy():
    data = b"a\n\n" + make_block("1.0.0") + b"\n\nb\n\n" + GUIDE.text + b"\n"

    assert plan_remove(data).data == b"a\n\nb\n"


@pytest.mark.parametrize("bom", [b"\xff\xfe", b"\xfe\xff"])
def test_a_file_in_utf16_is_refused(bom: bytes):
    with pytest.raises(UserError, match="UTF-16"):
        plan_init(bom + b"a\0", GUIDE)


def test_removing_the_guide_deletes_a_file_that_init_created():
    created = plan_init(None, GUIDE).data

    plan = plan_remove(created)

    assert (plan.status, plan.data) == ("removed", None)
    assert (plan.previous_version, plan.next_version) == ("2.1.0", None)


def test_removing_the_guide_keeps_a_file_that_was_empty():
    filled = plan_init(b"", GUIDE).data

    assert plan_remove(filled).data == b""


@pytest.mark.parametrize("data", [None, b"", b"# Mine\n"])
def test_removing_a_missing_guide_changes_nothing(data: bytes | None):
    plan = plan_remove(data)

    assert (plan.status, plan.data) == ("absent", data)


@pytest.mark.parametrize("installed", ["1.0.0", "99.0.0", "latest"])
def test_a_guide_of_any_version_is_removed(installed: str):
    assert plan_remove(b"a\n\n" + make_block(installed) + b"\n").data == b"a\n"
