"""Where programs are measured: corpora, peers, folders, and an empty environment."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.bench import corpora
from tests.bench.peers import PEERS
from tests.bench.process import Cost, run_program
from tests.support.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".bench"
_LARGE_FILE_BYTES = 1024 * 1024


class Bench:
    """The corpora and programs of one bench."""

    def __init__(
        self, cache: Path, peers: dict[str, Path], *, is_quick: bool = False
    ) -> None:
        self.cache, self.peers, self.is_quick = cache, peers, is_quick
        self._scratch = cache / "scratch"
        self._task_folders: dict[str, Path] = {}
        self.clear()

    def get_corpus(self, name: str) -> Path:
        """Return the folder of a corpus."""
        folder = self.cache / "corpora"
        return corpora.get_corpus(name, folder, is_quick=self.is_quick)

    def load_manifest(self, name: str) -> dict[str, int]:
        """Return what a corpus contains."""
        return corpora.load_manifest(self.get_corpus(name))

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """Yield a new folder that is emptied afterwards."""
        folder = Path(tempfile.mkdtemp(dir=self._scratch))
        try:
            yield folder
        finally:
            _delete_large_files(folder)

    def get_task_folder(self, name: str, build: Callable[[Path], None]) -> Path:
        """Return a folder that is built once and emptied at the end of the task."""
        if name not in self._task_folders:
            folder = Path(tempfile.mkdtemp(dir=self._scratch))
            build(folder)
            self._task_folders[name] = folder
        return self._task_folders[name]

    @contextmanager
    def new_store(self, program: str, corpus: str) -> Iterator[Path]:
        """Yield a new data folder for a program.

        The first one is kept for `get_store`. It is not moved, because a program may
        remember where its files are.
        """
        folder = self._scratch / f"{program}-{corpus}"
        if folder.exists():
            with self.scratch() as folder:
                yield folder
            return
        folder.mkdir()
        try:
            yield folder
        except BaseException:
            shutil.rmtree(folder)
            raise

    def get_store(self, program: str, corpus: str) -> Path:
        """Return a data folder into which a program has read a corpus.

        It is deleted at the end of the bench.
        """
        folder = self._scratch / f"{program}-{corpus}"
        if not folder.exists():
            run, *options = {
                "agentsview": (self.run_agentsview,),
                "leslied": (self.run_leslied,),
                "leslied --stop-all": (self.run_leslied, "--stop-all"),
            }[program]
            with self.new_store(program, corpus) as data:
                run(data, "sync", *options, corpus=corpus)
        return folder

    def end_task(self) -> None:
        """Empty the folders of a task."""
        for folder in self._task_folders.values():
            _delete_large_files(folder)
        self._task_folders.clear()

    def clear(self) -> None:
        """Delete everything except corpora and peers."""
        shutil.rmtree(self._scratch, ignore_errors=True)
        self._scratch.mkdir(parents=True, exist_ok=True)

    def run_leslied(
        self, data: Path, *args: str, corpus: str = "", config: Path | None = None
    ) -> Cost:
        """Run a command of this checkout with its data in a folder.

        It reads a corpus, or a config folder of Claude Code.
        """
        environ = self.make_leslied_environ(data, corpus, config)
        return run_program([sys.executable, "-m", "leslied", *args], environ)

    def make_leslied_environ(
        self, data: Path, corpus: str = "", config: Path | None = None
    ) -> dict[str, str]:
        environ = _make_environ(data) | {
            "LESLIED_DATA_DIR": str(data / "leslied"),
            "PYTHONPATH": str(ROOT),
        }
        if corpus == "mixed":
            environ["HOME"] = str(self.get_corpus(corpus))
        elif corpus or config:
            folder = config or self.get_corpus(corpus)
            environ["CLAUDE_CONFIG_DIR"] = str(folder)
        return environ

    def run_agentsview(self, data: Path, *args: str, corpus: str = "") -> Cost:
        """Run a command of agentsview, which reads a corpus."""
        config = self.get_corpus(corpus) if corpus not in ("", "mixed") else None
        environ = self.make_agentsview_environ(data, config)
        if corpus == "mixed":
            environ["HOME"] = str(self.get_corpus(corpus))
        return run_program([self.peers["agentsview"], *args], environ)

    def make_agentsview_environ(
        self, data: Path, config: Path | None = None
    ) -> dict[str, str]:
        environ = _make_environ(data) | PEERS["agentsview"].environ
        environ["AGENTSVIEW_DATA_DIR"] = str(data / "agentsview")
        if config:
            environ["CLAUDE_PROJECTS_DIR"] = str(config / "projects")
        return environ

    @contextmanager
    def serve_agentsview(
        self, data: Path, *options: str, config: Path | None = None
    ) -> Iterator[None]:
        """Run agentsview's server, which its searches and its live path need."""
        environ = self.make_agentsview_environ(data, config)
        server = subprocess.Popen(
            [self.peers["agentsview"], "serve", "--no-browser", "--port=0", *options],
            env=environ,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_until(lambda: self._is_agentsview_running(environ))
            yield
        finally:
            server.terminate()
            server.wait(60)

    def _is_agentsview_running(self, environ: Mapping[str, str]) -> bool:
        command = [self.peers["agentsview"], "serve", "status"]
        return b"running at" in run_program(command, environ).output

    def run_peer(self, name: str, home: Path, *args: str, **environ: str) -> Cost:
        """Run another peer with a home of its own."""
        environ = _make_environ(home) | dict(PEERS[name].environ) | environ
        return run_program([self.peers[name], *args], environ, cwd=home)


def _delete_large_files(folder: Path) -> None:
    """Delete the files of a folder that take much space; `clear` deletes the others.

    On ext4 without a journal, to delete thousands of files makes it thirty times slower
    to create others for minutes, and the program that runs next would be measured so.
    """
    for path in folder.rglob("*"):
        if path.is_file() and path.lstat().st_size > _LARGE_FILE_BYTES:
            path.unlink()


def _make_environ(home: Path) -> dict[str, str]:
    return {
        "HOME": str(home),
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "TZ": "UTC",
    }
