"""Projects as people name them on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from leslied.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterable


def find_project(text: str, home: Path) -> str:
    """A name as it is; a path, however it was typed, from the root on."""
    if "/" not in text and text not in (".", "..", "~"):
        return text
    path = text.replace("~", str(home), 1) if text[0] == "~" else text
    return str(Path(path).absolute().resolve())


def find_projects(wanted: str, known: Iterable[str], home: Path) -> set[str]:
    """Which of the known folders are the project's: below the path, or of that name."""
    project = find_project(wanted, home)
    if project.startswith("/"):
        found = {each for each in known if (each + "/").startswith(project + "/")}
    else:
        found = {each for each in known if each.rpartition("/")[2] == project}
    if not found:
        raise UserError(
            f"No session worked in a project {wanted!r}.",
            "See the projects: leslied stats --by project",
        )
    return found
