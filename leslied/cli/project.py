"""Projects as people name them on the command line."""

from __future__ import annotations

from pathlib import Path


def find_project(text: str, home: Path) -> str:
    """A name as it is; a path, however it was typed, from the root on."""
    if "/" not in text and text not in (".", "..", "~"):
        return text
    path = text.replace("~", str(home), 1) if text[0] == "~" else text
    return str(Path(path).absolute().resolve())
