"""Tombstones of sessions and entries that were forgotten, in a file beside the store.

The file survives a rebuild and even a deleted store. It contains no text and no ids,
only hashes that are made with a key of its own: the key of redaction can be replaced,
and then everything forgotten would be read again.
"""

from __future__ import annotations

import base64
import hashlib
import os
from typing import TYPE_CHECKING

import msgspec

from leslied.errors import StoreUnusable
from leslied.fs import make_private_dir, replace_file

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    SessionName = tuple[str, str]
    """Agent and session id."""

_FILE_NAME = "forgotten.json"
_KEY_BYTES = 32
_HASH_BYTES = 12


class ForgottenItems(msgspec.Struct, frozen=True, kw_only=True):
    """Items to forget."""

    sessions: Iterable[SessionName] = ()
    """Sessions with all entries that they will ever have."""
    changed_sessions: Iterable[SessionName] = ()
    """Sessions that lose entries."""
    entry_ids: Iterable[bytes] = ()
    rejected: Iterable[bytes] = ()
    """Digests of rejected bytes."""
    titles: Iterable[str] = ()
    """Titles that the entries gave to sessions."""
    line_digests: Iterable[bytes] = ()
    """Digests of raw lines, as `digest_line` returns them."""


def digest_line(line: bytes) -> bytes:
    """Return a digest of a raw line, without its line end."""
    return hashlib.sha256(line.rstrip(b"\r\n")).digest()


class _File(msgspec.Struct):
    """Content of the file."""

    form: int = 1
    """Version of the format."""
    key: str = ""
    """Key of the hashes, in hexadecimal."""
    has_lines: bool = False
    """Whether any of the hashes is that of a line."""
    hashes: str = ""
    """The hashes, concatenated, in base64."""


class Forgotten:
    """Tombstones of forgotten items. The object is true if there are any."""

    def __init__(self, store: Path) -> None:
        """Load the file beside the store; raise StoreUnusable if it is damaged."""
        self._path = store.with_name(_FILE_NAME)
        self._key = os.urandom(_KEY_BYTES)
        self._hashes: set[bytes] = set()
        self.has_lines = False
        """Whether raw lines were forgotten."""
        self._session_cache: dict[SessionName, bool] = {}
        """Cache of `has_session`."""
        if self._path.exists():
            self._load()

    def __bool__(self) -> bool:
        return bool(self._hashes)

    def has_session(self, agent: str, session_id: str) -> bool:
        """Return whether the whole session was forgotten, with its future entries."""
        name = (agent, session_id)
        if name not in self._session_cache:
            self._session_cache[name] = self._has(b"session", *name)
        return self._session_cache[name]

    def has_part_of(self, agent: str, session_id: str) -> bool:
        """Return whether any entry of the session was forgotten."""
        return self._has(b"part", agent, session_id)

    def has_entry(self, entry_id: bytes) -> bool:
        """Return whether the entry was forgotten, in whichever session it is."""
        return self._has(b"entry", entry_id)

    def has_rejected(self, digest: bytes) -> bool:
        """Return whether rejected bytes with this digest were forgotten."""
        return bool(digest) and self._has(b"rejected", digest)

    def has_line(self, line: bytes) -> bool:
        """Return whether this raw line of a log was forgotten."""
        return self.has_lines and self._has(b"line", digest_line(line))

    def has_title(self, title: str) -> bool:
        """Return whether a forgotten entry gave this title to a session."""
        return bool(title) and self._has(b"title", title)

    def add(self, items: ForgottenItems) -> None:
        """Add tombstones and save the file durably."""
        line_hashes = {self._hash(b"line", digest) for digest in items.line_digests}
        hashes = line_hashes.union(
            (self._hash(b"session", *session) for session in items.sessions),
            (self._hash(b"part", *session) for session in items.changed_sessions),
            (self._hash(b"entry", entry_id) for entry_id in items.entry_ids),
            (self._hash(b"rejected", digest) for digest in items.rejected),
            (self._hash(b"title", title) for title in items.titles),
        )
        if hashes <= self._hashes:
            return
        self._hashes |= hashes
        self.has_lines |= bool(line_hashes)
        self._session_cache.clear()
        content = _File(
            key=self._key.hex(),
            has_lines=self.has_lines,
            hashes=base64.b64encode(b"".join(sorted(self._hashes))).decode(),
        )
        make_private_dir(self._path.parent)
        replace_file(self._path, msgspec.json.encode(content))

    def _load(self) -> None:
        try:
            content = msgspec.json.decode(self._path.read_bytes(), type=_File)
            packed = base64.b64decode(content.hashes, validate=True)
            self._key = bytes.fromhex(content.key)
            self.has_lines = content.has_lines
        except (OSError, ValueError) as error:
            raise self._make_error(str(error)) from error
        if content.form != 1 or len(self._key) != _KEY_BYTES:
            raise self._make_error("unknown format")
        self._hashes = {
            packed[at : at + _HASH_BYTES] for at in range(0, len(packed), _HASH_BYTES)
        }

    def _make_error(self, reason: str) -> StoreUnusable:
        return StoreUnusable(
            f"{self._path}, which lists what is forgotten, cannot be read: {reason}.",
            "Restore the file from a backup. If you delete it, leslied reads again "
            "what it has forgotten.",
        )

    def _has(self, kind: bytes, *values: str | bytes) -> bool:
        return bool(self._hashes) and self._hash(kind, *values) in self._hashes

    def _hash(self, kind: bytes, *values: str | bytes) -> bytes:
        parts = [
            v.encode(errors="replace") if isinstance(v, str) else v for v in values
        ]
        data = b"\0".join([kind, *parts])
        return hashlib.blake2b(data, key=self._key, digest_size=_HASH_BYTES).digest()
