"""Fast queries for shell completion; importing this module loads little else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leslied.store.read.completion_queries import CompletionReader

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["CompletionReader", "list_tags"]


def list_tags(path: Path) -> list[str]:
    """Return the tags in the file of annotations, in order."""
    from leslied.annotations import Annotations  # noqa: PLC0415 - rarely needed

    annotations = Annotations(path)
    snapshot = annotations.load()
    annotations.close()
    return sorted({tag for each in snapshot.by_session.values() for tag in each.tags})
