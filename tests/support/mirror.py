"""Check that each module of `leslied` has a unit test, and each unit test a module.

`tests/unit/a/test_b.py` tests `leslied/a/b.py` or `leslied/a/_b.py`, and
`tests/unit/a/test_a.py` tests `leslied/a/__init__.py`. A module without a test and a
test without a module are violations. The violations that exist today are listed in the
baseline, `tests/unit/mirror_baseline.txt`. Regenerate the baseline after a module was
renamed or got its test:

    python -m tests.support.mirror > tests/unit/mirror_baseline.txt
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]
BASELINE = "tests/unit/mirror_baseline.txt"
BASELINE_COMMAND = f"python -m tests.support.mirror > {BASELINE}"

REPOSITORY_TESTS = {
    "tests/unit/test_bench.py": "checks tests/bench and docs/performance.md",
    "tests/unit/test_code_rules.py": "checks all modules",
    "tests/unit/test_coverage_floors.py": "checks tests/support",
    "tests/unit/test_docs.py": "checks the documentation",
    "tests/unit/test_faults.py": "checks the fault table",
    "tests/unit/test_mirror.py": "checks tests/unit itself",
    "tests/unit/test_row_tables.py": "checks tests/support",
    "tests/unit/test_mutants.py": "checks tests/mutants",
    "tests/unit/test_soak.py": "checks tests/soak",
    "tests/unit/test_supply_chain.py": "checks lock, build hook and workflows",
    "tests/unit/test_threats.py": "checks the threat table",
    "tests/unit/test_work_counts.py": "counts the work of whole runs",
}
"""Test modules that do not belong to a single module, and why."""

EXEMPT_MODULES = {
    "leslied/agents/[!_]*.py": "`make new-agent` starts with a file and a fixture; "
    "the contract tests cover it until it becomes a package",
}
"""Patterns of modules that need no unit test, and why."""


def get_test_path(module: str) -> str:
    """Return the path of a module's test; both paths are relative to the repository."""
    path = PurePosixPath(module)
    name = path.parent.name if path.stem == "__init__" else path.stem.lstrip("_")
    folder = PurePosixPath("tests/unit", *path.parent.parts[1:])
    return str(folder / f"test_{name}.py")


def is_exempt(module: str) -> bool:
    """Return whether a module needs no unit test, whatever it contains."""
    return any(PurePosixPath(module).match(pattern) for pattern in EXEMPT_MODULES)


def has_behaviour(source: str) -> bool:
    """Return whether a module contains a function that does something.

    Re-exports, constants, plain dataclasses, protocols and `__main__` contain none and
    need no test of their own.
    """
    return any(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        and not _is_stub(node)
        for node in ast.walk(ast.parse(source))
    )


def _is_stub(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> bool:
    """Return whether a function's body is only a docstring, `...` or `pass`."""
    if isinstance(node, ast.Lambda):
        return False
    return all(
        isinstance(statement, ast.Pass)
        or (
            isinstance(statement, ast.Expr)
            and isinstance(statement.value, ast.Constant)
        )
        for statement in node.body
    )


def find_violations(root: Path = ROOT) -> list[str]:
    """Return the paths of modules without a test and tests without a module, sorted."""
    tests = set(_list_files(root, "tests/unit", "test_*.py"))
    tests -= REPOSITORY_TESTS.keys()
    modules = _list_files(root, "leslied", "*.py")
    test_paths = {module: get_test_path(module) for module in modules}
    untested = {
        module
        for module, test in test_paths.items()
        if test not in tests
        and not is_exempt(module)
        and has_behaviour((root / module).read_text())
    }
    return sorted(untested | (tests - set(test_paths.values())))


def _list_files(root: Path, folder: str, pattern: str) -> list[str]:
    paths = (root / folder).rglob(pattern)
    return [path.relative_to(root).as_posix() for path in paths]


def read_baseline(root: Path = ROOT) -> list[str]:
    """Return the violations that the baseline file lists."""
    lines = (root / BASELINE).read_text().split("\n")
    return [line for line in lines if line and not line.startswith("#")]


def format_baseline(violations: list[str]) -> Iterator[str]:
    """Yield the lines of the baseline file."""
    yield "# Modules of leslied without a unit test, and unit tests without a module."
    yield f"# This list may only shrink. Regenerate it with: {BASELINE_COMMAND}"
    yield from violations


if __name__ == "__main__":
    print(*format_baseline(find_violations()), sep="\n")
