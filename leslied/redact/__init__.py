"""Removal of secrets from text before it leaves the store.

A `Redactor` replaces every recognized secret with its kind and a short keyed hash, so
that readers can see whether two secrets are equal but cannot read them.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from functools import partial

from leslied.redact.rules import RULES, Rule

__all__ = ["RULES", "Redactor", "Rule"]


_SHORT_TEXT_LENGTH = 300
"""Below this length one regex for all keywords is faster than many `in` tests."""
_KEYWORDS = re.compile(
    "|".join(re.escape(word) for rule in RULES for word in rule.keywords)
)


class Redactor:
    """Replaces secrets with markers that contain a hash made with a secret key."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    @property
    def key_id(self) -> str:
        """Fingerprint that identifies the key without revealing it."""
        return hashlib.sha256(b"key-id\0" + self._key).hexdigest()[:8]

    def redact(self, text: str) -> str:
        """Replace every recognized secret in the text with `[REDACTED:kind:hash]`."""
        if len(text) < _SHORT_TEXT_LENGTH and not _KEYWORDS.search(text):
            return text
        for rule in RULES:
            if any(word in text for word in rule.keywords):
                text = rule.pattern.sub(partial(self._make_marker, rule), text)
        return text

    def _make_marker(self, rule: Rule, match: re.Match[str]) -> str:
        """Return the marker that replaces the secret which the rule matched."""
        digest = hmac.new(self._key, match[0].encode(errors="replace"), "sha256")
        return f"[REDACTED:{rule.kind}:{digest.hexdigest()[:4]}]"
