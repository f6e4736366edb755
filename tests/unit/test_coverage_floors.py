"""Comparison of measured coverage with goals and floors."""

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
    """Return a report with (covered, total) branches of one file per package."""
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


def get_measure(measures: list[Measure], name: str) -> Measure:
    return next(m for m in measures if m.name == name)


def test_coverage_above_its_goal_is_not_below_its_floor():
    measures = measure(make_report(), {})

    assert not any(m.is_below_floor for m in measures)
    # One measure for each pure package, and one for the whole.
    assert len(measures) == len(PURE_PACKAGES) + 1


def test_a_package_below_its_goal_is_reported_with_the_difference():
    model = get_measure(measure(make_report(model=(90, 100)), {}), "leslied.model")

    assert model.is_below_floor
    assert "5.00 below 95.0" in model.format()


def test_the_whole_program_has_a_separate_goal():
    assert get_measure(measure(make_report(whole=89.9), {}), WHOLE).is_below_floor
    assert not get_measure(measure(make_report(whole=90.1), {}), WHOLE).is_below_floor


def test_a_floor_replaces_the_goal_until_the_goal_is_reached():
    floors = {"leslied.model": 80.0}
    reports = (make_report(model=(count, 100)) for count in (79, 80, 96))
    below, at_floor, at_goal = (
        get_measure(measure(report, floors), "leslied.model") for report in reports
    )

    assert below.is_below_floor
    assert not at_floor.is_below_floor
    assert "15.00 below the goal" in at_floor.format()
    assert "remove its floor" in at_goal.format()


def test_a_package_that_was_not_measured_is_below_its_floor():
    report = make_report(model=(0, 0))

    assert get_measure(measure(report, {}), "leslied.model").is_below_floor


@pytest.mark.parametrize("name", FLOORS)
def test_a_floor_belongs_to_a_package_and_is_below_its_goal(name: str):
    goal = WHOLE_GOAL if name == WHOLE else PURE_GOAL

    assert name in {WHOLE, *(f"{WHOLE}.{package}" for package in PURE_PACKAGES)}
    assert FLOORS[name] < goal
