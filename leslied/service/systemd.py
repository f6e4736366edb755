"""The service manager systemd: leslied as a user unit."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
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
"""Limit for a unit that hangs; a unit that cannot start fails at once."""
NAMESPACE_DIRECTIVES = frozenset(
    {
        "CapabilityBoundingSet",
        "InaccessiblePaths",
        "PrivateDevices",
        "PrivateNetwork",
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
"""Directives that need unprivileged user namespaces."""

_PAGE_DIRECTIVES = {
    "RestrictAddressFamilies": (
        "RestrictAddressFamilies=AF_UNIX AF_INET",
        "IPAddressDeny=any",
        "IPAddressAllow=localhost",
    ),
    # A private network has a loopback interface of its own, which no browser can reach.
    "PrivateNetwork": (),
}
"""Lines that replace a directive of the template in a unit that serves the page."""
_EXIT_REASONS = {
    "2": "leslied was called with wrong arguments (exit 2)",
    "4": "another leslied is already running (exit 4)",
    "78": "the config file is invalid (exit 78)",
}
_UNQUOTED = re.compile(r"[\w@+,./:=-]+", re.ASCII)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_STATUS_PROPERTIES = "ActiveState,SubState,UnitFileState,ActiveEnterTimestamp,MainPID"
_HEADER = (
    "# Written by `leslied service install`, removed by `leslied service uninstall`."
)


class Systemd:
    """The user manager of systemd, controlled with systemctl."""

    name = "systemd"

    def __init__(
        self,
        *,
        home: Path,
        config_home: str,
        user: int,
        program: Sequence[str],
        run: ProgramRunner,
    ) -> None:
        # systemd may run without the shell's XDG_CONFIG_HOME: `_choose_path` asks
        # systemd which of these folders it searches.
        folders = [Path(config_home)] if Path(config_home).is_absolute() else []
        folders.append(home / ".config")
        self._paths = [folder / "systemd/user" / UNIT for folder in folders]
        self._user = user
        self._program = program
        self._run = run

    def install(
        self,
        variables: Mapping[str, str],
        writable_folders: Sequence[Path] = (),
        *,
        serves_page: bool = False,
    ) -> ServiceInstallation:
        """Install the unit and start it, now and at every login.

        If the sandboxed unit does not start, try one without a sandbox. Raise
        LesliedError if neither starts; then no file is left behind.
        """
        path = self._choose_path()
        render = partial(
            render_unit,
            self._program,
            variables,
            writable_folders,
            serves_page=serves_page,
        )
        sandboxed_unit = _encode(render())
        unsandboxed_unit = _encode(render(is_unsandboxed=True))
        notes = []
        failure = self._try_start(path, sandboxed_unit)
        # With one of these reasons, a unit without a sandbox would fail as well.
        if failure and failure not in _EXIT_REASONS.values():
            notes.append(
                f"The sandboxed service did not start ({failure}). leslied installed "
                "one without a sandbox, which can access the whole disk."
            )
            failure = self._try_start(path, unsandboxed_unit)
        if failure:
            self.uninstall()
            raise LesliedError(
                f"The service did not start: {failure}.", "To see why: leslied run"
            )
        return ServiceInstallation(
            path=path, notes=(*notes, *self._iter_linger_notes())
        )

    def uninstall(self) -> bool:
        """Stop and remove the unit; return False if it was not installed."""
        unit_files = [path for path in self._paths if path.is_file()]
        if not unit_files:
            return False
        # This fails if no user manager runs, but then there is nothing to stop.
        self._systemctl("disable", "--now", UNIT)
        for path in unit_files:
            _remove_unit(path)
        self._systemctl("daemon-reload")
        self._systemctl("reset-failed", UNIT)
        return True

    def is_installed(self) -> bool:
        """Return whether the unit file exists."""
        return any(path.is_file() for path in self._paths)

    def status(self) -> ServiceStatus:
        """Return the unit's state; raise UserError if systemd does not answer."""
        properties = _parse_properties(
            self._run_or_raise("show", UNIT, f"--property={_STATUS_PROPERTIES}").out
        )
        active_state = properties.get("ActiveState")
        is_active = active_state == "active"
        return ServiceStatus(
            manager=self.name,
            path=next((p for p in self._paths if p.is_file()), self._paths[-1]),
            is_installed=self.is_installed(),
            is_enabled=properties.get("UnitFileState") == "enabled",
            is_active=is_active,
            since=(
                _parse_time(properties["ActiveEnterTimestamp"]) if is_active else None
            ),
            pid=int(properties.get("MainPID") or 0) or None,
            description=f"{active_state} ({properties.get('SubState')})",
        )

    def show_logs(self, lines: int, *, is_followed: bool) -> int:
        """Show the unit's last journal lines; return the exit code of journalctl."""
        command = ["journalctl", "--user", "-u", "leslied", "-n", str(lines)]
        if is_followed:
            command.append("-f")
        return self._run(command, to_terminal=True).code

    def _choose_path(self) -> Path:
        """Return the first of our paths that systemd searches, else the last one."""
        search_path = self._run_or_raise("show", "--property=UnitPath").out
        paths = (path for path in self._paths if str(path.parent) in search_path)
        return next(paths, self._paths[-1])

    def _try_start(self, path: Path, data: bytes) -> str:
        """Write and start the unit; return why it failed, empty if it runs."""
        write_file(path, data)
        self._systemctl("daemon-reload")
        self._systemctl("reset-failed", UNIT)
        enable_result = self._systemctl("enable", UNIT)
        if enable_result.code:
            return _format_reason(enable_result)
        # Type=notify: this returns when leslied has reported that it is ready.
        start_result = self._systemctl("restart", UNIT, seconds=START_TIMEOUT_SECONDS)
        return self._describe_failure(start_result) if start_result.code else ""

    def _describe_failure(self, start_result: ProgramResult) -> str:
        """Return why the unit did not start, after systemctl failed to start it."""
        properties = _parse_properties(
            self._systemctl("show", UNIT, "--property=Result,ExecMainStatus").out
        )
        status = properties.get("ExecMainStatus", "0")
        if status in _EXIT_REASONS:
            return _EXIT_REASONS[status]
        if status != "0":
            return f"{properties.get('Result')}, status {status}"
        return _format_reason(start_result)

    def _iter_linger_notes(self) -> Iterator[str]:
        """Yield a note for the user if a logout stops user services."""
        command = ["loginctl", "show-user", str(self._user), "--property=Linger"]
        if self._run(command).out.strip() == "Linger=no":
            yield (
                "The service stops when you log out. "
                "To keep it running: loginctl enable-linger"
            )

    def _systemctl(self, *arguments: str, seconds: float = 30) -> ProgramResult:
        return self._run(["systemctl", "--user", *arguments], seconds=seconds)

    def _run_or_raise(self, *arguments: str) -> ProgramResult:
        """Run systemctl and return its result; raise UserError if it fails."""
        result = self._systemctl(*arguments)
        if result.code:
            raise UserError(
                f"The systemd user manager does not answer ({_format_reason(result)}).",
                RUN_WITHOUT_SERVICE_HINT,
            )
        return result


def render_unit(
    program: Sequence[str],
    variables: Mapping[str, str],
    writable_folders: Sequence[Path] = (),
    *,
    is_unsandboxed: bool = False,
    serves_page: bool = False,
) -> str:
    """Render the unit file: the template with program, variables and folders.

    An unsandboxed unit has no directive that needs user namespaces. A unit that serves
    the page may use the loopback interface, but no other network.
    """
    template = read_template("systemd", UNIT).decode()
    unit = template[template.index("[Unit]") :].rstrip()
    lines = [_HEADER]
    for line in unit.split("\n"):
        key = line.partition("=")[0]
        if is_unsandboxed and (key in NAMESPACE_DIRECTIVES or line.startswith("#")):
            continue
        if serves_page and key in _PAGE_DIRECTIVES:
            lines += _PAGE_DIRECTIVES[key]
            continue
        lines.append(_render_exec_start(program) if key == "ExecStart" else line)
        if key == "ExecStart":
            pairs = sorted(variables.items())
            lines += [f"Environment={quote_word(f'{k}={v}')}" for k, v in pairs]
        elif key == "ReadWritePaths":
            # systemd does not interpret backslashes in a list of paths.
            paths = [_escape_percent(str(folder)) for folder in writable_folders]
            lines += [f'{key}="-{path}"' for path in paths]
    return "\n".join(lines) + "\n"


def quote_word(word: str) -> str:
    """Quote a word so that systemd reads it back unchanged, as one word."""
    if _UNQUOTED.fullmatch(word):
        return word
    word = word.replace("\\", "\\\\").replace('"', '\\"')
    word = _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", word)
    return f'"{_escape_percent(word)}"'


def _render_exec_start(program: Sequence[str]) -> str:
    """Render ExecStart; a colon before the command stops systemd from expanding `$`."""
    executable, *arguments = program
    if any("$" in word for word in program):
        executable = ":" + executable
    command = (executable, *arguments, "run")
    return "ExecStart=" + " ".join(quote_word(word) for word in command)


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
    """Remove the unit file, the link that enables it, and folders that become empty."""
    (path.parent / "default.target.wants" / UNIT).unlink(missing_ok=True)
    path.unlink(missing_ok=True)
    with suppress(OSError):
        (path.parent / "default.target.wants").rmdir()
    with suppress(OSError):
        path.parent.rmdir()
        path.parent.parent.rmdir()


def _parse_properties(output: str) -> dict[str, str]:
    """Parse the lines `NAME=VALUE` that `systemctl show` prints."""
    return dict(line.split("=", 1) for line in output.split("\n") if "=" in line)


def _parse_time(text: str) -> datetime | None:
    """Parse a time such as `Mon 2026-11-16 05:08:53 UTC`; return None if invalid.

    systemctl prints UTC, because SubprocessRunner runs programs with TZ=UTC.
    """
    with suppress(ValueError):
        return datetime.fromisoformat(" ".join(text.split()[1:3])).replace(tzinfo=UTC)
    return None


def _format_reason(result: ProgramResult) -> str:
    """Return the first line of a failed program's output, else its exit code."""
    text = result.err.strip() or result.out.strip() or f"exit code {result.code}"
    return text.split("\n")[0].rstrip(".")
