"""The user's own links between projects: a file that commands write.

It is not in the store, because the daemon is the store's only writer, and because it
must survive a rebuild.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from leslied.control_characters import escape_control_characters
from leslied.errors import UserError
from leslied.fs import make_private_dir, replace_file
from leslied.projects.identity import follow_links

if TYPE_CHECKING:
    from pathlib import Path


class ProjectLinks(msgspec.Struct):
    """The user's links between projects, and the projects that must stay separate."""

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


def add_link(links: ProjectLinks, old: str, new: str) -> None:
    """Link a project to another; raise UserError if that would be a cycle."""
    if new == old:
        raise UserError(f"Both mean the project {old}.", "Name two projects.")
    others = {path: target for path, target in links.links.items() if path != old}
    if follow_links(new, others) == old:
        raise UserError(
            f"{new} is already part of {old}.",
            f"Remove the other link first: leslied projects unlink {new}",
        )
    links.links = others | {old: new}
    links.separate = [path for path in links.separate if path != old]


def remove_link(links: ProjectLinks, old: str, *, is_automatic: bool) -> None:
    """Remove the link of a project; raise UserError if it has none.

    `is_automatic` means that leslied linked the project because it was moved; the
    project then becomes separate, so that leslied does not link it again.
    """
    if links.links.pop(old, None) is None and not is_automatic:
        raise UserError(
            f"{old} is not linked to another project.",
            "See links with: leslied projects list",
        )
    if is_automatic and old not in links.separate:
        links.separate.append(old)


def save_links(path: Path, links: ProjectLinks) -> None:
    """Write the links to the file, in place of the old ones."""
    make_private_dir(path.parent)
    text = msgspec.json.format(msgspec.json.encode(links), indent=2).decode()
    replace_file(path, escape_control_characters(text).encode())
