"""Packages whose names are imported on first use, so that commands start faster."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def make_getattr(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package, which imports a name when it is used.

    `modules` maps each name to its module: relative to the package, or absolute if it
    begins with `leslied.`. The package also imports the names under TYPE_CHECKING. A
    name must differ from its module's name, because importing `package.x` binds `x` in
    the package to the module.
    """

    def get_attribute(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = modules[name]
        is_absolute = module.startswith("leslied.")
        path = module if is_absolute else f"{package}.{module}"
        value = getattr(import_module(path), name)
        # The next use finds the name in the package itself.
        setattr(sys.modules[package], name, value)
        return value

    return get_attribute
