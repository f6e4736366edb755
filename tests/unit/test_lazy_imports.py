"""Packages whose names are imported on first use."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys
from types import ModuleType

import pytest

import leslied
from leslied.lazy_imports import make_getattr


def list_lazy_packages() -> list[ModuleType]:
    """Import all packages; return those that import their names on first use."""
    infos = pkgutil.walk_packages(leslied.__path__, "leslied.")
    packages = [importlib.import_module(info.name) for info in infos if info.ispkg]
    return [package for package in packages if hasattr(package, "__getattr__")]


def run_python(code: str) -> str:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_a_name_is_imported_on_first_use():
    code = (
        "import sys, leslied.redact as package\n"
        "print('leslied.redact.find' in sys.modules)\n"
        "print(package.load_finder.__module__)"
    )

    assert run_python(code).split() == ["False", "leslied.redact.find"]


def test_an_unknown_name_is_an_attribute_error():
    get_attribute = make_getattr("leslied.redact", {})

    with pytest.raises(AttributeError, match="has no attribute 'x'"):
        get_attribute("x")


@pytest.mark.parametrize(
    "package", list_lazy_packages(), ids=lambda each: each.__name__
)
def test_every_public_name_of_a_package_exists(package: ModuleType):
    assert all(hasattr(package, name) for name in package.__all__)


@pytest.mark.parametrize(
    "package", list_lazy_packages(), ids=lambda each: each.__name__
)
def test_no_name_of_a_package_is_hidden_by_a_module(package: ModuleType):
    modules = {info.name for info in pkgutil.iter_modules(package.__path__)}
    hidden = [
        name
        for name in modules.intersection(package.__all__)
        if isinstance(getattr(package, name), ModuleType)
    ]

    assert not hidden
