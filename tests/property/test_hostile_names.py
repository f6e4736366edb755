"""Whatever a prompt or an id contains, the name of a file made of it is harmless."""

from __future__ import annotations

import os
import random
import re
import unicodedata
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest

from leslied.hooks import files as hook_files
from leslied.layout import is_thread_id
from leslied.sinks._names import make_safe_name
from leslied.sinks._policy import OutputPolicy
from leslied.sinks.leslie import make_file_name

pytestmark = pytest.mark.heavy
COUNT = int(os.environ.get("LESLIED_NAMES", "100000"))
AT = datetime(2026, 2, 8, 14, 30, tzinfo=UTC)
SAFE_ID = re.compile(r"(?!\.)[A-Za-z0-9._-]{1,64}")
PIECES = (
    *("..", ".", "/", "\\", "\0", "-rf", "--", " ", ". ", "CON", "NUL", "com1.txt"),
    *("\u202e", "\u200b", "\u200d", "\u200c", "\u2066", "\ufeff", "\ufe0f", "\u3164"),
    *("\U000e0041", "\U000e0100", "\u034f", "\ud800", "\udcff", "\x1b[31m", "\r\n"),
    *(
        "раypal",
        "ｆｉｘ",
        "e\u0301",
        "क्\u200dष",
        "می\u200cخواهم",
        "日本",
        "👩\u200d👧",
        "a",
    ),
    *("a" * 300, "日" * 100, "e" + "\u0301" * 200, "$(id)", "`id`", "%2f", "~", "*"),
)


def generate_texts() -> Iterator[str]:
    """Yield hostile texts, the same ones every time."""
    generator = random.Random(4)
    for _ in range(COUNT):
        text = "".join(generator.choices(PIECES, k=generator.randrange(1, 6)))
        extra = generator.choices(range(0x110000), k=generator.randrange(4))
        yield text + "".join(map(chr, extra))


def find_fault(name: str) -> str:
    """Return what is wrong with the name of a file, or ""."""
    stem = name.removesuffix(".txt")
    slug = stem[len("20260208-1430-") :]
    if not name.startswith("20260208-1430-") or stem == name or not slug:
        return "form"
    if len(os.fsencode(name)) > 255 or not unicodedata.is_normalized("NFC", name):
        return "length or form"
    for before, character in pairwise(name):
        is_visible = unicodedata.category(character)[0] in "LNM" or character in "-_."
        # Words of these scripts need joiners.
        is_joiner = character in "\u200c\u200d" and "\u0620" <= before <= "\ua9df"
        if not is_visible and not is_joiner:
            return f"U+{ord(character):04X}"
    return "" if slug[0] not in "-." and slug[-1] not in "-. " else "ends"


@pytest.mark.threat("P4")
def test_every_name_of_a_transcript_is_harmless():
    faults = {
        text: fault
        for text in generate_texts()
        if (fault := find_fault(make_file_name(AT, text)))
    }

    assert faults == {}


@pytest.mark.threat("P3")
def test_every_id_that_becomes_a_name_is_in_the_allow_list():
    policy = OutputPolicy(home=Path("/home/dev"), central=Path("/central"))

    for text in generate_texts():
        names = [make_safe_name(text), hook_files.make_safe_name(text)]
        names += [policy.choose_central(text.replace("\0", "")).folder.name]
        assert all(map(SAFE_ID.fullmatch, names)), text
        assert not is_thread_id(text) or SAFE_ID.fullmatch(text)
