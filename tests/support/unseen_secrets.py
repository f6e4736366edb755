"""A labelled set of made-up secrets that the rules were not adapted to.

It was written without sight of the rules, by somebody who knows the tokens of vendors,
and is kept as data: changing a rule because of it would make it useless.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import zstandard

_PATH = Path(__file__).parents[1] / "fixtures/secrets/unseen.jsonl.zst"


class LabelledText(msgspec.Struct, frozen=True):
    """A text, and the secret in it; the tier of a text without one is `harmless`."""

    tier: str
    kind: str
    position: str
    text: str
    secret: str


def load_unseen_texts() -> Iterator[LabelledText]:
    """Yield the texts of the set."""
    lines = zstandard.ZstdDecompressor().decompress(_PATH.read_bytes()).split(b"\n")
    yield from (msgspec.json.decode(line, type=LabelledText) for line in lines)
