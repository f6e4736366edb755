"""Removal of secrets from text before it leaves the store.

A `Redactor` replaces every recognized secret with its kind and a short keyed hash, so
that readers can see whether two secrets are equal but cannot read them.

The rules are imported when the first text is redacted, because that takes a while.
"""

from __future__ import annotations

import hashlib
import hmac
from functools import cached_property
from typing import TYPE_CHECKING

from leslied.lazy_imports import make_getattr

if TYPE_CHECKING:
    from leslied.redact.find import Secret, SecretFinder, load_finder
    from leslied.redact.rules import RULES, Rule

__all__ = ["RULES", "Redactor", "Rule", "SecretFinder", "load_finder"]

__getattr__ = make_getattr(
    __name__,
    {
        "RULES": "rules",
        "Rule": "rules",
        "SecretFinder": "find",
        "load_finder": "find",
    },
)


class Redactor:
    """Replaces secrets with markers that contain a hash made with a secret key.

    Without a finder, only the built-in rules decide what is secret.
    """

    def __init__(self, key: bytes, finder: SecretFinder | None = None) -> None:
        self._key = key
        self._custom_finder = finder

    @cached_property
    def _finder(self) -> SecretFinder:
        from leslied.redact.find import load_finder  # noqa: PLC0415

        return self._custom_finder or load_finder()

    @property
    def key_id(self) -> str:
        """Fingerprint that identifies the key without revealing it."""
        return hashlib.sha256(b"key-id\0" + self._key).hexdigest()[:8]

    def redact(self, text: str) -> str:
        """Replace every recognized secret in the text with `[REDACTED:kind:hash]`."""
        return self._replace(text, self.find(text))

    def redact_prefix(self, text: str, length: int) -> str:
        """Return the first `length` characters of the redacted text."""
        end = length
        while True:
            secrets = self._finder.find_in_prefix(text, end)
            end = max(end, secrets[-1].end) if secrets else end
            redacted = self._replace(text[:end], secrets)
            if len(redacted) >= length or end >= len(text):
                return redacted[:length]
            end += length - len(redacted)

    def _replace(self, text: str, secrets: list[Secret]) -> str:
        if not secrets:
            return text
        parts: list[str] = []
        position = 0
        for secret in secrets:
            parts += (text[position : secret.start], self.make_marker(secret))
            position = secret.end
        return "".join([*parts, text[position:]])

    def mask(self, data: bytes) -> bytes:
        """Replace every recognized secret in a line or JSON document.

        The replacement has as many bytes as the secret, so that everything else keeps
        its position and JSON stays valid: the marker and asterisks, or only asterisks
        if the marker is too long.
        """
        text = data.decode(errors="surrogateescape")
        parts: list[bytes] = []
        position = 0
        for secret in self.find(text):
            before = text[position : secret.start]
            value = text[secret.start : secret.end]
            size = len(value.encode(errors="surrogateescape"))
            marker = self.make_marker(secret).encode()
            parts.append(before.encode(errors="surrogateescape"))
            parts.append((marker if len(marker) <= size else b"").ljust(size, b"*"))
            position = secret.end
        if not parts:
            return data
        return b"".join([*parts, text[position:].encode(errors="surrogateescape")])

    def find(self, text: str) -> list[Secret]:
        """Return the secrets in the text, in order; they do not overlap."""
        return self._finder.find(text)

    def make_marker(self, secret: Secret) -> str:
        """Return the marker that replaces a secret."""
        digest = hmac.new(self._key, secret.value.encode(errors="replace"), "sha256")
        return f"[REDACTED:{secret.kind}:{digest.hexdigest()[:4]}]"
