"""Who may use the page: one-time links, the cookie they set, and the form token.

All of them are signed with a key that only the user can read. A link works once and
for a few minutes; the cookie that it sets works for a month, also after a restart.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leslied.clock import Clock

LINK_SECONDS = 600
"""How long a link works."""
COOKIE_SECONDS = 30 * 24 * 3600
"""How long a cookie works."""


class Access:
    """Issuer and judge of links, cookies and form tokens."""

    def __init__(self, key: bytes, clock: Clock) -> None:
        self._key = key
        self._clock = clock
        self._used_codes: dict[str, int] = {}
        """Codes that were used, and when each of them expires."""

    def make_code(self) -> str:
        """Return a new code for a link."""
        return self._make("link", LINK_SECONDS)

    def redeem(self, code: str) -> str | None:
        """Return a new cookie for a code; None if it is not valid or was used."""
        now = self._now
        self._used_codes = {c: end for c, end in self._used_codes.items() if end > now}
        if code in self._used_codes or not self._is_valid("link", code):
            return None
        self._used_codes[code] = now + LINK_SECONDS
        return self._make("cookie", COOKIE_SECONDS)

    def is_valid_cookie(self, cookie: str) -> bool:
        """Return whether this key signed the cookie, and it has not expired."""
        return self._is_valid("cookie", cookie)

    def make_form_token(self, cookie: str) -> str:
        """Return the token that a changing request of this cookie must carry."""
        return self._sign("form", cookie)

    def is_valid_form_token(self, cookie: str, token: str) -> bool:
        """Return whether the token belongs to the cookie."""
        return _is_equal(self.make_form_token(cookie), token)

    @property
    def _now(self) -> int:
        return int(self._clock.now().timestamp())

    def _make(self, purpose: str, seconds: int) -> str:
        payload = f"{self._now + seconds}.{secrets.token_urlsafe(16)}"
        return f"{payload}.{self._sign(purpose, payload)}"

    def _is_valid(self, purpose: str, value: str) -> bool:
        payload, _, signature = value.rpartition(".")
        if not _is_equal(self._sign(purpose, payload), signature):
            return False
        return int(payload.partition(".")[0]) > self._now

    def _sign(self, purpose: str, payload: str) -> str:
        text = f"{purpose}:{payload}".encode(errors="surrogateescape")
        return hmac.new(self._key, text, hashlib.sha256).hexdigest()


def _is_equal(expected: str, given: str) -> bool:
    """Compare in constant time."""
    return hmac.compare_digest(
        expected.encode(), given.encode(errors="surrogateescape")
    )
