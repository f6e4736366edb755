"""Rules of tokens that begin with a prefix, and the alphabets of tokens."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leslied.redact.rules._rule import WORD_START, Rule

if TYPE_CHECKING:
    from collections.abc import Iterable

ANY = "[A-Za-z0-9_-]"
ALNUM = "[A-Za-z0-9]"
HEX = "[a-fA-F0-9]"
BASE64 = "[A-Za-z0-9+/]"
DOTTED = "[A-Za-z0-9_.=-]"
END = "(?![A-Za-z0-9]|[_+-][A-Za-z0-9])"
DIGIT = r"(?=[A-Za-z_-]{0,40}+\d)"
"""Requires a digit soon, where the prefix is also the start of names in programs."""
RANDOM = r"(?=(?:[A-Za-z_-]{0,30}\d){2})(?=[^A-Z\s]{0,30}[A-Z])(?=[^a-z\s]{0,30}[a-z])"
"""Requires two digits and letters of both cases soon, for prefixes that are words."""
_MAXIMUM = re.compile(r",(\d+)\}")
_MARGIN = 200
"""Upper bound for the length of a prefix and the parts of fixed length after it."""


def _make_rule(kind: str, prefixes: str, rest: str) -> Rule:
    """Return the rule of tokens that begin with one of the prefixes.

    `prefixes` are separated by spaces; `rest` is a pattern of what follows them.
    """
    names = prefixes.split()
    alternatives = "|".join(map(re.escape, names))
    return Rule(
        kind,
        tuple(name.lower() for name in names),
        f"{WORD_START}(?:{alternatives}){rest}",
        after=_MARGIN + sum(int(number) for number in _MAXIMUM.findall(rest)),
    )


def make_rules(*tables: Iterable[tuple[str, str, str]]) -> tuple[Rule, ...]:
    """Return the rules of tables whose rows are the arguments of `_make_rule`."""
    return tuple(_make_rule(*row) for table in tables for row in table)
