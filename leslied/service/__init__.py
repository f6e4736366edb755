"""Installation of the daemon as a user service, with one class per service manager.

`manager.get_manager` returns the manager of the platform; creating it changes nothing.
This package does not know what the daemon does.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from leslied import fs
from leslied.errors import LesliedError
from leslied.model.codec import encode_time

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

RUN_WITHOUT_SERVICE_HINT = "Without a service, run it yourself: leslied run"
_PACKAGE_DIR = Path(__file__).resolve().parent
# The exit codes of a shell and of `timeout` in these cases.
_NOT_FOUND_CODE, _TIMED_OUT_CODE = 127, 124


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """Exit code and output of a program."""

    code: int
    out: str = ""
    err: str = ""


class ProgramRunner(Protocol):
    """A callable that starts a program and waits for it."""

    def __call__(
        self, command: Sequence[str], *, seconds: float = 30, to_terminal: bool = False
    ) -> ProgramResult:
        """Run the command and return its exit code and output.

        A command that runs longer than `seconds` is killed. If `to_terminal`, the
        command writes to our terminal instead, and may run forever. For a command that
        was killed or cannot be started, the result has an exit code too.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceInstallation:
    """Path of the installed service file, and notes for the user."""

    path: Path
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceStatus:
    """State of the service."""

    manager: str
    """Name of the service manager."""
    path: Path
    is_installed: bool
    is_enabled: bool = False
    is_active: bool = False
    since: datetime | None = None
    """When the running service started."""
    pid: int | None = None
    description: str = ""
    """The state in the words of the service manager."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "manager": self.manager,
            "installed": self.is_installed,
            "enabled": self.is_enabled,
            "active": self.is_active,
            "since": encode_time(self.since),
            "pid": self.pid,
            "state": self.description,
            "path": str(self.path),
        }


class ServiceManager(Protocol):
    """Operations that every service manager supports."""

    name: str

    def install(
        self,
        variables: Mapping[str, str],
        writable_folders: Sequence[Path] = (),
        *,
        serves_page: bool = False,
    ) -> ServiceInstallation:
        """Install the service and start it, now and at every login.

        `variables` are environment variables for the daemon; `writable_folders` are
        folders outside of the home folder that it may write to; with `serves_page`, it
        may use the loopback interface. Raise LesliedError if the service does not
        start; then no file is left behind.
        """

    def uninstall(self) -> bool:
        """Stop and remove the service; return False if it was not installed."""

    def is_installed(self) -> bool:
        """Return whether the service file exists."""

    def status(self) -> ServiceStatus:
        """Return the service's current state."""

    def show_logs(self, lines: int, *, is_followed: bool) -> int:
        """Show the last log lines and, if `is_followed`, new ones as they appear.

        Return the exit code of the log viewer.
        """


def find_program(called_as: str, python: str, path: str | None) -> tuple[str, ...]:
    """Return the command that starts leslied from any folder.

    `called_as` is `sys.argv[0]`, `python` the path of the running interpreter, `path`
    the value of PATH. Links are not resolved: a link survives an upgrade, its target
    may not.
    """
    sibling = Path(python).parent / "leslied"
    on_path = shutil.which("leslied", path=path)
    for script in (Path(called_as), sibling, Path(on_path or sibling)):
        if script.name == "leslied" and script.is_file() and os.access(script, os.X_OK):
            return (str(script.absolute()),)
    return (python, "-m", "leslied")


def read_template(folder: str, name: str) -> bytes:
    """Return the template of a service file.

    A wheel contains the template; in a checkout it is in the top-level folder `folder`.
    """
    packaged = _PACKAGE_DIR / "templates" / name
    if packaged.is_file():
        return packaged.read_bytes()
    return (_PACKAGE_DIR.parents[1] / folder / name).read_bytes()


def write_file(path: Path, data: bytes) -> None:
    """Write the file atomically.

    Raise LesliedError if that fails; the old file then stays.
    """
    try:
        fs.make_missing_folders(path.parent)
        fs.replace_file(path, data)
    except OSError as error:
        raise LesliedError(f"{path} cannot be written: {error.strerror}.") from error


class SubprocessRunner:
    """Runner that starts programs with a fixed environment and without a shell."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = dict(environ)

    def __call__(
        self, command: Sequence[str], *, seconds: float = 30, to_terminal: bool = False
    ) -> ProgramResult:
        """Run the command and return its exit code and output.

        A command that runs longer than `seconds` is killed. If `to_terminal`, the
        command writes to our terminal instead, and may run forever. For a command that
        was killed or cannot be started, the result has an exit code too.
        """
        try:
            process = (
                self._run_in_terminal(command)
                if to_terminal
                else self._run_captured(command, seconds)
            )
        except OSError as error:
            return ProgramResult(_NOT_FOUND_CODE, err=f"{command[0]}: {error.strerror}")
        except subprocess.TimeoutExpired:
            return ProgramResult(
                _TIMED_OUT_CODE, err=f"it did not end within {seconds:.0f} seconds"
            )
        return ProgramResult(
            process.returncode, process.stdout or "", process.stderr or ""
        )

    def _run_in_terminal(
        self, command: Sequence[str]
    ) -> subprocess.CompletedProcess[str]:
        """Run the command with our input and output."""
        return subprocess.run(  # noqa: S603 - no shell, trusted command
            command, env=self._environ, check=False, text=True
        )

    def _run_captured(
        self, command: Sequence[str], seconds: float
    ) -> subprocess.CompletedProcess[str]:
        """Run the command in English and UTC, so that its output can be parsed."""
        return subprocess.run(  # noqa: S603 - no shell, trusted command
            command,
            env=self._environ | {"LC_ALL": "C", "TZ": "UTC"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=seconds,
            text=True,
            errors="replace",
        )
