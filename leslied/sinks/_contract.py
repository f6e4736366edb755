"""What an output is: a name, a sentence about it, and one pure function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from leslied.model.output import Artifact
    from leslied.model.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Sink:
    """One output. The session it gets has no secrets left in it."""

    name: str
    """What `--format` and the config file call it."""
    about: str
    """One line for people who choose."""
    render: Callable[[Session], tuple[Artifact, ...]]
    """The files; the same session gives the same bytes, always."""
