"""Selection of units and entries of a session. Pure functions, no I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec.structs import replace

from leslied.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leslied.model.record import RecordType
    from leslied.model.session import Unit

_TOOL_TYPES = ("tool_use", "tool_result")


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitSelection:
    """Which units and entries to show; by default, all."""

    unit: int | None = None
    """Number of the only unit to show; a negative number counts from the end."""
    first: int | None = None
    """How many units to show from the start."""
    last: int | None = None
    """How many units to show from the end."""
    is_answers_only: bool = False
    """Whether only the agent's answers are shown, without those of subagents."""
    include_subagents: bool = True
    include_tools: bool = True
    include_thinking: bool = True

    @property
    def is_whole(self) -> bool:
        """Return whether all units are selected."""
        return self.unit is None and self.first is None and self.last is None

    @property
    def shows_subagents(self) -> bool:
        """Return whether subagents are shown."""
        return self.include_subagents and not self.is_answers_only

    def includes(self, record_type: RecordType) -> bool:
        """Return whether entries of this type are shown."""
        if self.is_answers_only:
            return record_type == "assistant_message"
        if record_type == "thinking":
            return self.include_thinking
        return self.include_tools or record_type not in _TOOL_TYPES


def select_units(units: Sequence[Unit], selection: UnitSelection) -> tuple[Unit, ...]:
    """Return the selected units in order.

    Raise UserError if there is no unit with the number `selection.unit`.

    Unit 0 holds entries before the first prompt; `first` and `last` do not count it.
    """
    if selection.unit is not None:
        return _get_units_by_number(units, selection.unit)
    if selection.is_whole:
        return tuple(units)
    prompt_units = tuple(unit for unit in units if unit.number) or tuple(units)
    if selection.first is not None:
        return prompt_units[: selection.first]
    return prompt_units[-(selection.last or 0) :]


def filter_unit(unit: Unit, selection: UnitSelection) -> Unit:
    """Return the unit with only the selected entries and subagents."""
    subagents = unit.subagents if selection.shows_subagents else ()
    return replace(
        unit,
        entries=tuple(
            placed for placed in unit.entries if selection.includes(placed.record.type)
        ),
        subagents=tuple(filter_unit(child, selection) for child in subagents),
    )


def _get_units_by_number(units: Sequence[Unit], unit_number: int) -> tuple[Unit, ...]:
    """Return the units of this number; a negative number counts from the last unit."""
    existing_numbers = sorted({unit.number for unit in units})
    prompt_numbers = [number for number in existing_numbers if number]
    number: int | None = unit_number
    if unit_number < 0:
        is_in_range = -unit_number <= len(prompt_numbers)
        number = prompt_numbers[unit_number] if is_in_range else None
    if number not in existing_numbers:
        raise UserError(
            f"There is no unit {unit_number}: {_format_unit_range(prompt_numbers)}.",
            "List the units with: leslied show ID --summary",
        )
    return tuple(unit for unit in units if unit.number == number)


def _format_unit_range(numbers: Sequence[int]) -> str:
    if not numbers:
        return "the session has no prompt yet"
    if len(numbers) == 1:
        return "the session has one unit"
    return f"the session has units {numbers[0]} to {numbers[-1]}"
