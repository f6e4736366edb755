"""leslied as a systemd user unit."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from leslied.errors import LesliedError, UserError
from leslied.service import (
    RUN_WITHOUT_SERVICE_HINT,
    ProgramResult,
    ServiceInstallation,
    ServiceStatus,
    read_template,
    write_file,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from leslied.service import ProgramRunner

UNIT = "leslied.service"
STOP_COMMAND = f"systemctl --user stop {UNIT}"
START_TIMEOUT_SECONDS = 20.0
"""A unit that cannot start says so at once; this is for one that hangs."""
NAMESPACE_DIRECTIVES = frozenset(
    {
        "CapabilityBoundingSet",
        "InaccessiblePaths",
        "PrivateDevices",
        "PrivateUsers",
        "ProtectClock",
        "ProtectControlGroups",
        "ProtectHostname",
        "ProtectKernelLogs",
        "ProtectKernelModules",
        "ProtectKernelTunables",
        "ProtectSystem",
        "ReadWritePaths",
    }
)
"""What a user manager can only do where anybody may make a user namespace."""

_EXIT_REASONS = {
    "2": "leslied was called wrongly (exit 2)",
    "4": "another leslied is running already (exit 4)",
    "78": "the config file is wrong (exit 78)",
}
_UNQUOTED = re.compile(r"[\w@+,./:=-]+", re.ASCII)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_STATUS_PROPERTIES = "ActiveState,SubState,UnitFileState,ActiveEnterTimestamp,MainPID"
_HEADER = (
    "# Written by `leslied service install`, removed by `leslied service uninstall`."
)


class Systemd:
    """The user manager of systemd, spoken to through systemctl."""

    name = "systemd"

    def __init__(
        self,
        *,
        home: Path,
        config: str,
        user: int,
        program: Sequence[str],
        run: ProgramRunner,
    ) -> None:
        # The manager need not have the shell's XDG_CONFIG_HOME: it is asked below.
        folders = [Path(config)] if Path(config).is_absolute() else []
        folders.append(home / ".config")
        self._paths = [folder / "systemd/user" / UNIT for folder in folders]
        self._user = user
        self._program = program
        self._run = run

    def install(
        self, variables: Mapping[str, str], writable: Sequence[Path] = ()
    ) -> ServiceInstallation:
        """Leslied runs, and will at every login; else nothing is left behind."""
        path = self._choose_path()
        full, light = (
            _encode(
                render_unit(self._program, variables, writable, is_unsandboxed=is_light)
            )
            for is_light in (False, True)
        )
        notes = []
        why = self._try_start(path, full)
        if why and why not in _EXIT_REASONS.values():
            notes.append(
                f"The sandboxed service did not start here ({why}); "
                "a lighter one, which sees the whole disk, is installed."
            )
            why = self._try_start(path, light)
        if why:
            self.uninstall()
            raise LesliedError(
                f"The service did not start: {why}.", "See why: leslied run"
            )
        return ServiceInstallation(path=path, notes=(*notes, *self._check_linger()))

    def uninstall(self) -> bool:
        """Nothing of the service is left; False where nothing was."""
        found = [path for path in self._paths if path.is_file()]
        if not found:
            return False
        # Without a manager these fail, and there is nothing to stop either.
        self._systemctl("disable", "--now", UNIT)
        for path in found:
            _remove_unit(path)
        self._systemctl("daemon-reload")
        self._systemctl("reset-failed", UNIT)
        return True

    def is_installed(self) -> bool:
        """Whether the unit is on disk."""
        return any(path.is_file() for path in self._paths)

    def status(self) -> ServiceStatus:
        """How the unit is now."""
        said = _parse_properties(
            self._require("show", UNIT, f"--property={_STATUS_PROPERTIES}").out
        )
        is_active = said.get("ActiveState") == "active"
        return ServiceStatus(
            path=next((p for p in self._paths if p.is_file()), self._paths[-1]),
            is_installed=self.is_installed(),
            is_enabled=said.get("UnitFileState") == "enabled",
            is_active=is_active,
            since=_parse_time(said["ActiveEnterTimestamp"]) if is_active else None,
            pid=int(said.get("MainPID") or 0) or None,
            description=f"{said.get('ActiveState')} ({said.get('SubState')})",
        )

    def show_logs(self, lines: int, *, is_followed: bool) -> int:
        """The journal's last lines of the unit were shown."""
        words = ["journalctl", "--user", "-u", "leslied", "-n", str(lines)]
        return self._run([*words, *["-f"] * is_followed], is_shown=True).code

    def _choose_path(self) -> Path:
        """Where the manager looks for units, and a person would."""
        seen = self._require("show", "--property=UnitPath").out
        looked = [path for path in self._paths if str(path.parent) in seen]
        return looked[0] if looked else self._paths[-1]

    def _try_start(self, path: Path, data: bytes) -> str:
        """Why the unit with this text is not up; empty when it is."""
        write_file(path, data)
        self._systemctl("daemon-reload")
        self._systemctl("reset-failed", UNIT)
        enabled = self._systemctl("enable", UNIT)
        if enabled.code:
            return _first_line(enabled)
        # Type=notify: this returns when leslied has said that it is ready.
        started = self._systemctl("restart", UNIT, seconds=START_TIMEOUT_SECONDS)
        return self._find_failure(started) if started.code else ""

    def _find_failure(self, started: ProgramResult) -> str:
        said = _parse_properties(
            self._systemctl("show", UNIT, "--property=Result,ExecMainStatus").out
        )
        status = said.get("ExecMainStatus", "0")
        if status in _EXIT_REASONS:
            return _EXIT_REASONS[status]
        if status != "0":
            return f"{said.get('Result')}, status {status}"
        return _first_line(started)

    def _check_linger(self) -> Iterator[str]:
        words = ["loginctl", "show-user", str(self._user), "--property=Linger"]
        if self._run(words).out.strip() == "Linger=no":
            yield (
                "The service stops when you log out. "
                "To keep it running: loginctl enable-linger"
            )

    def _systemctl(self, *words: str, seconds: float = 30) -> ProgramResult:
        return self._run(["systemctl", "--user", *words], seconds=seconds)

    def _require(self, *words: str) -> ProgramResult:
        ran = self._systemctl(*words)
        if ran.code:
            raise UserError(
                f"No systemd user manager answers here ({_first_line(ran)}).",
                RUN_WITHOUT_SERVICE_HINT,
            )
        return ran


def render_unit(
    program: Sequence[str],
    variables: Mapping[str, str],
    writable: Sequence[Path] = (),
    *,
    is_unsandboxed: bool = False,
) -> str:
    """The unit's text; the light one keeps to what works without namespaces."""
    template = read_template("systemd", UNIT).decode()
    unit = template[template.index("[Unit]") :].rstrip()
    lines = [_HEADER]
    for line in unit.split("\n"):
        key = line.partition("=")[0]
        if is_unsandboxed and (key in NAMESPACE_DIRECTIVES or line.startswith("#")):
            continue
        lines.append(_render_exec_start(program) if key == "ExecStart" else line)
        if key == "ExecStart":
            pairs = sorted(variables.items())
            lines += [f"Environment={quote_word(f'{k}={v}')}" for k, v in pairs]
        elif key == "ReadWritePaths":
            # No backslash means anything in a list of paths.
            lines += [f'{key}="-{_escape_percent(str(path))}"' for path in writable]
    return "\n".join(lines) + "\n"


def quote_word(word: str) -> str:
    """The word as systemd reads it back: one word, no specifier, no escape."""
    if _UNQUOTED.fullmatch(word):
        return word
    word = word.replace("\\", "\\\\").replace('"', '\\"')
    word = _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", word)
    return f'"{_escape_percent(word)}"'


def _render_exec_start(program: Sequence[str]) -> str:
    """A `$` is left alone by systemd only in a command that begins with a colon."""
    first, *rest = program
    if any("$" in word for word in program):
        first = ":" + first
    return "ExecStart=" + " ".join(quote_word(word) for word in (first, *rest, "run"))


def _escape_percent(text: str) -> str:
    return text.replace("%", "%%")


def _encode(unit: str) -> bytes:
    try:
        return unit.encode()
    except UnicodeEncodeError as error:
        raise UserError(
            "A path or variable that the service needs is not UTF-8.",
            RUN_WITHOUT_SERVICE_HINT,
        ) from error


def _remove_unit(path: Path) -> None:
    """The unit, its link and the folders that held nothing else are gone."""
    (path.parent / "default.target.wants" / UNIT).unlink(missing_ok=True)
    path.unlink(missing_ok=True)
    with suppress(OSError):
        (path.parent / "default.target.wants").rmdir()
    with suppress(OSError):
        path.parent.rmdir()
        path.parent.parent.rmdir()


def _parse_properties(out: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in out.split("\n") if "=" in line)


def _parse_time(text: str) -> datetime | None:
    """`Mon 2026-11-16 05:08:53 UTC` as a time; the runner asks in UTC."""
    with suppress(ValueError):
        return datetime.fromisoformat(" ".join(text.split()[1:3])).replace(tzinfo=UTC)
    return None


def _first_line(ran: ProgramResult) -> str:
    said = ran.err.strip() or ran.out.strip() or f"exit code {ran.code}"
    return said.split("\n")[0].rstrip(".")
