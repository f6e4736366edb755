"""Manifest of the archive: session metadata that cannot be derived from the logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from leslied import fs
from leslied.archive.format import ArchiveError, ArchiveVersionError
from leslied.control_characters import escape_control_characters

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

T = TypeVar("T")

_FILE_NAME = "manifest.json"
_VERSION = 1


class Manifest(msgspec.Struct, Generic[T]):
    """Content of the manifest; the caller chooses the type of a session."""

    form: int = _VERSION
    """Version of the manifest's format."""
    key_id: str = ""
    """Id of the key with which the transcripts were redacted."""
    created_us: int = 0
    """Time at which the store was created."""
    sessions: list[T] = []
    pruned: list[tuple[str, str, str, bytes]] = []
    """Tombstones: agent, session id, source, and prefixes of the pruned entry ids."""


def save_manifest(
    folder: Path, header: dict[str, Any], sessions: Iterable[Any] = ()
) -> None:
    """Replace the manifest atomically; `header` has the fields besides `sessions`.

    Sessions are encoded one by one, so that they need not all be in memory.
    """
    fs.make_private_dir(folder)
    header_json = msgspec.json.encode({"form": _VERSION, **header})
    with fs.AtomicFile(str(folder / _FILE_NAME)) as file:
        # Write the header without its closing brace, then the sessions as a field.
        file.write(header_json[:-1] + b',"sessions":[')
        for index, session in enumerate(sessions):
            separator = b"," if index else b""
            file.write(separator + _encode(session))
        file.write(b"]}")


def _encode(session: Any) -> bytes:
    text = msgspec.json.encode(session).decode()
    return escape_control_characters(text).encode()


def has_manifest(folder: Path) -> bool:
    """Return whether the folder contains a manifest."""
    return (folder / _FILE_NAME).is_file()


def load_manifest(folder: Path, session_type: type[T]) -> Manifest[T]:
    """Load the manifest; return an empty one if the file does not exist.

    Raise ArchiveError if it cannot be read, ArchiveVersionError if it is too new.
    """
    path = folder / _FILE_NAME
    try:
        data = path.read_bytes()
        _check_version(path, data)
        return msgspec.json.decode(data, type=Manifest[session_type])  # type: ignore[valid-type]
    except FileNotFoundError:
        return Manifest()
    except (OSError, msgspec.DecodeError) as error:
        raise ArchiveError(f"The manifest {path} cannot be read: {error}.") from error


def _check_version(path: Path, data: bytes) -> None:
    """Raise ArchiveVersionError if a newer version of leslied wrote the manifest."""
    manifest = msgspec.json.decode(data, type=Manifest[msgspec.Raw])
    if manifest.form > _VERSION:
        raise ArchiveVersionError(
            f"The manifest {path} was written by a newer leslied.",
            "Update leslied; nothing was changed.",
        )
