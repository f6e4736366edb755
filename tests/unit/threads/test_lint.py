"""Names that people and agents find."""

from __future__ import annotations

from pathlib import Path

import pytest

from leslied.threads.assets import find_assets, list_names
from leslied.threads.layout import thread_folder
from leslied.threads.lint import LintFinding, lint_assets


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = thread_folder(tmp_path, "thread-1")
    folder.mkdir(parents=True)
    return folder


def lint(folder: Path) -> list[LintFinding]:
    base = folder.parents[2]
    return lint_assets(find_assets(base, "thread-1"), list_names(base, "thread-1"))


def write_file(folder: Path, name: str) -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("x")


@pytest.mark.parametrize(
    "name",
    [
        "plan.md",
        "progress.md",
        "design.md",
        "design/20261116-water-wheel-shape.md",
        "design/20261116-0930-water-wheel-shape.md",
        "learnings/20261116-how-oak-swells-in-water.md",
        "discuss/20261116-水车-的-形状.md",
        "design/README.md",
    ],
)
def test_a_name_by_the_rules_is_fine(folder: Path, name: str):
    write_file(folder, name)

    assert lint(folder) == []


@pytest.mark.parametrize(
    ("name", "rules", "better"),
    [
        (
            "design/20261116-water-wheel-shape.txt",
            ["ending"],
            "20261116-water-wheel-shape.md",
        ),
        ("design/20261116-WaterWheelShape.md", ["kebab-case"],
         "20261116-water-wheel-shape.md"),
        ("design/20261116-water_wheel shape.md", ["kebab-case"],
         "20261116-water-wheel-shape.md"),
        ("design/20261116-wheel.md", ["words"], ""),
        ("design/20261116-a-b-c-d-e-f-g.md", ["words"], ""),
        ("design/20261116-" + "-".join(["waterwheelshape"] * 5) + ".md", ["length"],
         "20261116-waterwheelshape-waterwheelshape-waterwheelshape.md"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_a_better_name(
    folder: Path, name: str, rules: list[str], better: str
):
    write_file(folder, name)

    findings = lint(folder)

    assert [finding.rule for finding in findings] == rules
    assert findings[0].suggestion == better
    assert findings[0].path == name


@pytest.mark.parametrize("day", ["", "2026-11-16-", "20261399-", "20261116-2561-"])
def test_a_name_begins_with_a_date_that_exists(folder: Path, day: str):
    write_file(folder, f"design/{day}water-wheel-shape.md")

    assert "date" in [finding.rule for finding in lint(folder)]


def test_two_forms_of_one_asset_are_one_too_many(folder: Path):
    write_file(folder, "plan.md")
    write_file(folder, "plan/20261116-water-wheel-shape.md")

    (finding,) = lint(folder)

    assert finding.rule == "one-form"


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("Plan.md", "plan.md"),
        ("plan-v2.md", "plan.md"),
        ("20261116-progress.md", "progress.md"),
        ("designs", "design.md"),
        ("learning", "learnings"),
        ("todo.md", ""),
    ],
)
def test_a_name_no_asset_has_is_told_with_what_was_meant(
    folder: Path, name: str, meant: str
):
    write_file(folder, name)

    (finding,) = lint(folder)

    assert (finding.rule, finding.suggestion) == ("unknown-name", meant)


def test_an_empty_folder_is_told(folder: Path):
    (folder / "learnings").mkdir()

    (finding,) = lint(folder)

    assert finding.rule == "empty"
