"""Describe the differences between two sessions, called A and B."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

if TYPE_CHECKING:
    from leslied.model.record import PlacedRecord
    from leslied.model.session import Unit

DiffStatus = Literal["same", "changed", "only_a", "only_b"]
DiffSign = Literal[" ", "-", "+"]


@dataclass(frozen=True, slots=True)
class FieldDifference:
    """Values of one field in A and B."""

    field: str
    a: Any
    b: Any


@dataclass(frozen=True, slots=True)
class TextDiffLine:
    """One line of text: in both texts (` `), only in A (`-`) or only in B (`+`)."""

    sign: DiffSign
    text: str
    marks: tuple[tuple[int, int], ...] = ()
    """Character ranges that differ from the line on the other side."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDifference:
    """Line diff of two texts."""

    lines: tuple[TextDiffLine, ...]
    is_coarse: bool = False
    """True if lines were too long to be compared word by word."""
    uncompared: tuple[int, int] = (0, 0)
    """How many lines of A and of B exceed the limit and were not compared."""


@dataclass(frozen=True, slots=True)
class Hunk:
    """Changed lines of a text, with some unchanged lines around them."""

    start_a: int
    """Number of the first line in A."""
    start_b: int
    """Number of the first line in B."""
    lines: tuple[TextDiffLine, ...]

    @property
    def count_a(self) -> int:
        """Number of lines that are in A."""
        return sum(line.sign != "+" for line in self.lines)

    @property
    def count_b(self) -> int:
        """Number of lines that are in B."""
        return sum(line.sign != "-" for line in self.lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryDifference:
    """An entry of A aligned with an entry of B, or one entry without a counterpart."""

    status: DiffStatus
    a: PlacedRecord | None
    b: PlacedRecord | None
    fields: tuple[FieldDifference, ...] = ()

    @property
    def either(self) -> PlacedRecord:
        """The entry of A, or that of B if A has none."""
        return self.a or cast("PlacedRecord", self.b)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitDifference:
    """A unit or subagent of A aligned with one of B, or one without a counterpart."""

    status: DiffStatus
    a: Unit | None
    b: Unit | None
    fields: tuple[FieldDifference, ...] = ()
    entries: tuple[EntryDifference, ...] = ()
    """All compared entries, including equal ones; empty if one side is missing."""
    subagents: tuple[UnitDifference, ...] = ()

    @property
    def counts(self) -> dict[DiffStatus, int]:
        """Number of entries for each status."""
        counts = Counter(entry.status for entry in self.entries)
        return {status: counts[status] for status in get_args(DiffStatus)}

    @property
    def either(self) -> Unit:
        """The unit of A, or that of B if A has none."""
        return self.a or cast("Unit", self.b)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffOptions:
    """Options that decide how much of a diff is shown."""

    context: int
    """Number of unchanged lines around each change."""
    is_full: bool
    """Whether long texts and lines are shown without being cut."""
    is_summary: bool
    """Whether changed units are shown without their changes."""
    home: str
    """The home directory, which paths show as `~`."""
