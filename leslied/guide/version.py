"""Comparison of guide versions."""

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
    """Return the kind of update from the installed to the shipped version.

    `minor` includes patches. `older` means that the shipped version is older, `unknown`
    that one of them is not a semantic version.
    """
    before, after = _parse_version(installed), _parse_version(shipped)
    if before is None or after is None:
        return "unknown"
    if before >= after:
        return "same" if before == after else "older"
    return "minor" if before[0] == after[0] else "major"


def _parse_version(version: str) -> _Key | None:
    """Return a sort key of a semantic version; build metadata is ignored."""
    match = _VERSION.fullmatch(version) if len(version) <= _MAX_CHARACTERS else None
    if match is None:
        return None
    is_final = match[4] is None
    prerelease = () if is_final else tuple(map(_rank, match[4].split(".")))
    rank = ((int(is_final), 0, ""), *prerelease)
    return int(match[1]), int(match[2]), int(match[3]), rank


def _rank(identifier: str) -> tuple[int, int, str]:
    """Return a sort key: numbers by value, and before words."""
    return (0, int(identifier), "") if identifier.isdigit() else (1, 0, identifier)
