"""Replace the program while its daemon runs, as a package manager does."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import leslied
from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.cli import LesliedRunner
from tests.support.daemon import get_store_path, list_prompts
from tests.support.waiting import MAX_WAIT_SECONDS, wait_until

pytestmark = pytest.mark.e2e


class Installation:
    """A copy of the package that can be replaced by a newer version."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder = folder
        self._copy()
        self.run = LesliedRunner(home, cwd=folder)
        self.run.environ["PYTHONPATH"] = str(folder)
        # A daemon that imports a module while its package is replaced must not
        # create the folder of the new package for the compiled file.
        self.run.environ["PYTHONDONTWRITEBYTECODE"] = "1"

    def _copy(self) -> None:
        shutil.copytree(
            Path(leslied.__file__).parent,
            self.folder / "leslied",
            ignore=shutil.ignore_patterns("__pycache__"),
        )

    def upgrade(self) -> None:
        """Replace the package by one with another version and a newer decoder."""
        (self.folder / "leslied").rename(self.folder / "old")
        self._copy()
        package = self.folder / "leslied"
        version = package / "__init__.py"
        version.write_text(
            re.sub('__version__ = ".*"', '__version__ = "99.0"', version.read_text())
        )
        adapter = package / "agents/claude_code/__init__.py"
        text, count = re.subn(
            r"decoder_version = (\d+)",
            lambda match: f"decoder_version = {int(match[1]) + 1}",
            adapter.read_text(),
        )
        assert count == 1
        adapter.write_text(text)


@pytest.fixture
def installation(home: Path, tmp_path: Path) -> Installation:
    return Installation(tmp_path / "installation", home)


@pytest.fixture
def daemons() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Return a list of daemons that are ended after the test."""
    daemons: list[subprocess.Popen[bytes]] = []
    yield daemons
    for daemon in daemons:
        daemon.kill()
        daemon.wait()


@pytest.mark.fault("E14")
def test_the_new_version_continues_where_the_old_one_ended(
    home: Path,
    claude: ClaudeHome,
    project: Path,
    installation: Installation,
    daemons: list[subprocess.Popen[bytes]],
):
    builder = ClaudeLogBuilder(cwd=str(project))
    store = get_store_path(home)
    # With a store, the daemon does not start with a process that reads all logs.
    assert installation.run("sync").code == 0
    daemons.append(installation.run.start("run"))
    claude.write(builder.prompt("before"), builder.answer("Done."))
    wait_until(lambda: list_prompts(store) == ["before"])

    installation.upgrade()
    claude.write(builder.prompt("while the files change"), builder.answer("Done."))
    wait_until(lambda: len(list_prompts(store)) == 2)
    daemons[0].send_signal(signal.SIGTERM)
    claude.write(builder.prompt("between"), builder.answer("Done."))
    code = daemons[0].wait(MAX_WAIT_SECONDS)
    daemons.append(installation.run.start("run"))
    claude.write(builder.prompt("after"), builder.answer("Done."))
    wait_until(lambda: len(list_prompts(store)) == 4)
    daemons[1].send_signal(signal.SIGTERM)
    daemons[1].wait(MAX_WAIT_SECONDS)

    assert code == 0
    assert "99.0" in installation.run("--version").out
    assert installation.run("sync", "--stop-all").code == 0
    assert list_prompts(store) == [
        *("before", "while the files change", "between", "after")
    ]
    central = store.parent / "central"
    names = sorted(path.name[14:] for path in central.rglob("transcripts/*.txt"))
    assert names == [
        "after.txt",
        "before.txt",
        "between.txt",
        "while-the-files-change.txt",
    ]
