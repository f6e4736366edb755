"""Names of transcripts are harmless, whatever a prompt contains."""

from __future__ import annotations

import random
import re
import unicodedata
from datetime import UTC, datetime

import pytest

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


@pytest.mark.threat("P4")
@pytest.mark.parametrize("seed", range(10))
def test_a_file_name_has_no_tricks(seed: int):
    """One hundred thousand names."""
    rng = random.Random(seed)
    at = datetime(2026, 2, 8, 14, 30, tzinfo=UTC)
    for _ in range(10_000):
        prompt = "".join(rng.choices(PIECES, k=rng.randrange(12)))

        name = make_file_name(at, prompt, rng.randrange(1, 4))

        assert re.fullmatch(r"20260208-1430-[^\s/\\.~$'\"`|*-][^\s/\\.]*\.txt", name)
        assert len(name.encode()) <= 200
        assert unicodedata.is_normalized("NFC", name)
        assert not [
            character
            for character in name
            if unicodedata.category(character)[0] in "CZ" and character not in JOINERS
        ]
