"""Where a text has secrets."""

from __future__ import annotations

import re
import string
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from ahocorasick_rs import BytesAhoCorasick, Implementation

from leslied.redact.decoded_text import decode, flatten, hides_letters
from leslied.redact.placeholders import is_example, is_made_up, is_placeholder
from leslied.redact.rules import RULES
from leslied.redact.rules._rule import REACHES
from leslied.redact.rules.key_blocks import has_key_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from leslied.redact.rules import Rule

    Anchors = list[tuple[int, int, int]]

_ALPHANUMERIC = frozenset(string.ascii_letters + string.digits)
_LONG_NAME = re.compile(r"[\w.-]{60}", re.ASCII)
"""A name that is too long for a contextual rule."""
_KINDS_WITH_PLACEHOLDERS = ("url-password",)
"""Kinds of definite rules that may match a placeholder."""
_KINDS_WITHOUT_PLACEHOLDERS = ("password-hash", "mnemonic")
"""Kinds of contextual rules that match no placeholder."""


class _WindowTooSmallError(Exception):
    """The start of a text is not enough to find the secrets in it."""


class Secret(NamedTuple):
    """A secret in a text."""

    start: int
    end: int
    kind: str
    value: str
    """The secret without escapes."""
    is_definite: bool


class SecretFinder:
    """Finds the secrets that some rules describe.

    A secret that one of the patterns in `allow` matches entirely is left out.
    """

    def __init__(
        self, rules: Iterable[Rule], allow: Iterable[re.Pattern[str]] = ()
    ) -> None:
        self._allow = tuple(allow)
        self._rules_by_anchor: dict[str, list[Rule]] = {}
        for rule in rules:
            for anchor in rule.anchors:
                self._rules_by_anchor.setdefault(anchor, []).append(rule)
        self._rules_of_anchors = list(self._rules_by_anchor.values())
        anchors = map(_encode, self._rules_by_anchor)
        automaton = BytesAhoCorasick(
            anchors, implementation=Implementation.ContiguousNFA
        )
        self._search = automaton.find_matches_as_indexes
        self._contextual_anchors = self._list_anchors(
            lambda rule: rule.tier == "contextual"
        )
        self._word_start_anchors = self._list_anchors(lambda rule: rule.starts_a_word)
        self._max_reaches = [
            max(rule.reach for rule in group) for group in self._rules_of_anchors
        ]
        """For each anchor, the maximum length of a match."""

    def _list_anchors(self, predicate: Callable[[Rule], bool]) -> frozenset[int]:
        """Return the numbers of the anchors whose rules all fulfil the predicate."""
        rules = enumerate(self._rules_of_anchors)
        return frozenset(
            number for number, group in rules if all(map(predicate, group))
        )

    def find(self, text: str) -> list[Secret]:
        """Return the secrets in a text, in order; they do not overlap."""
        return self._find(text, 0)

    def find_in_prefix(self, text: str, length: int) -> list[Secret]:
        """Return the secrets that begin in the first `length` characters of a text.

        Look at few of the characters that follow, unless a secret may be long.
        """
        for reach in REACHES:
            end = length + reach
            # A secret that begins before `end` may overlap one in the prefix. It has up
            # to `reach` characters, and with escapes twice as many.
            window = text[: end + 2 * reach]
            if len(window) == len(text):
                break
            with suppress(_WindowTooSmallError):
                secrets = self._find(window, end)
                prefix_secrets = [secret for secret in secrets if secret.start < length]
                if not prefix_secrets or prefix_secrets[-1].end <= end:
                    return prefix_secrets
        return [secret for secret in self.find(text) if secret.start < length]

    def _find(self, text: str, length: int) -> list[Secret]:
        """Return the secrets in a text, which may be cut.

        Raise _WindowTooSmallError if a secret in its first `length` characters may
        depend on what was cut off. With a length of 0, the text is whole.
        """
        has_backslash = "\\" in text
        has_escaped_letters = hides_letters(text)
        if not has_backslash and not has_escaped_letters:
            secrets = list(self._find_unescaped(text, length))
            return _merge(secrets) if secrets else secrets
        flat = flatten(text) if has_backslash else text
        anchors = self._find_anchors(flat, length)
        secrets = list(self._find_at(anchors, flat))
        if has_escaped_letters or (anchors and has_backslash):
            secrets += self._find_escaped(text, length)
        if secrets and has_backslash:
            # A quote or a backslash may be part of the secret itself.
            secrets += self._find_unescaped(text, length)
        return _merge(secrets)

    def _find_escaped(self, text: str, length: int) -> Iterator[Secret]:
        """Yield the secrets that are written with escapes."""
        decoded = decode(text)
        decoded_length = len(decode(text[:length]).text) if length else 0
        for secret in self._find_unescaped(decoded.text, decoded_length):
            first, last = decoded.find_original(secret.start, secret.end)
            yield secret._replace(start=first, end=last)

    def _find_anchors(self, text: str, length: int) -> Anchors:
        """Return the number, start and end of every anchor in a text."""
        anchors = self._search(_encode(text), overlapping=True)
        if length and self._needs_more(anchors, text, length):
            raise _WindowTooSmallError
        return anchors

    def _needs_more(self, anchors: Anchors, text: str, length: int) -> bool:
        """Return whether a secret may begin in the first characters and be cut."""
        remaining = len(text) - length
        if remaining >= REACHES[-1]:
            return False
        if remaining < REACHES[0] or has_key_line(text, length):
            return True
        reaches = self._max_reaches
        return any(
            start < length and reaches[number] > remaining
            for number, start, _ in anchors
        )

    def _find_unescaped(self, text: str, length: int) -> Iterator[Secret]:
        """Yield the secrets that are written without escapes."""
        return self._find_at(self._find_anchors(text, length), text)

    def _find_at(self, anchors: Anchors, text: str) -> Iterator[Secret]:
        """Yield the secrets at these anchors."""
        next_positions: dict[Rule, int] = {}
        contextual_anchors = self._contextual_anchors
        word_start_anchors = self._word_start_anchors
        all_rules = self._rules_of_anchors
        for number, position, _ in anchors:
            # Most short anchors are in the middle of a word.
            if (
                number in word_start_anchors
                and text[position - 1 : position] in _ALPHANUMERIC
            ):
                continue
            if number in contextual_anchors and _LONG_NAME.match(text, position):
                continue
            for rule in all_rules[number]:
                next_position = next_positions.get(rule, 0)
                if position < next_position:
                    continue
                match = rule.match(text, position)
                if not match:
                    next_positions[rule] = position + 1
                    continue
                # A lead may contain the previous match of the rule, for example at
                # another option of a command. It may not if it is secret, or if a
                # function finds it: functions look far back, and must not read
                # anything twice.
                is_exclusive = callable(rule.lead) or rule.has_secret_before
                min_start = next_position if is_exclusive else 0
                secret = _make_secret(rule, match, min_start)
                next_positions[rule] = secret.end if secret else position + 1
                if secret and not self._is_exempt(rule, secret.value):
                    yield secret

    def _is_exempt(self, rule: Rule, value: str) -> bool:
        """Return whether a value that a rule matched is not a secret."""
        if _is_example(rule, value):
            return True
        return any(pattern.fullmatch(value) for pattern in self._allow)


def _encode(text: str) -> bytes:
    """Return a byte for each character: a letter in lower case, ? if it is not ASCII.

    Positions stay the same, and the search for anchors is faster in bytes. A full-width
    colon becomes a colon: an anchor of question marks only would be found everywhere in
    Chinese and Japanese texts.
    """
    if not text.isascii():
        text = text.replace("\N{FULLWIDTH COLON}", ":")
    return text.encode("ascii", "replace").lower()


def _make_secret(rule: Rule, match: re.Match[str], min_start: int) -> Secret | None:
    """Return the secret that a rule's pattern matches; None without its lead.

    The lead may not begin before `min_start`.
    """
    text, anchor = match.string, match.start()
    start, end = match.span(rule.group)
    if rule.lead:
        window = text[max(anchor - rule.before, min_start, 0) : anchor]
        lead = rule.find_lead(window)
        if lead is None:
            return None
        offset = anchor - len(window)
        if rule.has_secret_in_lead:
            start, end = offset + lead[0], offset + lead[1]
        elif rule.group == 0:
            start = offset + lead[0]
    if rule.find_end:
        end = rule.find_end(text, end)
    # The spaces around a value stand for escapes.
    value = text[start:end]
    start += len(value) - len(value.lstrip())
    value = value.strip()
    is_definite = rule.tier == "definite"
    return Secret(start, start + len(value), rule.kind, value, is_definite)


def _is_example(rule: Rule, value: str) -> bool:
    """Return whether a value that a rule matched is only an example or placeholder."""
    if rule.tier == "definite" and rule.kind not in _KINDS_WITH_PLACEHOLDERS:
        return is_example(value) or is_made_up(value)
    return rule.kind not in _KINDS_WITHOUT_PLACEHOLDERS and is_placeholder(
        value, rule.kind
    )


def _merge(secrets: list[Secret]) -> list[Secret]:
    """Sort the secrets and join those that overlap; a definite one gives the kind."""
    merged: list[Secret] = []
    for secret in sorted(secrets):
        if merged and secret.start < merged[-1].end:
            merged[-1] = _join(merged[-1], secret)
        else:
            merged.append(secret)
    return merged


def _join(first: Secret, second: Secret) -> Secret:
    """Return one secret that covers both."""
    best = max(first, second, key=lambda s: (s.is_definite, s.end - s.start))
    return best._replace(start=first.start, end=max(first.end, second.end))


@cache
def load_finder() -> SecretFinder:
    """Return the finder of all rules."""
    return SecretFinder(RULES)
