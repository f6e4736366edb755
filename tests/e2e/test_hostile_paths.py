"""leslied writes only to its own folders and to `.leslie` in projects of the user."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from leslied.app import App
from leslied.clock import SystemClock
from leslied.paths import get_paths
from leslied.pipeline import Budget, FlowReport
from tests.support.claude import (
    AFTER_STORE_CREATION,
    ClaudeHome,
    ClaudeLogBuilder,
)
from tests.support.cli import LesliedRunner
from tests.support.hostile_folders import SESSION, HostileTree, make_hostile_tree
from tests.support.path_recorder import PathRecorder, resolve

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.heavy,
    pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc"),
]
GENERATED = int(os.environ.get("LESLIED_FOLDERS", "2000"))
RACE_SECONDS = float(os.environ.get("LESLIED_RACE_SECONDS", "10"))
SWAPPER = """
import os, sys
middle, victim = sys.argv[1:]
print("ready", flush=True)
while True:
    os.rename(middle, middle + ".real")
    os.symlink(victim, middle)
    os.unlink(middle)
    os.rename(middle + ".real", middle)
"""
"""Replaces a folder by a link to the victim and back, as fast as possible."""
CALL = re.compile(r"\d+ +(\w+)\((.*)\) = (\d+)(?:<(.*)>)?")
PATH_ARGUMENT = re.compile(r'(?:(?:\d+|AT_FDCWD)<([^>]*)>, )?"((?:[^"\\]|\\.)*)"')
TRACED = (
    "open,openat,creat,mkdir,mkdirat,rename,renameat,renameat2,unlink,unlinkat,rmdir,"
    "link,linkat,symlink,symlinkat,chmod,fchmodat,truncate,utimensat,mknod,mknodat"
)


@pytest.fixture
def app(home: Path) -> App:
    environ = {"HOME": str(home)}
    return App(environ, get_paths(environ), SystemClock())


@pytest.fixture
def claude(home: Path, app: App) -> ClaudeHome:
    return ClaudeHome(home, app.paths.store_file, app.clock)


@pytest.fixture
def tree(home: Path, tmp_path: Path) -> HostileTree:
    return make_hostile_tree(home, tmp_path / "victim")


def write_sessions(claude: ClaudeHome, folders: list[str]) -> None:
    """Write the log of a session in each folder."""
    for number, folder in enumerate(folders):
        session = SESSION.format(number)
        builder = ClaudeLogBuilder(session, folder, AFTER_STORE_CREATION)
        lines = (builder.prompt(f"go {number}"), builder.answer("Done."))
        claude.write(*lines, name=f"-x/{session}.jsonl")


def run_flow(app: App) -> FlowReport:
    with app.open_writer() as store, app.open_reader() as reader:
        return app.make_flow(store, reader, is_final=True).run(Budget())


def list_allowed(app: App, tree: HostileTree) -> list[str]:
    """Return the folders that may be written to."""
    own = [app.paths.data_dir, app.paths.state_dir]
    projects = [tree.home / "app", *tree.own_projects]
    return [*map(str, own), *(f"{project}/.leslie" for project in projects)]


def read_tree(folder: Path) -> dict[str, bytes]:
    return {
        str(path): path.read_bytes() if path.is_file() else b""
        for path in folder.rglob("*")
    }


@pytest.mark.threat("P1", "P2", "P6")
def test_no_hostile_folder_makes_leslied_write_elsewhere(
    app: App, claude: ClaudeHome, tree: HostileTree
):
    folders = tree.list_folders()
    before = read_tree(tree.victim)
    write_sessions(claude, folders)

    with PathRecorder() as recorder:
        report = run_flow(app)

    assert len(folders) >= 60
    assert (tree.home / "output-hard-link" / ".leslie" / "threads").is_dir()
    assert recorder.find_outside(*list_allowed(app, tree)) == []
    assert read_tree(tree.victim) == before
    assert not report.failures
    print(f"{len(folders)} folders, {len(recorder.written)} paths written, 0 outside")


def test_the_data_folder_may_be_a_link_of_the_user(
    claude: ClaudeHome, home: Path, tmp_path: Path
):
    (tmp_path / "disk").mkdir()
    (home / ".local").mkdir()
    (home / ".local" / "share").symlink_to(tmp_path / "disk")
    write_sessions(claude, [str(home)])

    result = LesliedRunner(home)("sync", "--stop-all")

    assert result.code == 0
    assert list((tmp_path / "disk").glob("leslied/central/*/.leslie/INDEX.md"))
    assert list((tmp_path / "disk").glob("leslied/central/*/.leslie/**/*.txt"))


@pytest.mark.threat("P1", "P2", "P6")
@pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")
def test_no_system_call_writes_elsewhere(
    app: App, claude: ClaudeHome, tree: HostileTree, tmp_path: Path
):
    folders, log = tree.list_folders(), tmp_path / "strace.log"
    before = read_tree(tree.victim)
    write_sessions(claude, folders)
    leslied = LesliedRunner(tree.home)

    strace = ("strace", "-f", "-y", "-s", "9999", "-o", log, "-e", f"trace={TRACED}")
    subprocess.run(
        [*strace, sys.executable, "-m", "leslied", "sync", "--stop-all"],
        env=leslied.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        check=True,
    )

    recorder = PathRecorder()
    recorder.written = parse_written_paths(log.read_text(errors="replace"))
    allowed = [*list_allowed(app, tree), "/dev/null", "/dev/tty"]
    assert len(recorder.written) > len(folders)
    assert recorder.find_outside(*allowed) == []
    assert read_tree(tree.victim) == before
    print(f"{len(folders)} folders, {len(recorder.written)} paths written, 0 outside")


def parse_written_paths(log: str) -> set[str]:
    """Return the paths that successful system calls created, changed or removed."""
    written = set()
    for call in CALL.finditer(log):
        name, arguments, _, opened = call.groups()
        if name.startswith("open"):
            if re.search("O_WRONLY|O_RDWR|O_CREAT|O_TRUNC", arguments):
                written.add(opened)
            continue
        for folder, path in PATH_ARGUMENT.findall(arguments):
            text = path.encode().decode("unicode_escape").encode("latin-1")
            written.add(resolve(folder, os.fsdecode(text)))
    return written


@pytest.mark.threat("P1", "P2", "P3")
def test_no_generated_folder_makes_leslied_write_elsewhere(
    app: App, claude: ClaudeHome, tree: HostileTree, monkeypatch: pytest.MonkeyPatch
):
    # Nothing here has to survive a power loss, and syncs take most of the time.
    monkeypatch.setattr(os, "fsync", lambda _: None)
    tree.list_folders()
    before = read_tree(tree.victim)
    folders = tree.generate(GENERATED)
    write_sessions(claude, folders)

    with PathRecorder() as recorder:
        report = run_flow(app)

    assert recorder.find_outside(*list_allowed(app, tree)) == []
    assert read_tree(tree.victim) == before
    assert not report.failures
    print(f"{len(folders)} folders, {len(recorder.written)} paths written, 0 outside")


@pytest.mark.threat("P2")
def test_a_folder_that_is_swapped_for_a_link_never_redirects_a_write(
    app: App, claude: ClaudeHome, tree: HostileTree
):
    project = tree.make_project("work/middle/app")
    (tree.victim / "app" / ".git").mkdir(parents=True)
    before = read_tree(tree.victim)
    builders = [
        ClaudeLogBuilder(str(uuid.uuid4()), str(project), AFTER_STORE_CREATION)
        for _ in range(5)
    ]

    def write_units() -> None:
        """Append a unit to every session that has its folder, and start one more."""
        session = str(uuid.uuid4())
        builders.append(ClaudeLogBuilder(session, str(project), AFTER_STORE_CREATION))
        for builder in builders[:5] + builders[-1:]:
            lines = (builder.prompt("go"), builder.answer("Done."))
            claude.write(*lines, name=f"-x/{builder.session_id}.jsonl")

    write_units()
    run_flow(app)
    attempts = race(app, project.parent, tree.victim, write_units)

    assert read_tree(tree.victim) == before
    print(f"{attempts} runs in {RACE_SECONDS} s, 0 files in the victim's folder")


def race(app: App, middle: Path, victim: Path, write_units: Callable[[], None]) -> int:
    """Run the flow while the folder is swapped; return the number of runs."""
    command = [sys.executable, "-c", SWAPPER, str(middle), str(victim)]
    end, runs = app.clock.monotonic() + RACE_SECONDS, 0
    with subprocess.Popen(command, stdout=subprocess.PIPE) as swapper:
        assert swapper.stdout
        swapper.stdout.readline()
        try:
            while app.clock.monotonic() < end:
                write_units()
                run_flow(app)
                runs += 1
        finally:
            swapper.kill()
    return runs
