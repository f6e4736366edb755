"""The contract of a stage: it gets a budget, does its work and returns a report.

`StageContext` has everything from which stages are made.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import UTC
from enum import Enum, auto
from operator import iadd, ior
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from datetime import datetime, tzinfo
    from pathlib import Path

    from leslied.agents import AgentAdapter
    from leslied.clock import Clock
    from leslied.config import Settings
    from leslied.model.session import ProcessRegistry
    from leslied.model.source import Root
    from leslied.paths import AppPaths
    from leslied.pipeline.failures import Failures
    from leslied.pipeline.ingest.decode import Mask
    from leslied.pipeline.progress import ProgressCallback
    from leslied.redact import Redactor
    from leslied.store import Store, StoreReader

UNLIMITED = 1_000_000


class StageContext(Struct, kw_only=True, eq=False):
    """What stages are made from: settings, paths, agents and the store."""

    store: Store
    reader: StoreReader
    settings: Settings
    home: Path
    paths: AppPaths
    clock: Clock
    agents: Sequence[tuple[AgentAdapter, Sequence[Root]]]
    registries: Sequence[tuple[AgentAdapter, Sequence[ProcessRegistry]]]
    redactor: Redactor
    mask: Mask | None
    """Replaces secrets before anything is stored; None to store the logs' own text."""
    failures: Failures
    on_progress: ProgressCallback
    is_final: bool = False
    """Whether every session counts as stopped and unfinished turns are settled."""
    is_daemon: bool = False
    """Whether to use less memory and to wait only briefly for locks, for the daemon."""

    @property
    def redact(self) -> Callable[[str], str]:
        """Return the function that replaces the secrets in a text."""
        return self.redactor.redact

    @property
    def zone(self) -> tzinfo | None:
        """Return the configured time zone of outputs; None is the machine's own."""
        return UTC if self.settings.output.timezone == "utc" else None


class Timing(Enum):
    """When the flow runs a stage. A full scan runs all of them."""

    EVERY_RUN = auto()
    """Always; the stage itself finds out quickly that there is nothing to do."""
    ON_CHANGE = auto()
    """After an earlier stage reported a change, until no work is left."""
    WHEN_QUIET = auto()
    """Like ON_CHANGE, but slow: one such stage per run, and only without changes."""
    AFTER_SCAN = auto()
    """Like WHEN_QUIET, but only a full scan finds new work."""


class Budget(Struct, frozen=True, kw_only=True):
    """How much one run of the flow may do.

    By default, a run does all work. Only checks of threads and repeated decoding are
    limited, and continue in the next run.
    """

    changed_paths: Collection[Path] | None = None
    """Files that may have new entries; None for a full scan."""
    max_sessions: int = UNLIMITED
    """Sessions whose transcripts are written."""
    max_indexed_threads: int = UNLIMITED
    max_exported_sessions: int = UNLIMITED
    max_archived_sources: int = UNLIMITED
    max_redecoded_bytes: int = 64 * 1024 * 1024
    """Bytes that are decoded again; a source is always decoded as a whole."""
    max_checked_threads: int = 2000
    """Recent threads that a full scan checks for changed assets."""
    max_checked_old_threads: int = 100
    """Other threads that a full scan checks, in turn."""
    max_verified_bytes: int = 1 << 62
    """Uncompressed bytes of the archive that are verified."""
    includes_backlog: bool = True
    """Whether to do what nobody waits for: transcripts of sessions that are older than
    the store, and the archive."""
    should_yield: Callable[[], bool] = lambda: False
    """Returns whether something more urgent waits, such as new entries. A stage asks
    after each piece of work, and then leaves the rest to the next run."""
    is_stopping: Callable[[], bool] = lambda: False
    """Returns whether leslied is about to end, so that no further stage runs."""

    @property
    def is_scan(self) -> bool:
        """Return whether all sources, threads and archive files are checked."""
        return self.changed_paths is None


FULL_BUDGET = Budget()


class LogEvent(NamedTuple):
    """One line for the daemon's log."""

    name: str
    fields: Mapping[str, Any]
    is_warning: bool = True
    """Whether something is wrong; the daemon then does not repeat the line."""


class Report(Struct, kw_only=True):
    """Counts and errors of one run of a stage. Each stage adds its own counts."""

    errors: dict[str, str] = field(default_factory=dict)
    """Reasons of failures, by the name of what failed: a session, a folder, …"""
    has_more: bool = False
    """Whether due work is left for the next run."""
    due_times: set[datetime] = field(default_factory=set)
    """When work becomes due that is not due yet."""

    @property
    def event(self) -> str:
        """Return the name of the log event, such as `transcripts.write`."""
        return "stage.run"

    @property
    def counts(self) -> Mapping[str, int]:
        """Return the numbers to log; they are not logged if all are 0."""
        return {}

    @property
    def has_changes(self) -> bool:
        """Return whether later stages may have new work."""
        return False

    @property
    def needs_reload(self) -> bool:
        """Return whether the flow must be made again, to read folders that are new."""
        return False

    @property
    def restart_from(self) -> str:
        """Return the name of an earlier stage that has new work, or ""."""
        return ""

    def list_warnings(self) -> Iterator[LogEvent]:
        """Yield a log event for everything that went wrong."""
        group = self.event.partition(".")[0]
        for name, reason in self.errors.items():
            yield LogEvent(f"{group}.error", {"name": name, "reason": reason})

    def list_events(self) -> Iterator[LogEvent]:
        """Yield everything that the daemon logs about the run."""
        yield from self.list_warnings()
        if any(self.counts.values()):
            yield LogEvent(self.event, self.counts, is_warning=False)

    def add(self, other: Report) -> None:
        """Add the counts and errors of a report of the same stage."""
        for name in self.__struct_fields__:
            value, other_value = getattr(self, name), getattr(other, name)
            is_union = isinstance(value, (bool, dict, set))
            combine: Callable[[Any, Any], Any] = ior if is_union else iadd
            setattr(self, name, combine(value, other_value))

    def __iadd__(self, other: Self) -> Self:
        """Add the counts and errors of another report."""
        self.add(other)
        return self


class Stage(ABC):
    """One step of the flow.

    A stage finds out from the store or from files what is due, so that it continues
    after a crash; the flow only passes a budget.
    """

    __slots__ = ()
    timing = Timing.EVERY_RUN
    can_wait = False
    """Whether the flow may postpone the stage for some runs if new entries wait."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Return the name in `leslied status` and in the log."""

    @property
    def activity(self) -> str:
        """Return the label of a progress bar, or "" if the stage is quick."""
        return ""

    @property
    def watched_roots(self) -> Sequence[Root]:
        """Return the folders whose changes the stage wants to know at once."""
        return ()

    @property
    def is_polling(self) -> bool:
        """Return whether the stage waits for something that no file event announces."""
        return False

    @abstractmethod
    def run(self, budget: Budget) -> Report:
        """Do the work that is due, within the budget."""

    def adopt(self, previous: Self) -> None:  # noqa: B027 - most have no memory
        """Take over the state of this stage from before the settings were reloaded."""

    def close(self) -> None:  # noqa: B027 - few stages need it
        """Release resources, and clear marks that are valid only while leslied runs."""
