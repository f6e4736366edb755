"""The service manager launchd: leslied as a user agent, in launchd's sense."""

from __future__ import annotations

import plistlib
import re
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from leslied.errors import UserError
from leslied.service import (
    RUN_WITHOUT_SERVICE_HINT,
    ServiceInstallation,
    ServiceStatus,
    read_template,
    write_file,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from leslied.service import ProgramResult, ProgramRunner

LABEL = "io.leslied"
STOP_COMMAND = f"launchctl bootout gui/$UID/{LABEL}"
_STATE = re.compile(r"^\s*state = (.+)$", re.MULTILINE)
_PID = re.compile(r"^\s*pid = (\d+)$", re.MULTILINE)
_PS_TIME_FORMAT = "%a %b %d %H:%M:%S %Y"
_DISABLED = re.compile(rf'"{re.escape(LABEL)}" => (true|disabled)')


class Launchd:
    """The launchd domain of a logged-in user, controlled with launchctl."""

    name = "launchd"

    def __init__(
        self, *, home: Path, user: int, program: Sequence[str], run: ProgramRunner
    ) -> None:
        self._path = home / "Library/LaunchAgents" / f"{LABEL}.plist"
        self._log = home / "Library/Logs/leslied.log"
        self._domain = f"gui/{user}"
        self._target = f"gui/{user}/{LABEL}"
        self._program = program
        self._run = run

    def install(
        self,
        variables: Mapping[str, str],
        writable_folders: Sequence[Path] = (),  # noqa: ARG002 - launchd has no sandbox
        *,
        serves_page: bool = False,  # noqa: ARG002 - as above
    ) -> ServiceInstallation:
        """Install the agent and start it, now and at every login.

        Raise UserError if launchd refuses the agent; then no file is left behind.
        """
        self._run_or_raise("print", self._domain)
        plist = render_plist(self._program, variables, self._log)
        write_file(self._path, plistlib.dumps(plist))
        # A loaded agent would keep its old definition, so unload it. On the first
        # installation no agent is loaded, and the failure does not matter.
        self._launchctl("bootout", self._target)
        self._launchctl("enable", self._target)
        load_result = self._launchctl("bootstrap", self._domain, str(self._path))
        if load_result.code:
            self.uninstall()
            self._raise_error(load_result)
        return ServiceInstallation(path=self._path)

    def uninstall(self) -> bool:
        """Stop and remove the agent and its log; return False if not installed."""
        was_installed = self.is_installed()
        if was_installed:
            self._launchctl("bootout", self._target)
        self._path.unlink(missing_ok=True)
        self._log.unlink(missing_ok=True)
        return was_installed

    def is_installed(self) -> bool:
        """Return whether the agent's property list exists."""
        return self._path.is_file()

    def status(self) -> ServiceStatus:
        """Return the agent's state; raise UserError if the user is not logged in."""
        self._run_or_raise("print", self._domain)
        agent_text = self._launchctl("print", self._target).out
        disabled_text = self._launchctl("print-disabled", self._domain).out
        state = _STATE.search(agent_text)
        pid = _PID.search(agent_text)
        is_active = bool(state and state[1] == "running" and pid)
        return ServiceStatus(
            manager=self.name,
            path=self._path,
            is_installed=self.is_installed(),
            is_enabled=self.is_installed() and not _DISABLED.search(disabled_text),
            is_active=is_active,
            since=self._find_start(pid[1]) if is_active and pid else None,
            pid=int(pid[1]) if pid else None,
            description=state[1] if state else "not loaded",
        )

    def show_logs(self, lines: int, *, is_followed: bool) -> int:
        """Show the last lines of the log file; return the exit code of tail.

        Raise UserError without a log file.
        """
        if not self._log.is_file():
            raise UserError(
                f"There is no log at {self._log}.",
                "To install the service: leslied service install",
            )
        options = ["-n", str(lines)]
        if is_followed:
            options.append("-F")
        command = ["tail", *options, str(self._log)]
        return self._run(command, to_terminal=True).code

    def _find_start(self, pid: str) -> datetime | None:
        """Return when the process started, or None if `ps` does not know it."""
        output = self._run(["ps", "-o", "lstart=", "-p", pid]).out
        with suppress(ValueError):
            # `ps` prints UTC, because SubprocessRunner runs programs with TZ=UTC.
            start = datetime.strptime(output.strip(), _PS_TIME_FORMAT)  # noqa: DTZ007
            return start.replace(tzinfo=UTC)
        return None

    def _launchctl(self, *arguments: str) -> ProgramResult:
        return self._run(["launchctl", *arguments])

    def _run_or_raise(self, *arguments: str) -> None:
        """Run launchctl; raise UserError if it fails."""
        result = self._launchctl(*arguments)
        if result.code:
            self._raise_error(result)

    def _raise_error(self, result: ProgramResult) -> None:
        """Raise UserError with the first line of launchctl's error output."""
        text = result.err.strip() or f"exit code {result.code}"
        reason = text.split("\n")[0].rstrip(".")
        raise UserError(
            f"launchd does not accept the service in {self._domain} ({reason}).",
            RUN_WITHOUT_SERVICE_HINT,
        )


def render_plist(
    program: Sequence[str], variables: Mapping[str, str], log: Path
) -> dict[str, Any]:
    """Return the property list of the launchd service: the template with values."""
    plist: dict[str, Any] = plistlib.loads(read_template("launchd", f"{LABEL}.plist"))
    plist["ProgramArguments"] = [*program, "run"]
    plist["StandardOutPath"] = plist["StandardErrorPath"] = str(log)
    if variables:
        plist["EnvironmentVariables"] = dict(sorted(variables.items()))
    return plist
