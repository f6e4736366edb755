"""Parsers of the values of filters."""

from __future__ import annotations

from pathlib import Path

import pytest

from leslied.errors import UserError
from leslied.queries.value_parsers import make_value_parsers
from tests.support.clock import FakeClock


def test_every_key_that_needs_a_parser_has_one(clock: FakeClock, home: Path):
    assert set(make_value_parsers(clock.now(), home)) == {"after", "before", "project"}


def test_the_end_of_a_time_range_includes_its_day_on_request(
    clock: FakeClock, home: Path
):
    excluded = make_value_parsers(clock.now(), home)["before"]("2026-01-31")
    included = make_value_parsers(clock.now(), home, is_end=True)["before"](
        "2026-01-31"
    )

    assert included > excluded  # type: ignore[operator]


def test_the_folder_of_a_project_may_begin_with_the_home(clock: FakeClock, home: Path):
    parse = make_value_parsers(clock.now(), home)["project"]

    assert parse("~/app") == parse(str(home / "app"))


def test_an_invalid_time_is_an_error(clock: FakeClock, home: Path):
    with pytest.raises(UserError):
        make_value_parsers(clock.now(), home)["after"]("never")
