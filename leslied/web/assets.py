"""The files of the page, which are part of the package.

They are listed when the server starts, so that no path of a request reaches the disk.
"""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.resources.abc import Traversable

_MEDIA_TYPES = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


class StaticFile(NamedTuple):
    """One file of the page."""

    body: bytes
    media_type: str


def load_assets() -> dict[str, StaticFile]:
    """Return the files of the page, by path below `static`."""
    return dict(_iter_assets(files("leslied.web") / "static", ""))


def _iter_assets(folder: Traversable, prefix: str) -> Iterator[tuple[str, StaticFile]]:
    for entry in folder.iterdir():
        name = prefix + entry.name
        if entry.is_dir():
            yield from _iter_assets(entry, f"{name}/")
        elif media_type := _MEDIA_TYPES.get(name.rpartition(".")[2]):
            yield name, StaticFile(entry.read_bytes(), media_type)
