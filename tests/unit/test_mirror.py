"""`tests/unit` mirrors `leslied`, except for the exceptions in the baseline."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.mirror import (
    COMMAND,
    ROOT,
    TESTS_OF_THE_REPOSITORY,
    find_exceptions,
    has_behaviour,
    is_exempt,
    name_test,
    read_baseline,
)


def make_tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_every_exception_is_in_the_baseline():
    new = sorted(set(find_exceptions()) - set(read_baseline()))

    if new:
        problems = [
            f"{path}: write {name_test(path)}"
            if path.startswith("leslied/")
            else f"{path}: tests no module of that name"
            for path in new
        ]
        pytest.fail(
            "\n  ".join(["tests/unit mirrors leslied:", *problems]), pytrace=False
        )


def test_the_baseline_has_no_stale_exception():
    stale = sorted(set(read_baseline()) - set(find_exceptions()))

    if stale:
        title = f"These are no longer exceptions. Run: {COMMAND}"
        pytest.fail("\n  ".join([title, *stale]), pytrace=False)


def test_the_baseline_has_no_duplicate():
    baseline = read_baseline()

    assert len(baseline) == len(set(baseline))


def test_two_modules_do_not_share_a_test():
    modules = [p.relative_to(ROOT).as_posix() for p in ROOT.glob("leslied/**/*.py")]
    names = [name_test(module) for module in modules]

    assert {name for name in names if names.count(name) > 1} == set()


@pytest.mark.parametrize("path", TESTS_OF_THE_REPOSITORY)
def test_a_test_of_the_repository_exists(path: str):
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
    assert name_test(module) == test


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
def test_data_and_imports_need_no_test(source: str):
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
def test_a_function_needs_a_test(source: str):
    assert has_behaviour(source)


def test_an_adapter_of_one_file_is_exempt():
    assert is_exempt("leslied/agents/toy.py")
    assert not is_exempt("leslied/agents/_parsing.py")
    assert not is_exempt("leslied/agents/codex/decode.py")


def test_a_module_without_a_test_is_an_exception(tmp_path: Path):
    root = make_tree(tmp_path, {"leslied/a/b.py": "def f():\n    return 1"})

    assert find_exceptions(root) == ["leslied/a/b.py"]


def test_a_module_with_a_test_is_not_an_exception(tmp_path: Path):
    files = {"leslied/a/b.py": "def f():\n    return 1", "tests/unit/a/test_b.py": ""}
    root = make_tree(tmp_path, files)

    assert find_exceptions(root) == []


def test_a_test_without_a_module_is_an_exception(tmp_path: Path):
    root = make_tree(tmp_path, {"tests/unit/a/test_b.py": ""})

    assert find_exceptions(root) == ["tests/unit/a/test_b.py"]


def test_a_test_of_a_data_module_is_not_an_exception(tmp_path: Path):
    files = {"leslied/a/b.py": "LIMIT = 4", "tests/unit/a/test_b.py": ""}
    root = make_tree(tmp_path, files)

    assert find_exceptions(root) == []
