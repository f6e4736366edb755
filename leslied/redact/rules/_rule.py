"""What a rule is: an anchor that is cheap to find, and a pattern around it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable

Tier = Literal["definite", "contextual"]

REACHES = (250, 800, 25_000)
"""Lengths of matches: of most tokens, of most secrets, and of all."""
WORD_START = r"(?<![A-Za-z0-9])"
"""Matches where no letter or digit precedes; `_` and `*` may be Markdown."""
WORD_END = r"(?![A-Za-z0-9])"
UUID = "[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
_DIGITS = r"(?=(?:[A-Za-z]{0,30}\d){2})(?=\d{0,40}[A-Za-z])"
_CASES = r"(?=(?:[A-Z0-9]{0,6}[a-z0-9]{1,3}[A-Z]){4})"
TOKEN = rf"(?:{_DIGITS}|{_CASES})[A-Za-z0-9]{{20,128}}={{0,2}}"
"""A value that no word looks like: two digits, or letters whose case changes often."""
_ASSERTIONS = ("(?=", "(?!", "(?<=", "(?<!")
_PARTS = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.", re.DOTALL)
"""An escape, a set of characters, or any other character of a regular expression."""
MIXTURE = r"(?=(?:[\w+/.~:-]{0,24}?[A-Za-z]\d{1,4}[A-Za-z]){2})"
"""Requires digits between letters, which the words of a name do not have."""


@dataclass(frozen=True, eq=False)
class Rule:
    """The pattern of one kind of secret; the marker shows the kind to the reader.

    The pattern is tried only at an anchor. Its repeats are bounded and not nested, so
    that it takes linear time and no match is longer than `before` plus `after`.
    """

    kind: str
    anchors: tuple[str, ...]
    """Lower-case strings, one of which is part of every match."""
    regex: str
    """Matches from the anchor on. Its group `secret` is replaced, or if there is none,
    the whole match with its lead."""
    lead: str | Callable[[str], tuple[int, int] | None] = ""
    """Pattern that the text before the anchor must end with; it may have the group
    `secret`, too. Or a function that returns where that text has the lead."""
    before: int = 40
    """Number of characters before the anchor that the lead may have."""
    after: int = 600
    """Number of characters from the start of the anchor that a match may have."""
    find_end: Callable[[str, int], int] | None = None
    """Function that returns the secret's end, for the text and the match's end."""
    tier: Tier = "definite"

    @property
    def reach(self) -> int:
        """Maximum length of a match."""
        return REACHES[-1] if self.find_end else self.before + self.after

    @property
    def starts_a_word(self) -> bool:
        """Whether no letter or digit may precede the anchor."""
        return self.regex.startswith(WORD_START)

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Compiled pattern; compiled on first use, because most are never used."""
        return re.compile(self.regex, re.ASCII)

    def match(self, text: str, position: int) -> re.Match[str] | None:
        """Return the match that begins at an anchor's position, or None.

        Compiling a long pattern takes up to 6 ms. Most of those begin with assertions
        that few places fulfil: until one does, only the assertions are compiled.
        """
        end = position + self.after
        is_compiled = "pattern" in self.__dict__
        if not is_compiled and not self._first_assertions.match(text, position, end):
            return None
        return self.pattern.match(text, position, end)

    @cached_property
    def _first_assertions(self) -> re.Pattern[str]:
        """The look-aheads and look-behinds that the pattern begins with."""
        return re.compile(_find_first_assertions(self.regex), re.ASCII)

    @cached_property
    def find_lead(self) -> Callable[[str], tuple[int, int] | None]:
        """Return a function that returns where a text has the lead, or its secret."""
        if callable(self.lead):
            return self.lead
        pattern = re.compile(rf"(?:{self.lead})\Z", re.ASCII)
        group = self._get_group(pattern)
        return lambda text: (
            match.span(group) if (match := pattern.search(text)) else None
        )

    @cached_property
    def group(self) -> str | int:
        """The group that is replaced."""
        return self._get_group(self.pattern)

    @cached_property
    def has_secret_in_lead(self) -> bool:
        """Whether the lead contains the whole secret."""
        return isinstance(self.lead, str) and "(?P<secret>" in self.lead

    @cached_property
    def has_secret_before(self) -> bool:
        """Whether the lead is part of the secret, or contains it."""
        return self.group == 0 or self.has_secret_in_lead

    @staticmethod
    def _get_group(pattern: re.Pattern[str]) -> str | int:
        return "secret" if "secret" in pattern.groupindex else 0


def _find_first_assertions(regex: str) -> str:
    """Return the assertions that a regular expression begins with.

    Return "" if it is a list of alternatives, of which each has its own assertions.
    """
    depth, end, has_ended = 0, 0, False
    for part in _PARTS.finditer(regex):
        if depth == 0:
            has_ended |= not regex.startswith(_ASSERTIONS, part.start())
            if part[0] == "|":
                return ""
        depth += {"(": 1, ")": -1}.get(part[0], 0)
        if depth == 0 and not has_ended:
            end = part.end()
    return regex[:end]
