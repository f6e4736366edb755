"""The guide that ships with leslied."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

from leslied.guide.block import find_blocks


@dataclass(frozen=True, slots=True)
class Guide:
    """One version of the guide: the bytes of its block, with lines ending in LF."""

    version: str
    text: bytes

    @classmethod
    def parse(cls, data: bytes) -> Guide:
        """Return the guide in these bytes.

        Raise ValueError unless they contain exactly one block.
        """
        (block,) = find_blocks(data)
        return cls(block.version, data[block.start : block.end])


def load_guide() -> Guide:
    """Load the guide of the installed leslied."""
    return Guide.parse((files("leslied.guide") / "text.md").read_bytes())
