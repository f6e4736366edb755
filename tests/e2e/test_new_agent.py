"""`make new-agent` creates a module, a fixture and a format page."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.heavy

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Copy the project without fixtures and slow tests; return the copy's folder."""
    ignored = shutil.ignore_patterns("__pycache__", "fixtures", "e2e", "property")
    for name in ("leslied", "tests", "docs"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def run_module(clone: Path, *args: str) -> subprocess.CompletedProcess[str]:
    environ = {"PATH": os.environ["PATH"], "HOME": str(clone), "PYTHONPATH": str(clone)}
    return subprocess.run(
        [sys.executable, "-m", *args],
        cwd=clone,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )


def read_files(clone: Path) -> dict[Path, bytes]:
    return {
        path.relative_to(clone): path.read_bytes()
        for path in clone.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_a_new_agent_is_one_file_one_fixture_folder_and_one_page(clone: Path):
    before = read_files(clone)

    result = run_module(clone, "tests.support.new_agent", "toy-bell")

    after = read_files(clone)
    assert result.returncode == 0
    assert {name: after.get(name) for name in before} == before
    assert {str(name) for name in after.keys() - before.keys()} == {
        "leslied/agents/toy_bell.py",
        "docs/formats/toy-bell.md",
        "tests/fixtures/agents/toy_bell/hello/case.toml",
        "tests/fixtures/agents/toy_bell/hello/home/.toy-bell/sessions/one.jsonl",
    }


def test_a_new_agent_passes_the_contract_tests_and_its_session_is_listed(clone: Path):
    run_module(clone, "tests.support.new_agent", "toy-bell")
    pytest_args = ("pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly")
    pytest_args = (*pytest_args, "tests/contract/test_agents.py", "-k", "toy-bell")

    golden_run = run_module(clone, *pytest_args, "--update-golden")
    contract_run = run_module(clone, *pytest_args)
    shutil.copytree(
        clone / "tests/fixtures/agents/toy_bell/hello/home",
        clone,
        dirs_exist_ok=True,
    )
    run_module(clone, "leslied", "sync")
    listing = run_module(clone, "leslied", "list")

    assert "failed" not in contract_run.stdout, contract_run.stdout
    assert contract_run.returncode == 0, contract_run.stdout + golden_run.stdout
    assert "hello" in listing.stdout
    assert "toy-bell" in listing.stdout


@pytest.mark.parametrize("name", ["", "Toy", "../toy", "toy bell"])
def test_an_invalid_name_is_refused(clone: Path, name: str):
    before = read_files(clone)

    result = run_module(clone, "tests.support.new_agent", name)

    assert result.returncode != 0
    assert "make new-agent NAME=" in result.stderr
    assert read_files(clone) == before
