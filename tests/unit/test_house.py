"""The house rules that no linter knows."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted((ROOT / "leslied").rglob("*.py"))
MOST_LINES, MOST_FUNCTION_LINES = 400, 40


@pytest.mark.parametrize("module", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_module_is_one_thought(module: Path):
    assert len(module.read_text().split("\n")) <= MOST_LINES


@pytest.mark.parametrize("module", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_function_fits_on_a_screen(module: Path):
    long = [
        node.name
        for node in ast.walk(ast.parse(module.read_text()))
        if isinstance(node, ast.FunctionDef)
        and (node.end_lineno or 0) - node.lineno >= MOST_FUNCTION_LINES
    ]

    assert not long


@pytest.mark.parametrize("module", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_nothing_dangerous_is_called(module: Path):
    """A13, B19, X4: no splitlines, no mmap, no pickle, no eval, no shell."""
    text = module.read_text()

    banned = r"\.splitlines\(|\bmmap\b|\bpickle\b|\beval\(|\bexec\(|shell=True"
    assert not re.search(banned, text)


def test_every_decision_is_listed():
    decisions = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))
    index = (ROOT / "docs" / "decisions" / "README.md").read_text()

    assert decisions
    assert all(path.name in index for path in decisions)
