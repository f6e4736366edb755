"""The text of the guide, as agents read it."""

from __future__ import annotations

import hashlib
import re

from leslied.cli import COMMANDS
from leslied.guide import load_guide
from leslied.guide.block import find_blocks

EXPECTED_COMMANDS = {"context", "show", "search", "threads", "assets", "resume", "init"}
"""Commands that the guide mentions; each must exist."""

VERSION_AND_DIGEST = ("3.1.3", "f2a7f860815966f4")
"""The text of a version never changes: a new text needs a new version."""

GUIDE = load_guide()
TEXT = GUIDE.text.decode()


def test_the_guide_is_short():
    assert len(TEXT.split()) < 800


def test_every_command_in_the_guide_exists():
    named_commands = set(re.findall(r"`leslied ([a-z]+)", TEXT))

    assert named_commands == EXPECTED_COMMANDS
    assert named_commands <= set(COMMANDS)


def test_every_asset_type_is_explained():
    rows = re.findall(r"^\| (\w+) \|", TEXT, re.MULTILINE)

    assert rows[1:] == [
        "plan",
        "progress",
        "design",
        "learnings",
        "discuss",
        "transcript",
    ]


def test_no_line_of_the_guide_is_a_code_fence():
    """A fence in the block would close one that the file left open."""
    assert not re.search(r"^ {0,3}(```|~~~)", TEXT, re.MULTILINE)


def test_the_guide_asks_not_to_be_edited():
    first, second, third, *_ = TEXT.split("\n")

    assert first.startswith('<leslie_system_guide version="')
    assert second.startswith("<!--")
    assert third.startswith("<!-- Do not edit this block")


def test_the_text_is_one_block_in_ascii():
    (block,) = find_blocks(TEXT.encode())

    assert (block.start, block.end) == (0, len(TEXT.encode()))
    assert TEXT.isascii()
    assert "\r" not in TEXT


def test_a_changed_text_needs_a_new_version():
    assert (
        GUIDE.version,
        hashlib.sha256(GUIDE.text).hexdigest()[:16],
    ) == VERSION_AND_DIGEST
