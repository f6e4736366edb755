"""Every row of the fault table has a test, and docs/reliability.md lists them."""

from __future__ import annotations

from pathlib import Path

import pytest

from leslied.model.source import Shape
from tests.support import reliability
from tests.support.reliability import (
    GUARANTEES,
    PAGE,
    PARTS,
    TABLE,
    load_results,
    render_mutants,
    render_page,
    render_soak,
    render_sources,
)

ROWS = {row.id: row for row in TABLE.list_rows()}
RUN = {"date": "2026-11-18", "commit": "0a1b2c3d", "machine": "2 cores"}


def make_soak_row(**changes: object) -> dict[str, object]:
    row = {"part": "kills", "what": "lost lines", "figure": "0", "goal": "0"}
    return {**row, "met": True, **changes}


def test_the_table_has_all_99_rows():
    counts = {"A": 17, "B": 20, "C": 9, "D": 14, "E": 15, "F": 13, "G": 11}

    assert list(ROWS) == [
        f"{area}{number}"
        for area, count in counts.items()
        for number in range(1, count + 1)
    ]


def test_every_row_is_named_by_a_test_or_says_why_not():
    tests = TABLE.find_tests()

    assert [id_ for id_, row in ROWS.items() if not (id_ in tests or row.not_run)] == []


def test_no_row_has_both_a_test_and_a_reason_for_none():
    tests = TABLE.find_tests()

    assert [id_ for id_, row in ROWS.items() if id_ in tests and row.not_run] == []


def test_every_marker_names_rows_of_the_table():
    assert set(TABLE.find_tests()) <= set(ROWS)


def test_the_page_is_up_to_date():
    assert PAGE.read_text("utf-8") == render_page(), "run: make docs"


def test_no_row_failed_in_the_last_run():
    results = TABLE.load_results()["rows"]

    assert {id_: text for id_, text in results.items() if "failed" in text} == {}


def test_every_kind_of_source_has_a_guarantee_and_an_agent():
    lines = render_sources()[2:]

    assert set(GUARANTEES) == set(Shape)
    assert all("|  |" not in line for line in lines)


def test_a_part_without_results_was_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(reliability, "RESULTS_DIR", tmp_path)

    assert render_soak(load_results("soak")) == ["Not run yet: `make soak`."]
    assert render_mutants(load_results("mutants")) == ["Not run yet: `make mutants`."]


def test_the_soak_shows_every_figure_and_which_goals_are_missed():
    rows = [make_soak_row(), make_soak_row(part="load", figure="2 s", met=False)]

    text = "\n".join(render_soak(RUN | {"rows": rows}))

    assert "Measured on 2026-11-18 at commit 0a1b2c3d on 2 cores." in text
    assert "| Kills | lost lines | 0 | 0 | yes |" in text
    assert "| Load | lost lines | 2 s | 0 | **no** |" in text


def test_a_part_of_the_soak_that_was_not_run_is_listed():
    lines = render_soak(RUN | {"rows": [make_soak_row()]})

    not_run = [line for line in lines if "not run" in line]
    assert len(not_run) == len(PARTS) - 1


def test_a_figure_of_another_commit_says_so():
    row = make_soak_row(commit="ffffffff")

    assert (
        "| lost lines (2026-11-18 at commit ffffffff) |"
        in render_soak(RUN | {"rows": [row]})[4]
    )


def test_the_share_of_planted_bugs_and_the_survivors_are_shown():
    survivors = [{"name": "scan_rarely", "what": "scan every 300 s"}]

    text = "\n".join(
        render_mutants(RUN | {"caught": 39, "total": 40, "survivors": survivors})
    )

    assert "the tests caught 39 of 40 planted bugs (98 %)." in text
    assert "- `scan_rarely`: scan every 300 s" in text
