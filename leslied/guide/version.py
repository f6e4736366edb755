"""Comparison of guide versions."""

from __future__ import annotations

import re
from typing import Literal

VersionStep = Literal["unknown", "downgrade", "same", "minor", "major"]

_MAX_CHARACTERS = 64
_NUMBER = r"(0|[1-9][0-9]*)"
_VERSION = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}"
    r"(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z.-]+)?"
)
_VersionKey = tuple[int, int, int, tuple[tuple[int, int, str], ...]]


def compare_versions(installed: str, shipped: str) -> VersionStep:
    """Return the kind of update from the installed to the shipped version.

    `minor` includes patches. `downgrade` means that the shipped version is the older
    one, `unknown` that one of the two is not a semantic version.
    """
    old, new = _parse_version(installed), _parse_version(shipped)
    if old is None or new is None:
        return "unknown"
    if old >= new:
        return "same" if old == new else "downgrade"
    return "minor" if old[0] == new[0] else "major"


def _parse_version(version: str) -> _VersionKey | None:
    """Return a sort key of a semantic version; build metadata is ignored."""
    match = _VERSION.fullmatch(version) if len(version) <= _MAX_CHARACTERS else None
    if match is None:
        return None
    is_final = match[4] is None
    prerelease = (
        () if is_final else tuple(map(_make_identifier_key, match[4].split(".")))
    )
    prerelease_key = ((int(is_final), 0, ""), *prerelease)
    return int(match[1]), int(match[2]), int(match[3]), prerelease_key


def _make_identifier_key(identifier: str) -> tuple[int, int, str]:
    """Return a sort key: numbers are sorted by value and come before words."""
    return (0, int(identifier), "") if identifier.isdigit() else (1, 0, identifier)
