"""Where a text has secrets."""

from __future__ import annotations

import re
from functools import cache, partial
from typing import TYPE_CHECKING, NamedTuple

from ahocorasick_rs import AhoCorasick

from leslied.redact.decoded_text import decode, has_escapes
from leslied.redact.rules import RULES
from leslied.redact.rules.context import is_placeholder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from leslied.redact.rules import Rule

_SURROGATE = re.compile("[\ud800-\udfff]")
"""Half a character, which the search for anchors does not accept."""
_KINDS_WITH_PLACEHOLDERS = ("url-password",)
_KINDS_WITHOUT_PLACEHOLDERS = ("password-hash",)


class Secret(NamedTuple):
    """A secret in a text."""

    start: int
    end: int
    kind: str
    value: str
    """The secret without escapes."""
    is_definite: bool


class SecretFinder:
    """Finds the secrets that some rules describe."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._rules_by_anchor: dict[str, list[Rule]] = {}
        for rule in rules:
            for anchor in rule.anchors:
                self._rules_by_anchor.setdefault(anchor, []).append(rule)
        self._rules = list(self._rules_by_anchor.values())
        anchors = AhoCorasick(list(self._rules_by_anchor))
        self._find_anchors = partial(anchors.find_matches_as_indexes, overlapping=True)

    def find(self, text: str) -> list[Secret]:
        """Return the secrets in a text, in order; they do not overlap."""
        if not has_escapes(text):
            return _merge(list(self._find_written(text)))
        secrets = []
        for form in decode(text):
            for secret in self._find_written(form.text):
                start, end = form.find_original(secret.start, secret.end)
                secrets.append(secret._replace(start=start, end=end))
        if secrets and "\\" in text:
            # A quote or a backslash may be part of the secret itself.
            secrets += self._find_written(text)
        return _merge(secrets)

    def _find_written(self, text: str) -> Iterator[Secret]:
        """Yield the secrets that are written without escapes."""
        searched: dict[int, int] = {}
        for anchor, position, _ in self._find_anchors(_to_lower(text)):
            for rule in self._rules[anchor]:
                done = searched.get(id(rule), 0)
                if position < done:
                    continue
                secret = _match(rule, text, position, done)
                searched[id(rule)] = secret.end if secret else position + 1
                if secret and not _is_exempt(rule, secret.value):
                    yield secret


def _match(rule: Rule, text: str, anchor: int, done: int) -> Secret | None:
    """Return the secret whose anchor is here, or None."""
    match = rule.pattern.match(text, anchor, anchor + rule.after)
    if match is None:
        return None
    start, end = match.span(rule.group)
    if rule.lead:
        window = text[max(anchor - rule.before, done, 0) : anchor]
        lead = rule.lead_pattern.search(window)
        if lead is None:
            return None
        if rule.group == 0:
            start = anchor - len(window) + lead.start()
    return _make_secret(rule, text, start, end)


def _make_secret(rule: Rule, text: str, start: int, end: int) -> Secret:
    """Return the secret without spaces around it, which stand for escapes."""
    value = text[start:end]
    start += len(value) - len(value.lstrip())
    value = value.strip()
    is_definite = rule.tier == "definite"
    return Secret(start, start + len(value), rule.kind, value, is_definite)


def _is_exempt(rule: Rule, value: str) -> bool:
    """Return whether the value is no secret although it stands where one would."""
    if rule.tier == "definite" and rule.kind not in _KINDS_WITH_PLACEHOLDERS:
        return False
    return rule.kind not in _KINDS_WITHOUT_PLACEHOLDERS and is_placeholder(
        value, rule.kind
    )


def _to_lower(text: str) -> str:
    """Return the text in lower case, with every character at its place."""
    lowered = text.lower()
    if len(lowered) != len(text):
        lowered = "".join(c.lower() if c.isascii() else c for c in text)
    return _SURROGATE.sub("?", lowered)


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
