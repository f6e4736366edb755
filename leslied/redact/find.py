"""Where a text has secrets."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from ahocorasick_rs import AhoCorasick

from leslied.redact.decoded_text import (
    decode,
    decode_text,
    flatten,
    has_escapes,
    hides_letters,
)
from leslied.redact.placeholders import is_example, is_placeholder
from leslied.redact.rules import RULES
from leslied.redact.rules._rule import REACHES
from leslied.redact.rules.key_blocks import has_key_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from leslied.redact.rules import Rule

    Anchors = list[tuple[int, int, int]]

_SURROGATE = re.compile("[\ud800-\udfff]")
"""Half a character, which the search for anchors does not accept."""
_LONG_NAME = re.compile(r"[\w.-]{60}", re.ASCII)
"""A name that no rule knows a value of."""
_KINDS_WITH_PLACEHOLDERS = ("url-password",)
_KINDS_WITHOUT_PLACEHOLDERS = ("password-hash", "mnemonic")


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
        self._rules = list(self._rules_by_anchor.values())
        anchors = AhoCorasick(list(self._rules_by_anchor))
        self._search = anchors.find_matches_as_indexes
        self._names = frozenset(
            number
            for number, rules in enumerate(self._rules)
            if all(rule.tier == "contextual" for rule in rules)
        )
        self._reaches = [max(rule.reach for rule in rules) for rules in self._rules]
        """How far the matches at each anchor reach."""

    def find(self, text: str) -> list[Secret]:
        """Return the secrets in a text, in order; they do not overlap."""
        return self._find(text, 0)

    def find_in_prefix(self, text: str, length: int) -> list[Secret]:
        """Return the secrets that begin in the first `length` characters of a text.

        Look at few of the characters that follow, unless a secret may be long.
        """
        for reach in REACHES:
            end = length + reach
            # What begins before `end` decides. It needs as many characters again, and
            # with escapes twice as many.
            window = text[: end + 2 * reach]
            if len(window) == len(text):
                break
            with suppress(_WindowTooSmallError):
                secrets = self._find(window, end)
                starting = [secret for secret in secrets if secret.start < length]
                if not starting or starting[-1].end <= end:
                    return starting
        return [secret for secret in self.find(text) if secret.start < length]

    def _find(self, text: str, length: int) -> list[Secret]:
        """Return the secrets in a text, which may be cut.

        Raises _WindowTooSmallError if a secret in its first `length` characters may
        depend on what was cut off. With a length of 0, the text is whole.
        """
        if not has_escapes(text):
            secrets = list(self._find_written(text, length))
            return _merge(secrets) if secrets else secrets
        flat = flatten(text)
        anchors = self._find_anchors(flat.text, length)
        secrets = list(self._find_at(anchors, flat.text))
        if hides_letters(text) or (anchors and "\\" in text):
            secrets += self._find_escaped(text, length)
        if secrets and "\\" in text:
            # A quote or a backslash may be part of the secret itself.
            secrets += self._find_written(text, length)
        return _merge(secrets)

    def _find_escaped(self, text: str, length: int) -> Iterator[Secret]:
        """Yield the secrets that are written with escapes."""
        start = decode_text(text[:length])
        written = self._find_written(start + decode_text(text[length:]), len(start))
        # Where a part of the text comes from is only computed if there is a secret.
        if any(True for _ in written):
            decoded = decode(text)
            for secret in self._find_written(decoded.text, 0):
                first, last = decoded.find_original(secret.start, secret.end)
                yield secret._replace(start=first, end=last)

    def _find_anchors(self, text: str, length: int) -> Anchors:
        """Return the number, start and end of every anchor in a text."""
        lowered = text.lower()
        if len(lowered) != len(text):
            # Some characters become two in lower case; the others keep their place.
            lowered = "".join(c.lower() if c.isascii() else c for c in text)
        try:
            anchors = self._search(lowered, overlapping=True)
        except UnicodeEncodeError:
            anchors = self._search(_SURROGATE.sub("?", lowered), overlapping=True)
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
        reaches = self._reaches
        return any(
            start < length and reaches[number] > remaining
            for number, start, _ in anchors
        )

    def _find_written(self, text: str, length: int) -> Iterator[Secret]:
        """Yield the secrets that are written without escapes."""
        return self._find_at(self._find_anchors(text, length), text)

    def _find_at(self, anchors: Anchors, text: str) -> Iterator[Secret]:
        """Yield the secrets at these anchors."""
        searched: dict[int, int] = {}
        for anchor, position, _ in anchors:
            if anchor in self._names and _LONG_NAME.match(text, position):
                continue
            for rule in self._rules[anchor]:
                done = searched.get(id(rule), 0)
                if position < done:
                    continue
                secret = _match(rule, text, position, done)
                searched[id(rule)] = secret.end if secret else position + 1
                if secret is None or _is_exempt(rule, secret.value):
                    continue
                if not any(pattern.fullmatch(secret.value) for pattern in self._allow):
                    yield secret


def _match(rule: Rule, text: str, anchor: int, done: int) -> Secret | None:
    """Return the secret whose anchor is here, or None."""
    match = rule.pattern.match(text, anchor, anchor + rule.after)
    if match is None:
        return None
    start, end = match.span(rule.group)
    if rule.find_end:
        end = rule.find_end(text, end)
    if rule.lead:
        window = text[max(anchor - rule.before, done, 0) : anchor]
        lead = rule.find_lead(window)
        if lead is None:
            return None
        offset = anchor - len(window)
        if rule.has_secret_in_lead:
            start, end = offset + lead[0], offset + lead[1]
        elif rule.group == 0:
            start = offset + lead[0]
    return _make_secret(rule, text, start, end)


def _make_secret(rule: Rule, text: str, start: int, end: int) -> Secret:
    """Return the secret without spaces around it, which stand for escapes."""
    value = text[start:end]
    start += len(value) - len(value.lstrip())
    value = value.strip()
    is_definite = rule.tier == "definite"
    return Secret(start, start + len(value), rule.kind, value, is_definite)


def _is_exempt(rule: Rule, value: str) -> bool:
    """Return whether a value that a rule matched is only an example or placeholder."""
    if rule.tier == "definite" and rule.kind not in _KINDS_WITH_PLACEHOLDERS:
        return is_example(value)
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
