"""Adding an agent: one source file, one fixture folder, one page about its format."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The project without its many fixtures."""
    left_out = shutil.ignore_patterns("__pycache__", "fixtures", "e2e", "property")
    for name in ("leslied", "tests", "docs"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=left_out)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def run(clone: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environ = {"PATH": os.environ["PATH"], "HOME": str(clone), "PYTHONPATH": str(clone)}
    return subprocess.run(
        [sys.executable, "-m", *words],
        cwd=clone,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )


def list_files(clone: Path) -> dict[Path, bytes]:
    return {
        path.relative_to(clone): path.read_bytes()
        for path in clone.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_a_new_agent_is_one_file_one_fixture_folder_and_one_page(clone: Path):
    before = list_files(clone)

    made = run(clone, "tests.support.new_agent", "toy-bell")

    after = list_files(clone)
    assert made.returncode == 0
    assert {name: after.get(name) for name in before} == before
    assert {str(name) for name in after.keys() - before.keys()} == {
        "leslied/agents/toy_bell.py",
        "docs/formats/toy-bell.md",
        "tests/fixtures/agents/toy_bell/hello/case.toml",
        "tests/fixtures/agents/toy_bell/hello/home/.toy-bell/sessions/one.jsonl",
    }


def test_a_new_agent_keeps_every_law_and_is_read_at_once(clone: Path):
    run(clone, "tests.support.new_agent", "toy-bell")
    laws = ("pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly")
    laws = (*laws, "tests/contract/test_agents.py", "-k", "toy-bell")

    golden = run(clone, *laws, "--update-golden")
    kept = run(clone, *laws)
    shutil.copytree(
        clone / "tests/fixtures/agents/toy_bell/hello/home",
        clone,
        dirs_exist_ok=True,
    )
    run(clone, "leslied", "sync")
    listed = run(clone, "leslied", "list")

    assert "failed" not in kept.stdout, kept.stdout
    assert kept.returncode == 0, kept.stdout + golden.stdout
    assert "hello" in listed.stdout
    assert "toy-bell" in listed.stdout


@pytest.mark.parametrize("name", ["", "Toy", "../toy", "toy bell"])
def test_a_senseless_name_is_told(clone: Path, name: str):
    before = list_files(clone)

    told = run(clone, "tests.support.new_agent", name)

    assert told.returncode != 0
    assert "make new-agent NAME=" in told.stderr
    assert list_files(clone) == before
