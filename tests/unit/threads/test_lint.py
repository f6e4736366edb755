"""Rules for the names of assets."""

from __future__ import annotations

from pathlib import Path

import pytest

from leslied.layout import thread_folder
from leslied.threads.assets import find_assets, list_names
from leslied.threads.lint import LintFinding, lint_assets


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / thread_folder("thread-1")
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
def test_a_name_that_follows_the_rules_has_no_findings(folder: Path, name: str):
    write_file(folder, name)

    assert lint(folder) == []


@pytest.mark.parametrize(
    ("name", "rules", "suggestion"),
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
def test_a_finding_suggests_a_name_that_follows_the_rules(
    folder: Path, name: str, rules: list[str], suggestion: str
):
    write_file(folder, name)

    findings = lint(folder)

    assert [finding.rule for finding in findings] == rules
    assert findings[0].suggestion == suggestion
    assert findings[0].path == name


@pytest.mark.parametrize("day", ["", "2026-11-16-", "20261399-", "20261116-2561-"])
def test_a_name_without_a_valid_date_is_reported(folder: Path, day: str):
    write_file(folder, f"design/{day}water-wheel-shape.md")

    assert "date" in [finding.rule for finding in lint(folder)]


def test_an_asset_in_two_forms_is_reported(folder: Path):
    write_file(folder, "plan.md")
    write_file(folder, "plan/20261116-water-wheel-shape.md")

    (finding,) = lint(folder)

    assert finding.rule == "one-form"


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("Plan.md", "plan.md"),
        ("plan-v2.md", "plan.md"),
        ("20261116-progress.md", "progress.md"),
        ("designs", "design.md"),
        ("learning", "learnings"),
        ("todo.md", ""),
    ],
)
def test_an_unknown_name_is_reported_with_the_probable_asset(
    folder: Path, name: str, suggestion: str
):
    write_file(folder, name)

    (finding,) = lint(folder)

    assert (finding.rule, finding.suggestion) == ("unknown-name", suggestion)


def test_an_empty_folder_is_reported(folder: Path):
    (folder / "learnings").mkdir()

    (finding,) = lint(folder)

    assert finding.rule == "empty"


def test_a_finding_names_the_path_even_if_the_thread_id_contains_an_asset_name(
    tmp_path: Path,
):
    folder = tmp_path / thread_folder("thread-design-1")
    (folder / "design").mkdir(parents=True)
    (folder / "design/Shape.md").write_text("x")

    assets = find_assets(tmp_path, "thread-design-1")
    findings = lint_assets(assets, list_names(tmp_path, "thread-design-1"))

    assert {finding.path for finding in findings} == {"design/Shape.md"}
