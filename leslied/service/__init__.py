"""Installation of the daemon as a user service, with one class per service manager.

`find_manager` returns the manager of the platform; creating it changes nothing. This
package knows nothing of the daemon's work, and only this package starts other programs.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from leslied.errors import LesliedError, UserError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

RUN_WITHOUT_SERVICE_HINT = "Without a service, run it yourself: leslied run"
_PACKAGE_DIR = Path(__file__).resolve().parent
_MISSING, _TIMED_OUT = 127, 124


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """Exit code and output of a program."""

    code: int
    out: str = ""
    err: str = ""


class ProgramRunner(Protocol):
    """A callable that starts a program and waits for it."""

    def __call__(
        self, command: Sequence[str], *, seconds: float = 30, is_shown: bool = False
    ) -> ProgramResult:
        """Run the command for at most so many seconds; return its result.

        If `is_shown`, it writes to our terminal instead, without a time limit.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceInstallation:
    """Path of an installed service file, and notes for the user."""

    path: Path
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceStatus:
    """State of the service."""

    path: Path
    is_installed: bool
    is_enabled: bool = False
    is_active: bool = False
    since: datetime | None = None
    pid: int | None = None
    description: str = ""


class ServiceManager(Protocol):
    """Operations that every service manager supports."""

    name: str

    def install(
        self, variables: Mapping[str, str], writable: Sequence[Path] = ()
    ) -> ServiceInstallation:
        """Install the service and start it, now and at every login.

        Raises LesliedError if it does not start; then no file is left behind.
        """

    def uninstall(self) -> bool:
        """Stop and remove the service; return False if it was not installed."""

    def is_installed(self) -> bool:
        """Return whether the service file exists."""

    def status(self) -> ServiceStatus:
        """Return the service's current state."""

    def show_logs(self, lines: int, *, is_followed: bool) -> int:
        """Show the last log lines; return the exit code of the program that does."""


def find_manager(
    *,
    home: Path,
    environ: Mapping[str, str],
    platform: str,
    program: Sequence[str],
    run: ProgramRunner | None = None,
) -> ServiceManager:
    """Return the platform's service manager without calling it; raises UserError."""
    run = run or SubprocessRunner(environ)
    if platform == "darwin":
        from leslied.service.launchd import Launchd  # noqa: PLC0415 - only one is needed

        return Launchd(home=home, user=os.getuid(), program=program, run=run)
    if platform == "linux":
        from leslied.service.systemd import Systemd  # noqa: PLC0415 - only one is needed

        config = environ.get("XDG_CONFIG_HOME", "")
        return Systemd(
            home=home, config=config, user=os.getuid(), program=program, run=run
        )
    raise UserError(
        f"leslied supports no service manager on {platform}.", RUN_WITHOUT_SERVICE_HINT
    )


def format_stop_command(platform: str) -> str:
    """Return what to type to stop the daemon, as a service or in a terminal."""
    by_hand = "Ctrl-C where `leslied run` runs"
    if platform == "darwin":
        from leslied.service.launchd import STOP_COMMAND  # noqa: PLC0415 - only one is needed
    elif platform == "linux":
        from leslied.service.systemd import STOP_COMMAND  # noqa: PLC0415 - only one is needed
    else:
        return by_hand
    return f"{STOP_COMMAND} (or {by_hand})"


def find_program(called_as: str, python: str, path: str | None) -> tuple[str, ...]:
    """Return the command that starts leslied from any folder.

    Links are not resolved: a link on the path survives an upgrade, its target may not.
    """
    sibling = Path(python).parent / "leslied"
    on_path = shutil.which("leslied", path=path)
    for file in (Path(called_as), sibling, Path(on_path or sibling)):
        if file.name == "leslied" and file.is_file() and os.access(file, os.X_OK):
            return (str(file.absolute()),)
    return (python, "-m", "leslied")


def read_template(folder: str, name: str) -> bytes:
    """Return the service file from the package, or from the source checkout."""
    packaged = _PACKAGE_DIR / "templates" / name
    if packaged.is_file():
        return packaged.read_bytes()
    return (_PACKAGE_DIR.parents[1] / folder / name).read_bytes()


def write_file(path: Path, data: bytes) -> None:
    """Write the file atomically; raises LesliedError and keeps the old file."""
    temporary = path.with_name(path.name + ".new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), 0o644)
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        raise LesliedError(f"{path} cannot be written: {error.strerror}.") from error


class SubprocessRunner:
    """Starts programs with a fixed environment, never through a shell."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = dict(environ)

    def __call__(
        self, command: Sequence[str], *, seconds: float = 30, is_shown: bool = False
    ) -> ProgramResult:
        """Run the command for at most so many seconds; return its result.

        If `is_shown`, it writes to our terminal instead, without a time limit.
        """
        try:
            process = (
                self._run_inherited(command)
                if is_shown
                else self._run_captured(command, seconds)
            )
        except OSError as error:
            return ProgramResult(_MISSING, err=f"{command[0]}: {error.strerror}")
        except subprocess.TimeoutExpired:
            return ProgramResult(
                _TIMED_OUT, err=f"it did not end within {seconds:.0f} seconds"
            )
        return ProgramResult(
            process.returncode, process.stdout or "", process.stderr or ""
        )

    def _run_inherited(
        self, command: Sequence[str]
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(  # noqa: S603 - no shell, trusted command
            command, env=self._environ, check=False, text=True
        )

    def _run_captured(
        self, command: Sequence[str], seconds: float
    ) -> subprocess.CompletedProcess[str]:
        """Capture the output, in English and UTC, so that it can be parsed."""
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
