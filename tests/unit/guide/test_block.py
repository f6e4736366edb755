"""Finding, appending, replacing and removing the guide's block."""

from __future__ import annotations

import pytest

from leslied.errors import UserError
from leslied.guide.block import append_block, find_blocks, remove_block, replace_block
from tests.support.waiting import MAX_WAIT_SECONDS

TAG = b'<leslie_system_guide version="1.2.3" description="x">'
END = b"</leslie_system_guide>"
BLOCK = TAG + b"\nold words\n" + END
NEW_BLOCK = b'<leslie_system_guide version="2.0.0" description="y">\nnew\nwords\n' + END


def find_texts_and_versions(data: bytes) -> list[tuple[bytes, str]]:
    return [(data[b.start : b.end], b.version) for b in find_blocks(data)]


@pytest.mark.parametrize(
    "around",
    [
        (b"", b""),
        (b"", b"\n"),
        (b"# Mine\n\n", b"\n"),
        (b"# Mine\r\n\r\n", b"\r\n"),
        (b"\xef\xbb\xbf", b"\n"),
        (b"\xff\xfe not UTF-8 \x80\n", b"\n\xc3\x28\n"),
        (b"before\n", b"   \t\nafter"),
        (b"The tag " + TAG + b" is ours.\n", b"\n"),
        (b"`" + TAG + b"`\n", b"\n"),
        (TAG + b" is what it begins with.\n", b"\n"),
        (END + b" is what it ends with.\n", b"\n"),
        (b"    " + BLOCK.replace(b"\n", b"\n    ") + b"\n", b"\n"),
        (b"> " + BLOCK.replace(b"\n", b"\n> ") + b"\n", b"\n"),
        (b"```\n" + BLOCK + b"\n```\n", b"\n"),
        (b"```xml\n" + BLOCK + b"\n```\n", b"\n```\n" + BLOCK + b"\n```"),
        (b"~~~~\n~~~\n" + BLOCK + b"\n~~~~~  \n", b"\n"),
        (b"````md\n```\n" + TAG + b"\n````\n", b"\n"),
        (b"```\n```xml\n" + BLOCK + b"\n```\n", b"\n"),
        (b"````\nnever closed\n```\n" + BLOCK + b"\n```\n", b"\n"),
        (b"```\r\n" + TAG + b"\r\n```\r\n", b"\r\n"),
        (b"``` not a ` fence\n", b"\n"),
        (b"a fence never closed\n```\n", b"\n"),
        (b"```\nnever closed, then one that is\n~~~\n" + BLOCK + b"\n~~~\n", b"\n"),
        (b"<leslie_system_guides>\n", b"\n</leslie_system_guides>"),
    ],
)
def test_only_a_real_block_is_found(around: tuple[bytes, bytes]):
    before, after = around

    assert find_texts_and_versions(before + BLOCK + after) == [(BLOCK, "1.2.3")]


@pytest.mark.parametrize(
    ("tag", "version"),
    [
        (b'<leslie_system_guide version="1.0.0" description="x">', "1.0.0"),
        (b"<leslie_system_guide  description='x'\tversion='1.0.0' >", "1.0.0"),
        (b'<leslie_system_guide description="version=9.9.9" version="1.0.0">', "1.0.0"),
        (b"<leslie_system_guide description='version=\"9.9.9\"' version=1.0>", "1.0"),
        (b'<leslie_system_guide description="v3.1.0 > v3.0.0">', ""),
        (b'<leslie_system_guide data-version="7.0.0" version="">', ""),
        (b'<leslie_system_guide version="\xff">', "�"),
        (b"<leslie_system_guide>", ""),
    ],
)
def test_the_version_is_the_value_of_the_version_attribute(tag: bytes, version: str):
    ((_, found_version),) = find_texts_and_versions(tag + b"\nwords\n" + END)

    assert found_version == version


def test_a_block_can_be_on_one_line():
    line = TAG + b"words" + END

    assert find_texts_and_versions(b"# Mine\n" + line + b" \r\n") == [(line, "1.2.3")]


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (TAG, 1),
        (b"# Mine\n\n" + TAG + b"\nwords\n", 3),
        (b"a\n" + TAG + b"\nwords\n" + BLOCK + b"\n", 2),
        (b"a\n" + TAG + b"\nwords\n" + TAG + END, 2),
        (TAG + b"\n```\n" + END + b"\n```\n", 1),
        (BLOCK + b"\n" + TAG, 4),
        (TAG + b"\nwords" + END + b"\n", 1),
    ],
)
def test_a_start_without_an_end_is_refused(data: bytes, line: int):
    with pytest.raises(UserError, match=f"starts on line {line} but has no end"):
        find_blocks(data)


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"a\n" + END, 2),
        (BLOCK + b"\n" + END + b"\n", 4),
        (b"<leslie_system_guide version=>\nwords\n" + END + b"\n", 3),
    ],
)
def test_an_end_without_a_start_is_refused(data: bytes, line: int):
    with pytest.raises(UserError, match=f"ends on line {line} but has no start"):
        find_blocks(data)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", b"\nT\nU\n"),
        (b"a\n", b"a\n\nT\nU\n"),
        (b"a", b"a\n\nT\nU"),
        (b"a\n\n", b"a\n\n\nT\nU\n"),
        (b"a\r\n", b"a\r\n\r\nT\r\nU\r\n"),
        (b"a\r\nb", b"a\r\nb\r\n\r\nT\r\nU"),
        (b"a\nb\r\nc\n", b"a\nb\r\nc\n\nT\nU\n"),
        (b"\xef\xbb\xbf", b"\xef\xbb\xbf\nT\nU\n"),
        (b"\xef\xbb\xbfa\n", b"\xef\xbb\xbfa\n\nT\nU\n"),
        (b"\x80\xff\n", b"\x80\xff\n\nT\nU\n"),
    ],
)
def test_a_block_is_appended_after_a_blank_line(data: bytes, expected: bytes):
    assert append_block(data, b"T\nU") == expected


@pytest.mark.parametrize(
    ("before", "after"),
    [(b"", b""), (b"a\n", b"\nb"), (b"\xff\n", b" \n\x80"), (b"\xef\xbb\xbf", b"\n")],
)
def test_replacing_a_block_keeps_every_byte_around_it(before: bytes, after: bytes):
    data = before + BLOCK + after
    (block,) = find_blocks(data)

    assert replace_block(data, block, NEW_BLOCK) == before + NEW_BLOCK + after


def test_a_replaced_block_keeps_its_newlines():
    data = b"a\n" + BLOCK.replace(b"\n", b"\r\n") + b"\nb\n"
    (block,) = find_blocks(data)

    replaced = replace_block(data, block, NEW_BLOCK)

    assert replaced == b"a\n" + NEW_BLOCK.replace(b"\n", b"\r\n") + b"\nb\n"


@pytest.mark.parametrize(
    ("before", "after", "remaining"),
    [
        (b"a\n\n", b"\n", b"a\n"),
        (b"a\n\n", b"", b"a"),
        (b"a\n", b"\n", b"a\n"),
        (b"a\n", b"", b"a\n"),
        (b"", b"\nb\n", b"b\n"),
        (b"a\n\n", b"\n\nb\n", b"a\n\nb\n"),
        (b"a\n\n", b"\nb\n", b"a\n\nb\n"),
        (b"a\n", b"\nb\n", b"a\nb\n"),
        (b"a\n\n", b"  \n\nb\n", b"a\n\nb\n"),
        (b"a\r\n\n", b"\n", b"a\r\n"),
    ],
)
def test_removing_a_block_restores_the_text_around_it(
    before: bytes, after: bytes, remaining: bytes
):
    data = before + BLOCK + after
    (block,) = find_blocks(data)

    assert remove_block(data, block) == remaining


@pytest.mark.threat("P6")
@pytest.mark.timeout(MAX_WAIT_SECONDS)
@pytest.mark.parametrize(
    "line", [b"```a\n", b"```\n", b"~~~ ~\n", b"<leslie_system_guide \n", b"\n"]
)
def test_a_hostile_file_is_read_quickly(line: bytes):
    """The time is linear in the size of the file."""
    assert find_blocks(line * (2**20 // len(line))) == []


@pytest.mark.timeout(MAX_WAIT_SECONDS)
def test_a_hostile_line_is_read_quickly():
    line = b"<leslie_system_guide" + b" a=b" * 200_000 + b" " * 200_000

    assert find_blocks(line) == []
