"""Test budgets and reports, which all stages share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from leslied.pipeline import Budget, LogEvent, Report


class PaintReport(Report, kw_only=True):
    """The report of a stage that paints walls."""

    walls: int = 0
    colours: set[str] = field(default_factory=set)
    event = "paint.walls"

    @property
    def counts(self) -> Mapping[str, int]:
        return {"walls": self.walls}


def test_a_budget_without_changed_paths_is_a_full_scan():
    assert Budget().is_scan


def test_a_budget_with_changed_paths_is_no_scan_even_if_there_are_none():
    assert not Budget(changed_paths=()).is_scan
    assert not Budget(changed_paths=[Path("a")]).is_scan


def test_reports_are_added_field_by_field():
    report = PaintReport(walls=1, colours={"red"}, errors={"a": "wet"})

    report += PaintReport(walls=2, colours={"blue"}, errors={"b": "dry"}, has_more=True)

    assert report == PaintReport(
        walls=3,
        colours={"red", "blue"},
        errors={"a": "wet", "b": "dry"},
        has_more=True,
    )


def test_a_report_logs_its_counts_and_errors():
    report = PaintReport(walls=2, errors={"door": "locked"})

    assert list(report.list_events()) == [
        LogEvent("paint.error", {"name": "door", "reason": "locked"}),
        LogEvent("paint.walls", {"walls": 2}, is_warning=False),
    ]


def test_a_report_without_counts_logs_nothing():
    assert list(PaintReport().list_events()) == []
