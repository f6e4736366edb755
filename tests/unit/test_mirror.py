"""`tests/unit` mirrors `leslied`, except for the violations in the baseline."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.mirror import (
    BASELINE_COMMAND,
    REPOSITORY_TESTS,
    ROOT,
    find_violations,
    get_test_path,
    has_behaviour,
    is_exempt,
    read_baseline,
)


def make_tree(root: Path, files: dict[str, str]) -> Path:
    """Write files, given by path and text, below a folder; return the folder."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_every_violation_is_in_the_baseline():
    new_violations = sorted(set(find_violations()) - set(read_baseline()))

    if new_violations:
        problems = [
            f"{path}: write {get_test_path(path)}"
            if path.startswith("leslied/")
            else f"{path}: there is no module of that name"
            for path in new_violations
        ]
        pytest.fail(
            "\n  ".join(["tests/unit mirrors leslied:", *problems]), pytrace=False
        )


def test_every_path_in_the_baseline_is_still_a_violation():
    stale_paths = sorted(set(read_baseline()) - set(find_violations()))

    if stale_paths:
        title = f"These are no longer violations. Run: {BASELINE_COMMAND}"
        pytest.fail("\n  ".join([title, *stale_paths]), pytrace=False)


def test_the_baseline_lists_no_path_twice():
    baseline = read_baseline()

    assert len(baseline) == len(set(baseline))


def test_no_two_modules_share_a_test():
    modules = [p.relative_to(ROOT).as_posix() for p in ROOT.glob("leslied/**/*.py")]
    names = [get_test_path(module) for module in modules]

    assert {name for name in names if names.count(name) > 1} == set()


@pytest.mark.parametrize("path", REPOSITORY_TESTS)
def test_every_repository_test_exists(path: str):
    assert (ROOT / path).is_file()


@pytest.mark.parametrize(
    ("module", "test"),
    [
        ("leslied/config.py", "tests/unit/test_config.py"),
        ("leslied/a/b.py", "tests/unit/a/test_b.py"),
        ("leslied/a/_b.py", "tests/unit/a/test_b.py"),
        ("leslied/a/b/c.py", "tests/unit/a/b/test_c.py"),
        ("leslied/a/__init__.py", "tests/unit/a/test_a.py"),
    ],
)
def test_a_test_is_named_after_its_module(module: str, test: str):
    assert get_test_path(module) == test


@pytest.mark.parametrize(
    "source",
    [
        '"""Only words."""',
        "from a import b\n__all__ = ['b']",
        "LIMIT = 4",
        "class A:\n    x: int = 3",
        'class A(Protocol):\n    def run(self) -> int:\n        """Run."""',
        "if __name__ == '__main__':\n    main()",
    ],
)
def test_a_module_of_data_and_imports_needs_no_test(source: str):
    assert not has_behaviour(source)


@pytest.mark.parametrize(
    "source",
    [
        "def f():\n    return 1",
        "async def f():\n    return 1",
        "class A:\n    def f(self):\n        return 1",
        "f = lambda x: x + 1",
    ],
)
def test_a_module_with_a_function_needs_a_test(source: str):
    assert has_behaviour(source)


def test_an_adapter_in_a_single_file_is_exempt():
    assert is_exempt("leslied/agents/toy.py")
    assert not is_exempt("leslied/agents/_parsing.py")
    assert not is_exempt("leslied/agents/codex/decode.py")


def test_a_module_without_a_test_is_a_violation(tmp_path: Path):
    root = make_tree(tmp_path, {"leslied/a/b.py": "def f():\n    return 1"})

    assert find_violations(root) == ["leslied/a/b.py"]


def test_a_module_with_a_test_is_not_a_violation(tmp_path: Path):
    files = {"leslied/a/b.py": "def f():\n    return 1", "tests/unit/a/test_b.py": ""}
    root = make_tree(tmp_path, files)

    assert find_violations(root) == []


def test_a_test_without_a_module_is_a_violation(tmp_path: Path):
    root = make_tree(tmp_path, {"tests/unit/a/test_b.py": ""})

    assert find_violations(root) == ["tests/unit/a/test_b.py"]


def test_a_test_of_a_data_module_is_not_a_violation(tmp_path: Path):
    files = {"leslied/a/b.py": "LIMIT = 4", "tests/unit/a/test_b.py": ""}
    root = make_tree(tmp_path, files)

    assert find_violations(root) == []
