"""Names of files are harmless, whatever a prompt or an id contains."""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from leslied.hooks import files as hook_files
from leslied.layout import is_thread_id
from leslied.sinks import OutputPolicy
from leslied.sinks._names import make_safe_name
from leslied.sinks.leslie import make_file_name

PIECES = [
    *(
        "/",
        "..",
        "\\",
        "\0",
        "-",
        "--help",
        ".",
        " ",
        "CON",
        "nul",
        "COM1",
        "~",
        "$HOME",
    ),
    *("\n", "\r", "\x1b[31m", "\x7f", "\x85", "\u2028", "\u2029", "\ufeff", "\ud800"),
    *(
        "\u202e",
        "\u2066",
        "\u200b",
        "\u200c",
        "\u200d",
        "\u2060",
        "\u00ad",
        "\U000e0041",
        "\u3164",
        "\ufe0f",
        "\U000e0100",
        "\u034f",
        "क्\u200dष",
        "می\u200cخواهم",
    ),
    *(
        "а",
        "ｅ",
        "e\u0301",
        "漢字",
        "नि",
        "👩‍👩‍👧",
        "🇩🇪",
        "'",
        '"',
        "`",
        "|",
        "*",
        "a" * 90,
    ),
]
JOINERS = "\u200c\u200d"
"""Format characters that some scripts need inside of a word."""
INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u3164\uffa0\U000e0100-\U000e01ef]|\ufe0f(?!\u20e3)"
    "|(?<![\u0620-\ua9df])[\u200c\u200d]"
)
"""Letters and marks without a glyph; some scripts need joiners inside of a word."""
SAFE_ID = re.compile(r"(?!\.)[A-Za-z0-9._-]{1,64}")


def generate_texts(seed: int) -> Iterator[str]:
    """Yield ten thousand hostile texts."""
    rng = random.Random(seed)
    for _ in range(10_000):
        yield "".join(rng.choices(PIECES, k=rng.randrange(12)))


@pytest.mark.fault("D12")
@pytest.mark.threat("P4")
@pytest.mark.parametrize("seed", range(10))
def test_a_file_name_has_no_tricks(seed: int):
    """One hundred thousand names."""
    at = datetime(2026, 2, 8, 14, 30, tzinfo=UTC)
    for number, prompt in enumerate(generate_texts(seed)):
        name = make_file_name(at, prompt, number % 3 + 1)

        assert re.fullmatch(r"20260208-1430-[^\s/\\.~$'\"`|*-][^\s/\\.]*\.txt", name)
        assert len(name.encode()) <= 200
        assert unicodedata.is_normalized("NFC", name)
        assert not INVISIBLE.search(name)
        assert not [
            character
            for character in name
            if unicodedata.category(character)[0] in "CZ" and character not in JOINERS
        ]


@pytest.mark.threat("P3")
@pytest.mark.parametrize("seed", range(10))
def test_every_id_that_becomes_a_name_is_in_the_allow_list(seed: int):
    """One hundred thousand ids."""
    policy = OutputPolicy(home=Path("/home/dev"), central=Path("/central"))
    for text in generate_texts(seed):
        folder = policy.choose_central(text.replace("\0", "")).folder
        names = [make_safe_name(text), hook_files.make_safe_name(text), folder.name]

        assert all(map(SAFE_ID.fullmatch, names))
        assert not is_thread_id(text) or SAFE_ID.fullmatch(text)
