"""The user's own links between projects: a file that commands write.

It is not in the store, because the daemon is the store's only writer, and because it
must survive a rebuild.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from leslied.errors import UserError
from leslied.fs import make_private_dir, replace_file

if TYPE_CHECKING:
    from pathlib import Path


class ProjectLinks(msgspec.Struct):
    """What the user said about projects, by path."""

    links: dict[str, str] = {}
    """The new path of a project, by its old path."""
    separate: list[str] = []
    """Paths that are never linked automatically."""


def load_links(path: Path) -> ProjectLinks:
    """Return the user's links; raise UserError if the file is invalid."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=ProjectLinks)
    except FileNotFoundError:
        return ProjectLinks()
    except (OSError, msgspec.DecodeError) as error:
        raise UserError(
            f"The links of projects in {path} cannot be read: {error}.",
            "Correct the file, or delete it to remove all links.",
        ) from error


def save_links(path: Path, links: ProjectLinks) -> None:
    """Replace the file."""
    make_private_dir(path.parent)
    replace_file(path, msgspec.json.format(msgspec.json.encode(links), indent=2))
