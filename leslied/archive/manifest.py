"""Manifest of the archive: session metadata that cannot be derived from the logs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from leslied.archive.format import ArchiveError, ArchiveVersionError
from leslied.paths import make_private_dir

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

T = TypeVar("T")

_FILE_NAME = "manifest.json"
_VERSION = 1


class Manifest(msgspec.Struct, Generic[T]):
    """Content of the manifest; the caller chooses the type of a session."""

    form: int = _VERSION
    key_id: str = ""
    created_us: int = 0
    sessions: list[T] = []
    pruned: list[tuple[str, str, str, bytes]] = []
    """Tombstones: agent, session, source, and prefixes of the pruned entry ids."""


def save_manifest(
    folder: Path, header: dict[str, Any], sessions: Iterable[Any] = ()
) -> None:
    """Replace the manifest atomically; `header` has the fields besides `sessions`.

    Sessions are encoded one by one, so that they need not all be in memory.
    """
    make_private_dir(folder)
    temporary = folder / f".{_FILE_NAME}.new"
    header_json = msgspec.json.encode({"form": _VERSION, **header})
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(header_json[:-1] + b',"sessions":[')
        for number, session in enumerate(sessions):
            file.write(b"," * bool(number) + msgspec.json.encode(session))
        file.write(b"]}")
        file.flush()
        os.fsync(fd)
    temporary.replace(folder / _FILE_NAME)
    fsync_folder(folder)


def has_manifest(folder: Path) -> bool:
    """Return whether the folder contains a manifest."""
    return (folder / _FILE_NAME).is_file()


def load_manifest(folder: Path, session_type: type[T]) -> Manifest[T]:
    """Load the manifest; return an empty one if the file does not exist."""
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
    manifest = msgspec.json.decode(data, type=Manifest[msgspec.Raw])
    if manifest.form > _VERSION:
        raise ArchiveVersionError(
            f"The manifest {path} was written by a newer leslied.",
            "Update leslied; nothing was changed.",
        )


def fsync_folder(folder: Path) -> None:
    """Flush a folder to disk, so that names in it survive a power loss."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
