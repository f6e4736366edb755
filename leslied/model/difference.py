"""What two sessions do not have in common."""

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
    """One fact on both sides."""

    field: str
    a: Any
    b: Any


@dataclass(frozen=True, slots=True)
class TextDiffLine:
    """One line of a text: on both sides, only in A (`-`) or only in B (`+`)."""

    sign: DiffSign
    text: str
    marks: tuple[tuple[int, int], ...] = ()
    """Where its words differ from those of the line it stands against."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDifference:
    """Two texts, woven into one."""

    lines: tuple[TextDiffLine, ...]
    is_coarse: bool = False
    """Whether lines were too long to be compared word by word."""
    uncompared: tuple[int, int] = (0, 0)
    """How many lines of A and of B were too many to be compared, and left out."""


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines that differ, with some around them, and where they stand on both sides."""

    start_a: int
    start_b: int
    lines: tuple[TextDiffLine, ...]

    @property
    def count_a(self) -> int:
        """How many of its lines are A's."""
        return sum(line.sign != "+" for line in self.lines)

    @property
    def count_b(self) -> int:
        """How many of its lines are B's."""
        return sum(line.sign != "-" for line in self.lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryDifference:
    """An entry of A and the one of B that stands against it, or one of them alone."""

    status: DiffStatus
    a: PlacedRecord | None
    b: PlacedRecord | None
    fields: tuple[FieldDifference, ...] = ()

    @property
    def either(self) -> PlacedRecord:
        """The entry of A, or that of B where A has none."""
        return self.a or cast("PlacedRecord", self.b)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitDifference:
    """A unit or subagent of A and that of B, or one of them alone."""

    status: DiffStatus
    a: Unit | None
    b: Unit | None
    fields: tuple[FieldDifference, ...] = ()
    entries: tuple[EntryDifference, ...] = ()
    """All that was compared, what is the same among it; empty where a side is alone."""
    subagents: tuple[UnitDifference, ...] = ()

    @property
    def counts(self) -> dict[DiffStatus, int]:
        """How many entries stand how."""
        counts = Counter(entry.status for entry in self.entries)
        return {status: counts[status] for status in get_args(DiffStatus)}

    @property
    def either(self) -> Unit:
        """The unit of A, or that of B where A has none."""
        return self.a or cast("Unit", self.b)
