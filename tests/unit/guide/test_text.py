"""The text itself, as an agent reads it."""

from __future__ import annotations

import hashlib
import re

from leslied.cli import COMMANDS
from leslied.guide import load_guide
from leslied.guide.block import find_blocks

EXPECTED = {"context", "show", "search", "threads", "assets", "resume", "init"}
"""The commands that the guide teaches; each must be there when the guide ships."""

DIGEST = ("3.1.0", "d98070e82e0a7ecc")
"""The text of a version never changes: other words, another version."""

COMING: set[str] = set()

GUIDE = load_guide()
TEXT = GUIDE.text.decode()


def test_the_guide_is_short_enough_to_be_read():
    assert len(TEXT.split()) < 800


def test_every_command_it_names_is_one():
    named = set(re.findall(r"`leslied ([a-z]+)", TEXT))

    assert named == EXPECTED
    assert named - COMING <= set(COMMANDS)


def test_every_asset_is_explained():
    rows = re.findall(r"^\| (\w+) \|", TEXT, re.MULTILINE)

    assert rows[1:] == [
        "plan",
        "progress",
        "design",
        "learnings",
        "discuss",
        "transcript",
    ]


def test_no_line_of_it_could_be_taken_for_a_fence():
    """A fence in the block would pair with one that the file never closed."""
    assert not re.search(r"^ {0,3}(```|~~~)", TEXT, re.MULTILINE)


def test_it_says_that_it_is_not_to_be_edited():
    first, second, third, *_ = TEXT.split("\n")

    assert first.startswith('<leslie_system_guide version="')
    assert second.startswith("<!--")
    assert third.startswith("<!-- Do not edit here")


def test_the_text_is_plain_and_whole():
    (block,) = find_blocks(TEXT.encode())

    assert (block.start, block.end) == (0, len(TEXT.encode()))
    assert TEXT.isascii()
    assert "\r" not in TEXT


def test_other_words_are_another_version():
    assert (GUIDE.version, hashlib.sha256(GUIDE.text).hexdigest()[:16]) == DIGEST
