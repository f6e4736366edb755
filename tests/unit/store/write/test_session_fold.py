"""Test which unit each added record gets."""

from __future__ import annotations

import pytest

from leslied.store.write.session_fold import FoldedUnit, SessionFold
from leslied.store.write.session_rows import SessionRow
from tests.support.records import make_call, make_prompt, make_record, make_result


@pytest.fixture
def fold() -> SessionFold:
    return SessionFold(SessionRow(id=1, agent="test", session_id="s"))


def add(fold: SessionFold, *records: object) -> list[FoldedUnit]:
    return [fold.add(record, None, at) for at, record in enumerate(records, 1)]


def test_a_prompt_starts_a_unit_and_what_follows_belongs_to_it(fold: SessionFold):
    units = add(fold, make_prompt("one"), make_record("answer"), make_prompt("two"))

    assert [unit.number for unit in units] == [1, 1, 2]


def test_a_command_moves_into_a_unit_of_its_own_when_the_agent_replies(
    fold: SessionFold,
):
    command = make_prompt("/go", metadata={"origin": "command"})

    units = add(fold, make_prompt("one"), command, make_record("answer"))

    assert units == [FoldedUnit(1, 0), FoldedUnit(1, 0), FoldedUnit(2, 2)]


def test_a_result_belongs_to_the_unit_of_its_call(fold: SessionFold):
    units = add(
        fold,
        make_prompt("one", "p1"),
        make_call("Bash", "c1"),
        make_prompt("two", "p2"),
        make_result("out", "c1"),
    )

    assert [unit.number for unit in units] == [1, 1, 2, 1]
