"""Who may use the page: one-time links, the cookie they set, and the form token.

All of them are signed with a key that only the user can read. A link works once and
for a few minutes; the cookie that it sets works for a month, also after a restart. Any
process of the user can make a link, and a new key ends all cookies at once.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from contextlib import suppress
from typing import TYPE_CHECKING

from leslied.fs import make_private_dir
from leslied.paths import load_key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from leslied.clock import Clock
    from leslied.paths import AppPaths

LINK_SECONDS = 600
"""How long a link works."""
COOKIE_SECONDS = 30 * 24 * 3600
"""How long a cookie works."""


class Access:
    """Makes and checks links, cookies and form tokens."""

    def __init__(self, paths: AppPaths, clock: Clock) -> None:
        self._key_file = paths.web_key_file
        self._used_links_dir = paths.web_links_dir
        self._clock = clock
        self._key = b""
        self._key_version = (0, 0)
        """Inode and modification time of the key's file when the key was loaded."""

    def make_code(self) -> str:
        """Return a new code for a link."""
        return self._make_signed_value("link", LINK_SECONDS)

    def redeem(self, code: str) -> str | None:
        """Return a new cookie for a code; None if it is not valid or was used."""
        if not self._is_valid("link", code) or not self._mark_used(code):
            return None
        return self._make_signed_value("cookie", COOKIE_SECONDS)

    def find_valid_cookie(self, cookies: Iterable[str]) -> str | None:
        """Return the first cookie that the key signed and that has not expired."""
        return next((c for c in cookies if self._is_valid("cookie", c)), None)

    def make_form_token(self, cookie: str) -> str:
        """Return the token that requests with this cookie need to change something."""
        return self._sign("form", cookie)

    def is_valid_form_token(self, cookie: str, token: str) -> bool:
        """Return whether the token belongs to the cookie."""
        return _is_equal(self.make_form_token(cookie), token)

    def make_proof(self, port: int, challenge: str) -> str:
        """Return a proof that the server on this port has the user's key.

        The proof includes the port, so that a program on another port cannot pass it on
        as its own.
        """
        return self._sign("server", f"{port}:{challenge}")

    def is_valid_proof(self, port: int, challenge: str, proof: str) -> bool:
        """Return whether the proof is that of a server with the same key."""
        return _is_equal(self.make_proof(port, challenge), proof)

    def end_all_logins(self) -> None:
        """Replace the key: all cookies and links become invalid."""
        self._key_file.unlink(missing_ok=True)
        load_key(self._key_file)

    @property
    def _now(self) -> int:
        return int(self._clock.now().timestamp())

    def _make_signed_value(self, purpose: str, seconds: int) -> str:
        """Return a random value that is valid for this time and purpose."""
        payload = f"{self._now + seconds}.{secrets.token_urlsafe(16)}"
        return f"{payload}.{self._sign(purpose, payload)}"

    def _is_valid(self, purpose: str, value: str) -> bool:
        payload, _, signature = value.rpartition(".")
        if not _is_equal(self._sign(purpose, payload), signature):
            return False
        expiry = payload.partition(".")[0]
        return expiry.isdecimal() and int(expiry) > self._now

    def _mark_used(self, code: str) -> bool:
        """Record that the code was used; return False if it was used before.

        The record is a file, so that other processes that serve the page see it, too.
        """
        make_private_dir(self._used_links_dir)
        self._delete_old_marks()
        expiry, _, _ = code.partition(".")
        name = f"{expiry}-{hashlib.sha256(code.encode()).hexdigest()[:32]}"
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            os.close(os.open(self._used_links_dir / name, flags, 0o600))
        except FileExistsError:
            return False
        return True

    def _delete_old_marks(self) -> None:
        """Delete the records of codes that have expired anyway."""
        for path in self._used_links_dir.iterdir():
            expiry = path.name.partition("-")[0]
            if expiry.isdecimal() and int(expiry) <= self._now:
                path.unlink(missing_ok=True)

    def _sign(self, purpose: str, payload: str) -> str:
        text = f"{purpose}:{payload}".encode(errors="backslashreplace")
        return hmac.new(self._load_key(), text, hashlib.sha256).hexdigest()

    def _load_key(self) -> bytes:
        """Return the key in the file, which another process may have replaced."""
        version = (0, 0)
        with suppress(OSError):
            status = self._key_file.stat()
            version = status.st_ino, status.st_mtime_ns
        if version != self._key_version or not self._key:
            self._key = load_key(self._key_file)
            self._key_version = version
        return self._key


def _is_equal(expected: str, actual: str) -> bool:
    """Compare in constant time."""
    return hmac.compare_digest(
        expected.encode(), actual.encode(errors="backslashreplace")
    )
