"""Taking secrets out of text before it leaves the store.

The door: a `Redactor` replaces every definite secret by its kind and a short keyed
hash, so that the same secret can be recognised and never be read.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from functools import partial

from leslied.redact.rules import RULES, Rule

__all__ = ["RULES", "Redactor", "Rule"]


_SHORT_TEXT_LENGTH = 300
"""One look for all words is faster on so short a text; on longer ones, many looks."""
_KEYWORDS = re.compile(
    "|".join(re.escape(word) for rule in RULES for word in rule.keywords)
)


class Redactor:
    """Replaces secrets; the key makes its marks meaningless elsewhere."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    @property
    def key_id(self) -> str:
        """Tells keys apart without telling the key."""
        return hashlib.sha256(b"key-id\0" + self._key).hexdigest()[:8]

    def redact(self, text: str) -> str:
        """The text with every definite secret replaced by `[REDACTED:kind:hash]`."""
        if len(text) < _SHORT_TEXT_LENGTH and not _KEYWORDS.search(text):
            return text
        for rule in RULES:
            if any(word in text for word in rule.keywords):
                text = rule.pattern.sub(partial(self._make_marker, rule), text)
        return text

    def _make_marker(self, rule: Rule, match: re.Match[str]) -> str:
        digest = hmac.new(self._key, match[0].encode(errors="replace"), "sha256")
        return f"[REDACTED:{rule.kind}:{digest.hexdigest()[:4]}]"
