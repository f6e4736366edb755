"""Rules and exceptions that users write themselves, checked before they are used."""

from __future__ import annotations

import re
from re import _constants, _parser  # type: ignore[attr-defined]  # no public parser
from typing import TYPE_CHECKING, Any

from leslied.redact.rules import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

_KIND = re.compile(r"[a-z][a-z0-9-]{0,39}")
_MAX_LENGTH = 4000
"""Longest text that a rule may match."""
_MAX_LOOKAHEAD = 100
"""Number of characters after a match that a pattern can look at."""
_MAX_WAYS = 1_000_000
"""Bound of the work per anchor: the number of ways in which a pattern may be tried."""
_ASSUMED_REPEATS = 500
"""Assumed number of repeats where an exception sets no bound, to estimate its work."""


def make_custom_rule(kind: str, pattern: str, anchors: tuple[str, ...]) -> Rule:
    """Return a rule; raise ValueError, with the reason, if it is unusable."""
    if not _KIND.fullmatch(kind):
        raise ValueError(
            "the name must begin with a letter, and have at most 40 of a-z, 0-9 and -"
        )
    if not anchors or not all(anchor.strip() for anchor in anchors):
        raise ValueError("anchors must list at least one text, and none may be empty")
    tree = _parse(pattern)
    if _has_unbounded_repeat(tree):
        raise ValueError("the pattern repeats without a bound; write {1,100}, not +")
    shortest, longest = tree.getwidth()
    if not shortest:
        raise ValueError("the pattern matches an empty text")
    if longest > _MAX_LENGTH:
        raise ValueError(f"the pattern matches more than {_MAX_LENGTH:,} characters")
    _check_work(tree)
    lowered = tuple(anchor.lower() for anchor in anchors)
    start = _get_literal_start(tree)
    if not any(a.startswith(start) or start.startswith(a) for a in lowered):
        raise ValueError("the pattern must begin with one of the anchors")
    return Rule(kind, lowered, pattern, after=longest + _MAX_LOOKAHEAD)


def compile_exception(pattern: str) -> re.Pattern[str]:
    """Compile a pattern of values that are not secret.

    Raise ValueError, with the reason, if the pattern is unusable.
    """
    _check_work(_parse(pattern))
    return re.compile(pattern)


def _parse(pattern: str) -> Any:
    try:
        re.compile(pattern, re.ASCII)
        return _parser.parse(pattern, re.ASCII)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"the pattern is invalid: {error}") from error


def _check_work(tree: Any) -> None:
    """Raise ValueError for a pattern that may take too long on some text."""
    if _count_ways(tree) > _MAX_WAYS:
        raise ValueError("the pattern may be too slow; use fewer or shorter repeats")


def _get_literal_start(tree: Any) -> str:
    """Return the characters that every match begins with, in lower case."""
    text = ""
    for operation, argument in tree:
        name = str(operation)
        if name == "SUBPATTERN":
            return text + _get_literal_start(argument[-1])
        if name == "LITERAL":
            text += chr(argument).lower()
        elif name not in ("AT", "ASSERT", "ASSERT_NOT"):
            break
    return text


def _has_unbounded_repeat(tree: Any) -> bool:
    return any(
        highest is _constants.MAXREPEAT or _has_unbounded_repeat(item)
        for _, highest, item in _iter_nested(tree)
    )


def _count_ways(tree: Any) -> int:
    """Return the maximum number of ways in which parts of a pattern can be tried."""
    ways = 1
    for lowest, highest, item in _iter_nested(tree):
        bound = (
            lowest + _ASSUMED_REPEATS if highest is _constants.MAXREPEAT else highest
        )
        inner = _count_ways(item)
        ways *= _sum_powers(inner, lowest, bound)
        if ways > _MAX_WAYS:
            break
    return ways


def _sum_powers(base: int, lowest: int, highest: int) -> int:
    """Return the sum of `base**n` from `lowest` to `highest`; stop above the limit."""
    if base == 1:
        return highest - lowest + 1
    total = 0
    for exponent in range(lowest, highest + 1):
        total += base**exponent
        if total > _MAX_WAYS:
            break
    return total


def _iter_nested(tree: Any) -> Iterator[tuple[int, int, Any]]:
    """Yield what groups, repeats and choices contain, and how often it may repeat.

    For a choice, also yield an empty part that repeats up to as often as there are
    alternatives, so that each of them counts as a way.
    """
    for operation, argument in tree:
        name = str(operation)
        if name.endswith("REPEAT"):
            yield argument
        elif name == "BRANCH":
            yield (1, len(argument[1]), ())
            yield from ((1, 1, alternative) for alternative in argument[1])
        elif name == "GROUPREF_EXISTS":
            yield from ((1, 1, item) for item in argument[1:] if item)
        elif name in ("SUBPATTERN", "ASSERT", "ASSERT_NOT"):
            yield (1, 1, argument[-1])
        elif name == "ATOMIC_GROUP":
            yield (1, 1, argument)
