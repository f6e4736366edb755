"""Projects as people name them on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from leslied.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterable


def find_projects(wanted: str, known: Iterable[str], home: Path) -> set[str]:
    """Which of the known folders are the project's: below the path, or of that name."""
    if "/" in wanted or wanted in (".", "..", "~"):
        path = wanted.replace("~", str(home), 1) if wanted[0] == "~" else wanted
        top = str(Path(path).absolute().resolve())
        found = {each for each in known if (each + "/").startswith(top + "/")}
    else:
        found = {each for each in known if each.rpartition("/")[2] == wanted}
    if not found:
        raise UserError(
            f"No session worked in a project {wanted!r}.",
            "See the projects: leslied stats --by project",
        )
    return found
