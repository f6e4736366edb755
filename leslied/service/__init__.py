"""Living on the machine: one small class for each service manager.

The door: `find_manager` gives the one of this platform. Making a manager changes
nothing, its verbs do. What the daemon does is not known here; this is also the only
room that starts other programs.
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
_HERE = Path(__file__).resolve().parent
_MISSING, _TIMED_OUT = 127, 124


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """What a program answered."""

    code: int
    out: str = ""
    err: str = ""


class ProgramRunner(Protocol):
    """Starts a program and waits for it."""

    def __call__(
        self, words: Sequence[str], *, seconds: float = 30, is_shown: bool = False
    ) -> ProgramResult:
        """The program has ended, or had its time; shown means on our terminal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceInstallation:
    """Where the service is described, and what its owner should know about it."""

    path: Path
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceStatus:
    """How the service is."""

    path: Path
    is_installed: bool
    is_enabled: bool = False
    is_active: bool = False
    since: datetime | None = None
    pid: int | None = None
    description: str = ""


class ServiceManager(Protocol):
    """What every service manager can do for leslied."""

    name: str

    def install(
        self, variables: Mapping[str, str], writable: Sequence[Path] = ()
    ) -> ServiceInstallation:
        """Leslied runs, and will at every login; else nothing is left behind."""

    def uninstall(self) -> bool:
        """Nothing of the service is left; False where nothing was."""

    def is_installed(self) -> bool:
        """Whether the service is described on disk."""

    def status(self) -> ServiceStatus:
        """How the service is now."""

    def show_logs(self, lines: int, *, is_followed: bool) -> int:
        """The last lines were shown; the exit code of what showed them."""


def find_manager(
    *,
    home: Path,
    environ: Mapping[str, str],
    platform: str,
    program: Sequence[str],
    run: ProgramRunner | None = None,
) -> ServiceManager:
    """The service manager of the platform; nothing is asked of it yet."""
    run = run or SubprocessRunner(environ)
    if platform == "darwin":
        from leslied.service.launchd import Launchd  # noqa: PLC0415 - one is enough

        return Launchd(home=home, user=os.getuid(), program=program, run=run)
    if platform == "linux":
        from leslied.service.systemd import Systemd  # noqa: PLC0415 - one is enough

        config = environ.get("XDG_CONFIG_HOME", "")
        return Systemd(
            home=home, config=config, user=os.getuid(), program=program, run=run
        )
    raise UserError(
        f"No service manager is known for {platform}.", RUN_WITHOUT_SERVICE_HINT
    )


def format_stop_command(platform: str) -> str:
    """What to type so that a daemon ends, whoever started it."""
    by_hand = "Ctrl-C where `leslied run` runs"
    if platform == "darwin":
        from leslied.service.launchd import STOP_COMMAND  # noqa: PLC0415 - one is enough
    elif platform == "linux":
        from leslied.service.systemd import STOP_COMMAND  # noqa: PLC0415 - one is enough
    else:
        return by_hand
    return f"{STOP_COMMAND} (or {by_hand})"


def find_program(called_as: str, python: str, path: str | None) -> tuple[str, ...]:
    """The words that start leslied from anywhere, links left as they are.

    A link in a folder of programs survives an upgrade; what it leads to may not.
    """
    beside = Path(python).parent / "leslied"
    on_path = shutil.which("leslied", path=path)
    for each in (Path(called_as), beside, Path(on_path or beside)):
        if each.name == "leslied" and each.is_file() and os.access(each, os.X_OK):
            return (str(each.absolute()),)
    return (python, "-m", "leslied")


def read_template(folder: str, name: str) -> bytes:
    """The service file as shipped: in the package, or in the checkout it came from."""
    packaged = _HERE / "templates" / name
    if packaged.is_file():
        return packaged.read_bytes()
    return (_HERE.parents[1] / folder / name).read_bytes()


def write_file(path: Path, data: bytes) -> None:
    """The file is there with exactly these bytes, or as it was before."""
    beside = path.with_name(path.name + ".new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with beside.open("wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), 0o644)
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        with suppress(OSError):
            beside.unlink()
        raise LesliedError(f"{path} cannot be written: {error.strerror}.") from error


class SubprocessRunner:
    """Starts programs with a given environment, never through a shell."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = dict(environ)

    def __call__(
        self, words: Sequence[str], *, seconds: float = 30, is_shown: bool = False
    ) -> ProgramResult:
        """The program has ended, or had its time; shown means on our terminal."""
        try:
            done = (
                self._run_inherited(words)
                if is_shown
                else self._run_captured(words, seconds)
            )
        except OSError as error:
            return ProgramResult(_MISSING, err=f"{words[0]}: {error.strerror}")
        except subprocess.TimeoutExpired:
            return ProgramResult(
                _TIMED_OUT, err=f"no answer within {seconds:.0f} seconds"
            )
        return ProgramResult(done.returncode, done.stdout or "", done.stderr or "")

    def _run_inherited(self, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(  # noqa: S603 - our own words, no shell
            words, env=self._environ, check=False, text=True
        )

    def _run_captured(
        self, words: Sequence[str], seconds: float
    ) -> subprocess.CompletedProcess[str]:
        """Answers come in English and UTC, so that they can be read."""
        return subprocess.run(  # noqa: S603 - our own words, no shell
            words,
            env=self._environ | {"LC_ALL": "C", "TZ": "UTC"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=seconds,
            text=True,
            errors="replace",
        )
