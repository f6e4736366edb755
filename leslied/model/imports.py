"""A file that a user imports, and the files into which leslied splits it."""

from __future__ import annotations

import hashlib
import re
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec import Struct

if TYPE_CHECKING:
    from pathlib import PurePosixPath

_SAFE_NAME = re.compile(r"\w(?:[\w .,()&+-]{0,198}\w)?")
_MAX_NAME_BYTES = 200
_ERRORS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class ImportedFile(NamedTuple):
    """A file in the folder of an agent's imports; each is a source."""

    name: str
    """Path in that folder. Another file with this name is an older version of it."""
    data: bytes
    started_at: str = ""
    """ISO time at which the session, or a part of it, started, if it is known.

    Files of one session are read in the order of these times. A file without one has
    the modification time of the file that the user imported.
    """


class ImportFile(Struct, frozen=True, eq=False, dict=True):
    """A file that a user named, or that is in a folder or zip file that a user named.

    The properties parse it at most once, however many agents look at it.
    """

    path: PurePosixPath
    data: bytes

    @cached_property
    def items(self) -> list[bytes]:
        """The JSON texts of the items; [] if the file is not a JSON array."""
        if self.data.lstrip()[:1] != b"[":
            return []
        with suppress(*_ERRORS):
            return [*map(bytes, msgspec.json.decode(self.data, type=list[msgspec.Raw]))]
        return []

    def list_objects(self) -> list[tuple[dict[str, Any], bytes]]:
        """Return the items of the array that are objects, each with its JSON text."""
        items = ((_parse_object(data), data) for data in self.items)
        return [(fields, data) for fields, data in items if fields]

    @cached_property
    def document(self) -> dict[str, Any]:
        """The fields of the JSON object; {} if the file is not one JSON object."""
        return _parse_object(self.data)

    @cached_property
    def first_object(self) -> dict[str, Any]:
        """The first line of the file, or the first item of its array, as an object."""
        if self.items:
            return _parse_object(self.items[0])
        lines = (line for line in self.data.split(b"\n", 100) if line.strip())
        return _parse_object(next(lines, b""))


def make_import_name(identity: str, suffix: str) -> str:
    """Return a file name for an id from an import; different ids get different ones."""
    is_short = len(identity.encode(errors="replace")) <= _MAX_NAME_BYTES
    if is_short and _SAFE_NAME.fullmatch(identity):
        return identity + suffix
    return hashlib.sha256(identity.encode(errors="replace")).hexdigest()[:32] + suffix


def _parse_object(data: bytes) -> dict[str, Any]:
    if data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{":
        with suppress(*_ERRORS):
            return msgspec.json.decode(
                data.removeprefix(b"\xef\xbb\xbf"), type=dict[str, Any]
            )
    return {}
