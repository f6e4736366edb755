"""The wheel and the source distribution: reproducible, with an SBOM."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from email.parser import Parser
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.e2e


def copy_checkout(folder: Path) -> None:
    """Copy the files that Git tracks or would track, as a fresh clone has them."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout
    for name in filter(None, os.fsdecode(listing).split("\0")):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_file():
            shutil.copyfile(ROOT / name, target)


def build(folder: Path, **environ: str) -> dict[str, bytes]:
    """Build wheel and source distribution in a checkout; return them by name."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-t", "sdist"],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), **environ},
        check=True,
        capture_output=True,
    )
    return {path.name: path.read_bytes() for path in (folder / "dist").iterdir()}


@pytest.fixture
def wheel(tmp_path: Path) -> ZipFile:
    copy_checkout(tmp_path / "checkout")
    build(tmp_path / "checkout")
    (path,) = (tmp_path / "checkout/dist").glob("*.whl")
    return ZipFile(path)


def read_metadata(wheel: ZipFile, name: str) -> str:
    """Return the text of a file in the wheel's metadata."""
    (path,) = [path for path in wheel.namelist() if path.endswith(f".dist-info/{name}")]
    return wheel.read(path).decode()


def list_components(wheel: ZipFile) -> dict[str, dict[str, Any]]:
    """Return the components of the wheel's SBOM by name."""
    sbom = json.loads(read_metadata(wheel, "sboms/leslied.cdx.json"))
    return {component["name"]: component for component in sbom["components"]}


@pytest.mark.threat("X6")
def test_building_twice_gives_the_same_bytes(tmp_path: Path):
    """Build in two folders with different modes and times, locales and hash seeds."""
    first, second = tmp_path / "first", tmp_path / "a b" / "second"
    copy_checkout(first)
    old_umask = os.umask(0o077)
    try:
        copy_checkout(second)
        for path in second.rglob("*"):
            os.utime(path, (1e9, 1e9))
        second_build = build(second, LC_ALL="C", TZ="Asia/Tokyo", PYTHONHASHSEED="7")
    finally:
        os.umask(old_umask)

    first_build = build(first, LC_ALL="C.UTF-8", TZ="UTC", PYTHONHASHSEED="1")

    assert len(first_build) == 2
    assert first_build == second_build


@pytest.mark.threat("X6")
def test_the_sbom_has_a_version_and_hashes_of_every_dependency(wheel: ZipFile):
    components = list_components(wheel)
    metadata = Parser().parsestr(read_metadata(wheel, "METADATA"))
    requirements = [Requirement(text) for text in metadata.get_all("Requires-Dist", [])]

    assert len(requirements) > 5
    for requirement in requirements:
        assert components[requirement.name]["version"] in requirement.specifier
    for component in components.values():
        (distribution,) = component["externalReferences"]
        assert {len(entry["content"]) for entry in distribution["hashes"]} == {64}


def test_the_sbom_lists_indirect_dependencies_but_no_development_tools(wheel: ZipFile):
    components = list_components(wheel)

    assert "pydantic-core" in components
    assert not {"pytest", "hatchling", "mypy"} & set(components)


def test_the_sbom_describes_the_version_of_the_wheel(wheel: ZipFile):
    metadata = Parser().parsestr(read_metadata(wheel, "METADATA"))
    sbom = json.loads(read_metadata(wheel, "sboms/leslied.cdx.json"))

    assert sbom["metadata"]["component"]["version"] == metadata["Version"]
    assert {entry["ref"] for entry in sbom["dependencies"]} == {
        sbom["metadata"]["component"]["bom-ref"],
        *(component["bom-ref"] for component in sbom["components"]),
    }
