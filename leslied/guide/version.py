"""Comparing the versions of two guides."""

from __future__ import annotations

import re
from typing import Literal

VersionStep = Literal["unknown", "older", "same", "minor", "major"]

_MAX_CHARACTERS = 64
_NUMBER = r"(0|[1-9][0-9]*)"
_VERSION = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}"
    r"(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z.-]+)?"
)
_Key = tuple[int, int, int, tuple[tuple[int, int, str], ...]]


def compare_versions(installed: str, shipped: str) -> VersionStep:
    """What going from the found version to ours means.

    `minor` is also a patch, `older` is the way back, and `unknown` where the found
    one is no semantic version.
    """
    before, after = _parse_version(installed), _parse_version(shipped)
    if before is None or after is None:
        return "unknown"
    if before >= after:
        return "same" if before == after else "older"
    return "minor" if before[0] == after[0] else "major"


def _parse_version(version: str) -> _Key | None:
    """A key in the order of semantic versions; what stands after `+` does not count."""
    match = _VERSION.fullmatch(version) if len(version) <= _MAX_CHARACTERS else None
    if match is None:
        return None
    released = match[4] is None
    early = () if released else tuple(map(_rank, match[4].split(".")))
    return int(match[1]), int(match[2]), int(match[3]), ((int(released), 0, ""), *early)


def _rank(word: str) -> tuple[int, int, str]:
    """Numbers by value and before words."""
    return (0, int(word), "") if word.isdigit() else (1, 0, word)
