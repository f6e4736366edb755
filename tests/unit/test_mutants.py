"""Every planted bug of `make mutants` applies to the code, and is judged fairly."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.mutants.__main__ import compute_share, format_result, format_summary
from tests.mutants.catalogue import (
    ROOT,
    Mutant,
    MutantError,
    iter_tests,
    load_mutants,
)
from tests.mutants.runner import Copies, Outcome, Result, run_mutant

MUTANTS = load_mutants()
MIN_MUTANTS = 45
PACKAGES = ("archive", "daemon", "pipeline", "sessions", "sinks", "store", "tail")
EXAMPLE = Mutant(
    name="sum-off-by-one",
    file="leslied/sums.py",
    what="The sum is too large.",
    find="a + b",
    replace="a + b + 1",
    tests=("tests/test_sums.py",),
)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a repository with one function and its test."""
    files = {
        "leslied/__init__.py": "",
        "leslied/sums.py": "def add(a, b):\n    return a + b\n",
        "tests/test_sums.py": (
            "from leslied.sums import add\n"
            "def test_the_sum_is_right():\n    assert add(1, 2) == 3\n"
        ),
        "pyproject.toml": "[tool.pytest.ini_options]\n",
    }
    for name, text in files.items():
        path = tmp_path / "repository" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr("tests.mutants.runner.ROOT", tmp_path / "repository")
    return tmp_path / "repository"


def find_problem(mutant: Mutant) -> str:
    """Return why a mutant does not apply, or ""."""
    try:
        mutant.apply()
    except MutantError as error:
        return str(error)
    return ""


def has_test(test: str) -> bool:
    """Return whether there is a test file, and a function if the id names one."""
    file, _, name = test.partition("::")
    text = (ROOT / file).read_text("utf-8") if (ROOT / file).is_file() else ""
    return f"def {name.partition('[')[0]}(" in text if name else bool(text)


def test_every_mutant_applies_to_the_code():
    problems = [find_problem(mutant) for mutant in MUTANTS]

    assert [problem for problem in problems if problem] == []


def test_every_mutant_says_what_is_wrong_in_a_sentence():
    assert [m.name for m in MUTANTS if not m.what.endswith(".")] == []


def test_every_test_that_a_mutant_names_exists():
    tests = {test for mutant in MUTANTS for test in mutant.tests}

    assert [test for test in tests if not has_test(test)] == []


def test_there_are_enough_mutants_of_every_package():
    names = [mutant.name for mutant in MUTANTS]

    assert len(names) == len(set(names)) >= MIN_MUTANTS
    assert {mutant.file.split("/")[1] for mutant in MUTANTS} >= set(PACKAGES)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"find": "a - b"}, "occurs 0 times"),
        ({"find": "a"}, "occurs 3 times"),
        ({"replace": "a + "}, "invalid syntax"),
    ],
)
def test_a_mutant_that_does_not_apply_is_refused(
    repository: Path, fields: dict[str, str], reason: str
):
    with pytest.raises(MutantError, match=reason):
        replace(EXAMPLE, **fields).apply(repository)  # type: ignore[arg-type]


@pytest.mark.usefixtures("repository")
def test_a_mutant_that_a_test_notices_is_caught(tmp_path: Path):
    result = run_mutant(EXAMPLE, Copies(tmp_path / "copies", 1))

    assert result.outcome is Outcome.CAUGHT
    assert result.failed_test == "tests/test_sums.py::test_the_sum_is_right"


@pytest.mark.usefixtures("repository")
def test_a_mutant_that_no_test_notices_survives(tmp_path: Path):
    mutant = replace(EXAMPLE, replace="b + a")
    result = run_mutant(mutant, Copies(tmp_path / "copies", 1))

    assert result.outcome is Outcome.SURVIVED


@pytest.mark.usefixtures("repository")
def test_a_mutant_that_breaks_the_import_is_not_caught(tmp_path: Path):
    mutant = replace(EXAMPLE, find="def add(", replace="def sum_up(")
    result = run_mutant(mutant, Copies(tmp_path / "copies", 1))

    assert (result.outcome, result.is_caught) == (Outcome.NOT_RUN, False)


def test_the_copy_is_restored_and_the_repository_untouched(
    repository: Path, tmp_path: Path
):
    copies = Copies(tmp_path / "copies", 1)
    run_mutant(EXAMPLE, copies)
    again = run_mutant(replace(EXAMPLE, replace="b + a"), copies)

    assert again.outcome is Outcome.SURVIVED
    assert (repository / EXAMPLE.file).read_text() == (
        "def add(a, b):\n    return a + b\n"
    )


@pytest.mark.parametrize(
    ("may_hang", "limit", "outcome"),
    [
        (False, "TIMEOUT_SECONDS", Outcome.TIMED_OUT),
        (True, "HANG_SECONDS", Outcome.CAUGHT),
    ],
)
@pytest.mark.usefixtures("repository")
def test_a_hanging_test_catches_only_a_mutant_that_may_hang(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    may_hang: bool,
    limit: str,
    outcome: Outcome,
):
    monkeypatch.setattr(f"tests.mutants.runner.{limit}", 0.1)
    endless = replace(EXAMPLE, find="    return a + b", replace="    while True: pass")

    mutant = replace(endless, may_hang=may_hang)
    result = run_mutant(mutant, Copies(tmp_path / "copies", 1))

    assert (result.outcome, result.is_caught) == (outcome, may_hang)


def test_tests_are_named_once_without_the_parts_of_a_named_file():
    first = replace(EXAMPLE, tests=("a.py::test_x", "b.py::test_y"))
    second = replace(EXAMPLE, tests=("a.py", "b.py::test_y"))

    assert list(iter_tests([first, second])) == ["b.py::test_y", "a.py"]


def test_the_summary_names_each_survivor_and_the_share():
    results = [
        Result(EXAMPLE, Outcome.CAUGHT, 1.0, "a.py::test_x"),
        Result(replace(EXAMPLE, name="other"), Outcome.SURVIVED, 1.0),
    ]

    assert format_summary(results) == (
        "other (survived): The sum is too large.\n1 of 2 caught: 50.0%"
    )
    assert compute_share(results) == 0.5
    assert format_result(results[0]).endswith("sum-off-by-one" + " " * 23 + "test_x")
