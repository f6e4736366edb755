"""Compare `tests/unit` with `leslied`: find modules without test, tests without module.

`tests/unit/a/test_b.py` tests `leslied/a/b.py` or `leslied/a/_b.py`, and
`tests/unit/a/test_a.py` tests `leslied/a/__init__.py`. Today's exceptions are listed in
`tests/unit/mirror_baseline.txt`. Regenerate the list after a module was renamed or got
its test:

    python -m tests.support.mirror > tests/unit/mirror_baseline.txt
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]
BASELINE = "tests/unit/mirror_baseline.txt"
COMMAND = f"python -m tests.support.mirror > {BASELINE}"

TESTS_OF_THE_REPOSITORY = {
    "tests/unit/test_code_rules.py": "checks all modules",
    "tests/unit/test_coverage_floors.py": "checks tests/support",
    "tests/unit/test_docs.py": "checks the documentation",
    "tests/unit/test_mirror.py": "checks tests/unit itself",
}
"""Test modules that do not belong to a single module, and why."""

EXEMPT_MODULES = {
    "leslied/agents/[!_]*.py": "`make new-agent` starts with a file and a fixture; "
    "the contract tests cover it until it becomes a package",
}
"""Patterns of modules that need no unit test, and why."""


def name_test(module: str) -> str:
    """Return the path of a module's test, both relative to the repository."""
    path = PurePosixPath(module)
    name = path.parent.name if path.stem == "__init__" else path.stem.lstrip("_")
    folder = PurePosixPath("tests/unit", *path.parent.parts[1:])
    return str(folder / f"test_{name}.py")


def is_exempt(module: str) -> bool:
    """Return whether a module needs no unit test, whatever is in it."""
    return any(PurePosixPath(module).match(pattern) for pattern in EXEMPT_MODULES)


def has_behaviour(source: str) -> bool:
    """Return whether a module has a function that does something.

    Re-exports, constants, plain dataclasses, protocols and `__main__` have none, and
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


def find_exceptions(root: Path = ROOT) -> list[str]:
    """Return modules without a test and tests without a module, sorted."""
    tests = set(_list_files(root, "tests/unit", "test_*.py"))
    tests -= TESTS_OF_THE_REPOSITORY.keys()
    modules = _list_files(root, "leslied", "*.py")
    test_paths = {module: name_test(module) for module in modules}
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
    """Return the listed exceptions."""
    lines = (root / BASELINE).read_text().split("\n")
    return [line for line in lines if line and not line.startswith("#")]


def format_baseline(exceptions: list[str]) -> Iterator[str]:
    """Yield the lines of the baseline file."""
    yield "# Modules of leslied without a unit test, and unit tests without a module."
    yield f"# This list may only shrink. Regenerate it with: {COMMAND}"
    yield from exceptions


if __name__ == "__main__":
    print(*format_baseline(find_exceptions()), sep="\n")
