"""What no log can tell: names that were given, once, for ever."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import msgspec

from leslied.archive.format import ArchiveError, ArchiveNewer
from leslied.paths import make_private_dir

if TYPE_CHECKING:
    from pathlib import Path

_NAME = "manifest.json"
_FORM = 1


def save_manifest(folder: Path, told: dict[str, Any]) -> None:
    """The manifest says this, whole, or still what it said before."""
    make_private_dir(folder)
    new = folder / f".{_NAME}.new"
    data = msgspec.json.encode({"form": _FORM, **told})
    fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(fd)
    new.replace(folder / _NAME)
    sync_folder(folder)


def has_manifest(folder: Path) -> bool:
    """Whether names were ever told here."""
    return (folder / _NAME).is_file()


def load_manifest(folder: Path) -> dict[str, Any]:
    """What the manifest says; nothing where there is none."""
    path = folder / _NAME
    try:
        told = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.DecodeError) as error:
        raise ArchiveError(f"The manifest {path} cannot be read: {error}.") from error
    if int(told.get("form", 0)) > _FORM:
        raise ArchiveNewer(
            f"The manifest {path} was written by a newer leslied.",
            "Update leslied; nothing was changed.",
        )
    return told


def sync_folder(folder: Path) -> None:
    """Names in the folder outlive a power loss."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
