"""Check how coverage is held against its floors."""

from __future__ import annotations

import pytest

from tests.support.coverage_floors import (
    FLOORS,
    PURE_GOAL,
    PURE_PACKAGES,
    WHOLE,
    WHOLE_GOAL,
    Measure,
    measure,
)


def make_report(whole: float = 99, **branches: tuple[int, int]) -> dict:
    """Return a report with covered and existing branches of one file per package."""
    counts = dict.fromkeys(PURE_PACKAGES, (10, 10)) | branches
    return {
        "totals": {"percent_covered": whole},
        "files": {
            f"leslied/{package}/x.py": {
                "summary": {"covered_branches": covered, "num_branches": total}
            }
            for package, (covered, total) in counts.items()
        },
    }


def find(measures: list[Measure], name: str) -> Measure:
    return next(each for each in measures if each.name == name)


def test_enough_is_enough():
    measures = measure(make_report(), {})

    assert not any(each.is_low for each in measures)
    assert len(measures) == len(PURE_PACKAGES) + 1


def test_a_package_below_the_goal_is_named_with_what_is_missing():
    found = find(measure(make_report(model=(90, 100)), {}), "leslied.model")

    assert found.is_low
    assert "5.00 below 95.0" in found.format()


def test_the_whole_has_a_goal_of_its_own():
    assert find(measure(make_report(whole=89.9), {}), WHOLE).is_low
    assert not find(measure(make_report(whole=90.1), {}), WHOLE).is_low


def test_a_floor_stands_for_the_goal_until_it_is_reached():
    floors = {"leslied.model": 80.0}
    reports = (make_report(model=(count, 100)) for count in (79, 80, 96))
    low, there, done = (find(measure(r, floors), "leslied.model") for r in reports)

    assert low.is_low
    assert not there.is_low
    assert "15.00 below the goal" in there.format()
    assert "remove its floor" in done.format()


def test_a_package_that_was_not_measured_is_low():
    report = make_report(model=(0, 0))

    assert find(measure(report, {}), "leslied.model").is_low


@pytest.mark.parametrize("name", FLOORS)
def test_a_floor_belongs_to_a_package_and_is_below_its_goal(name: str):
    goal = WHOLE_GOAL if name == WHOLE else PURE_GOAL

    assert name in {WHOLE, *(f"{WHOLE}.{each}" for each in PURE_PACKAGES)}
    assert FLOORS[name] < goal
