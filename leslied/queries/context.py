"""What every question needs: the store, the clock, the paths and the redactor."""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Self, TypeVar

from msgspec import Struct

from leslied.redact.session import (
    redact_entry,
    redact_key,
    redact_session,
    redact_summary,
    redact_unit,
    redact_value,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from pathlib import Path

    from leslied.agents import AgentAdapter
    from leslied.annotations import Annotations
    from leslied.clock import Clock
    from leslied.model.record import PlacedRecord, SessionKey
    from leslied.model.session import Session, SessionSummary, Unit
    from leslied.model.source import Root
    from leslied.paths import AppPaths
    from leslied.store import StoreQueries

_T = TypeVar("_T")
_MAX_CACHED_TEXTS = 4096
_MAX_CACHED_CHARACTERS = 1000


class QueryContext(Struct, frozen=True, kw_only=True, dict=True):
    """Access to everything that answers are made of; use it in a `with` statement.

    The store is opened on first use, read-only. Answers contain no secrets, because
    each value passes `redact` on its way from the store; with `load_redact` set to
    None, values stay as they are in the logs.
    """

    open_reader: Callable[[], StoreQueries]
    clock: Clock
    load_redact: Callable[[], Callable[[str], str]] | None
    """Function that returns the redaction function; None reveals secrets."""
    paths: AppPaths
    home: Path
    list_agent_roots: Callable[[], list[tuple[AgentAdapter, list[Root]]]]
    """Function that returns every agent with the folders it writes logs to."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Close the store and the annotations if they were opened.

        They are cached properties, so they are in `__dict__` once they are open.
        """
        with suppress(KeyError):
            self.__dict__.pop("reader").__exit__()
        with suppress(KeyError):
            self.__dict__.pop("annotations").close()

    @cached_property
    def reader(self) -> StoreQueries:
        """The store's reader; raise UserError or StoreUnusable if there is none."""
        return self.open_reader()

    @cached_property
    def annotations(self) -> Annotations:
        """The user's stars, tags and notes; not redacted."""
        from leslied.annotations import Annotations  # noqa: PLC0415 - often not needed

        return Annotations(self.paths.annotations_file)

    @property
    def now(self) -> datetime:
        """The current time."""
        return self.clock.now()

    @cached_property
    def redact(self) -> Callable[[str], str]:
        """Function that replaces the secrets in a text, unless they are revealed."""
        if self.load_redact is None:
            # `str` returns a text unchanged.
            return str
        redact = self.load_redact()
        # Folders, models, names and ids repeat from session to session. Long texts do
        # not, and would fill the memory of a process that runs for days.
        cached_redact = lru_cache(maxsize=_MAX_CACHED_TEXTS)(redact)
        return lambda text: (
            cached_redact(text) if len(text) <= _MAX_CACHED_CHARACTERS else redact(text)
        )

    def redact_summary(self, summary: SessionSummary) -> SessionSummary:
        """Return the summary without secrets, unless they are revealed."""
        return redact_summary(summary, self.redact) if self.load_redact else summary

    def redact_session(self, session: Session) -> Session:
        """Return the session without secrets, unless they are revealed."""
        return redact_session(session, self.redact) if self.load_redact else session

    def redact_unit(self, unit: Unit) -> Unit:
        """Return the unit without secrets, unless they are revealed."""
        return redact_unit(unit, self.redact) if self.load_redact else unit

    def redact_entry(self, placed: PlacedRecord) -> PlacedRecord:
        """Return the record without secrets, unless they are revealed."""
        return redact_entry(placed, self.redact) if self.load_redact else placed

    def redact_key(self, key: SessionKey) -> SessionKey:
        """Return the key for output, without secrets unless they are revealed."""
        return redact_key(key, self.redact) if self.load_redact else key

    def redact_value(self, value: _T) -> _T:
        """Return a JSON value, struct or named tuple without secrets in its texts."""
        redacted: _T = redact_value(value, self.redact) if self.load_redact else value
        return redacted
