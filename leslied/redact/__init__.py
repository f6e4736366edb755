"""Removal of secrets from text before it leaves the store.

A `Redactor` replaces every recognized secret with its kind and a short keyed hash, so
that readers can see whether two secrets are equal but cannot read them.
"""

from __future__ import annotations

import hashlib
import hmac

from leslied.redact.find import load_finder
from leslied.redact.rules import RULES, Rule

__all__ = ["RULES", "Redactor", "Rule"]


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
        secrets = load_finder().find(text)
        if not secrets:
            return text
        parts: list[str] = []
        position = 0
        for secret in secrets:
            marker = self._make_marker(secret.kind, secret.value)
            parts += (text[position : secret.start], marker)
            position = secret.end
        return "".join([*parts, text[position:]])

    def _make_marker(self, kind: str, value: str) -> str:
        """Return the marker that replaces a secret."""
        digest = hmac.new(self._key, value.encode(errors="replace"), "sha256")
        return f"[REDACTED:{kind}:{digest.hexdigest()[:4]}]"
