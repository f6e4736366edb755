"""The comparison of two ids."""

from __future__ import annotations

import json

from leslied.model.difference import DiffOptions
from leslied.queries.context import QueryContext
from leslied.queries.diff import DiffScope, compare_sessions
from leslied.queries.show import show_session
from leslied.queries.unit_selection import UnitSelection
from tests.support.queries import SECRET

OPTIONS = DiffOptions(context=3, is_full=False, is_summary=False, home="")


def test_a_session_is_the_same_as_itself(queries: QueryContext):
    diff = compare_sessions(queries, "last", "last", DiffScope())

    assert diff.is_same
    assert diff.to_dict(OPTIONS)["is_same"] is True


def test_two_units_of_a_session_differ_without_showing_secrets(queries: QueryContext):
    shown = show_session(queries, "last", UnitSelection())
    first, second = (unit.chat_id for unit in shown.iter_units() if unit.number)
    diff = compare_sessions(queries, first, second, DiffScope())
    data = diff.to_dict(OPTIONS)

    assert not diff.is_same
    assert (data["a"]["part"], data["b"]["part"]) == (first, second)
    assert SECRET not in json.dumps(data)
