"""Which part of a session is shown: a pure choice among its units and entries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec.structs import replace

from leslied.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leslied.model.record import RecordType
    from leslied.model.session import Unit

_TOOLS = ("tool_use", "tool_result")


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """What was asked for; by default, everything."""

    unit: int | None = None
    """One unit by its number; a negative one counts from the end."""
    first: int | None = None
    last: int | None = None
    is_answers: bool = False
    """Only what the agent itself answered: no prompts, no calls, no subagents."""
    has_subagents: bool = True
    has_tools: bool = True
    has_thinking: bool = True

    @property
    def is_whole(self) -> bool:
        """Whether no unit is left out."""
        return self.unit is None and self.first is None and self.last is None

    @property
    def shows_subagents(self) -> bool:
        """Whether what subagents did is among what was asked for."""
        return self.has_subagents and not self.is_answers

    def keeps(self, kind: RecordType) -> bool:
        """Whether entries of this type are among what was asked for."""
        if self.is_answers:
            return kind == "assistant_message"
        if kind == "thinking":
            return self.has_thinking
        return self.has_tools or kind not in _TOOLS


def choose(units: Sequence[Unit], excerpt: Excerpt) -> tuple[Unit, ...]:
    """The units asked for, in order; a sentence where there is none of that number.

    What stands before the first prompt is unit 0: it counts as none of the first.
    """
    if excerpt.unit is not None:
        return _find(units, excerpt.unit)
    if excerpt.is_whole:
        return tuple(units)
    counted = tuple(unit for unit in units if unit.number) or tuple(units)
    if excerpt.first is not None:
        return counted[: excerpt.first]
    return counted[-(excerpt.last or 0) :]


def thin(unit: Unit, excerpt: Excerpt) -> Unit:
    """The unit with those of its entries and subagents that were asked for."""
    below = unit.subagents if excerpt.shows_subagents else ()
    kept = (p for p in unit.entries if excerpt.keeps(p.record.type))
    return replace(
        unit,
        entries=tuple(kept),
        subagents=tuple(thin(child, excerpt) for child in below),
    )


def _find(units: Sequence[Unit], wanted: int) -> tuple[Unit, ...]:
    numbers = sorted({unit.number for unit in units})
    counted = [number for number in numbers if number]
    if wanted < 0:
        number = counted[wanted] if -wanted <= len(counted) else None
    else:
        number = wanted if wanted in numbers else None
    if number is None:
        raise UserError(
            f"There is no unit {wanted}: {_tell(counted)}.",
            "See the units: leslied show ID --summary",
        )
    return tuple(unit for unit in units if unit.number == number)


def _tell(numbers: Sequence[int]) -> str:
    if not numbers:
        return "the session has no prompt yet"
    if len(numbers) == 1:
        return "the session has one"
    return f"the session has {numbers[0]} to {numbers[-1]}"
