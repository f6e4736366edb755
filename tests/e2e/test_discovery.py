"""Discovery looks only where agents are documented to write."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from leslied.agents import load_adapters
from leslied.model.source import Environment
from leslied.paths import get_paths
from tests.support.cli import LesliedRunner

pytestmark = pytest.mark.e2e

PATH = re.compile(r'"((?:[^"\\]|\\.)*)"')
"""A path in a line of strace's log."""
DOCUMENTED = re.compile(r"`~/([^`\s]+)")
"""A path below the home on a page about a format."""
FORMATS = Path(__file__).resolve().parents[2] / "docs" / "formats"


def list_agent_folders(home: Path) -> dict[Path, str]:
    """Return the folders that adapters declare for an empty environment."""
    env = Environment(home=home, environ={}, platform=sys.platform)
    folders = {}
    for adapter in load_adapters().values():
        roots = [root.path for root in adapter.roots(env, ())]
        roots += [each.path for each in adapter.live_registries(env, ())]
        folders |= dict.fromkeys(roots, adapter.name)
    return folders


def list_own_folders(home: Path) -> list[Path]:
    """Return leslied's own folders."""
    paths = get_paths({"HOME": str(home)}, None)
    return [paths.data_dir, paths.config_file.parent, paths.state_dir]


def list_documented_folders(home: Path) -> list[Path]:
    """Return the folders below the home that the pages about formats name."""
    pages = "".join(path.read_text("utf-8") for path in FORMATS.glob("*.md"))
    # A placeholder such as `<session>` stands for any name.
    names = [re.split(r"[<*{…]", name)[0] for name in DOCUMENTED.findall(pages)]
    return [home / name.rstrip("/") for name in names if "/" in name.strip("/.")]


def is_allowed(path: Path, folders: list[Path]) -> bool:
    """Return whether a path is in or above one of the folders."""
    return any(path.is_relative_to(f) or f.is_relative_to(path) for f in folders)


@pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")
def test_a_sync_in_an_empty_home_looks_only_into_folders_of_adapters(
    home: Path, tmp_path: Path
):
    log = tmp_path / "strace.log"
    runner = LesliedRunner(home)

    strace = ("strace", "-f", "-s", "9999", "-o", log, "-e", "trace=%file")
    command = [*strace, sys.executable, "-m", "leslied", "sync"]
    subprocess.run(command, env=runner.environ, capture_output=True, check=True)

    names = PATH.findall(log.read_text(errors="replace"))
    touched = {Path(name) for name in names if name.startswith(f"{home}/")}
    folders = list_agent_folders(home)
    # Some agents list their folders in a file elsewhere, which the page names.
    documented = list_documented_folders(home)
    allowed = [*folders, *documented, *list_own_folders(home)]
    assert sorted(path for path in touched if not is_allowed(path, allowed)) == []
    assert touched & folders.keys()


@pytest.mark.parametrize(
    "page", sorted(FORMATS.glob("*.md")), ids=lambda page: page.stem
)
def test_the_format_page_names_every_folder(home: Path, page: Path):
    text = page.read_text("utf-8")
    folders = [f for f, name in list_agent_folders(home).items() if name == page.stem]

    # A page may spell a folder as a list of names below a folder that it names.
    missing = [
        folder
        for folder in folders
        if f"~/{folder.relative_to(home)}" not in text and folder.name not in text
    ]
    assert missing == []
