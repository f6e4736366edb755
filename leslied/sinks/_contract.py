"""The contract of a sink: a name, a description, and one pure function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable

    from leslied.model.output import Artifact
    from leslied.model.session import Session


class Sink(Struct, frozen=True, kw_only=True):
    """One export format. Callers redact the session before they render it."""

    name: str
    """Name in `--format` and in the config file."""
    about: str
    """One-line description for users."""
    render: Callable[[Session], tuple[Artifact, ...]]
    """Function that returns the files; the same session always gives the same bytes."""
