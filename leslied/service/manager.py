"""The choice of the platform's service manager."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from leslied.errors import UserError
from leslied.service import RUN_WITHOUT_SERVICE_HINT, SubprocessRunner

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from leslied.service import ProgramRunner, ServiceManager


def get_manager(
    *,
    home: Path,
    environ: Mapping[str, str],
    platform: str,
    program: Sequence[str],
    run: ProgramRunner | None = None,
) -> ServiceManager:
    """Return the service manager of the platform; nothing is started.

    `program` is the command that starts leslied. Raise UserError on platforms other
    than Linux and macOS.
    """
    run = run or SubprocessRunner(environ)
    if platform == "darwin":
        from leslied.service.launchd import Launchd  # noqa: PLC0415 - only one is needed

        return Launchd(home=home, user=os.getuid(), program=program, run=run)
    if platform == "linux":
        from leslied.service.systemd import Systemd  # noqa: PLC0415 - only one is needed

        config_home = environ.get("XDG_CONFIG_HOME", "")
        return Systemd(
            home=home,
            config_home=config_home,
            user=os.getuid(),
            program=program,
            run=run,
        )
    raise UserError(
        f"leslied supports no service manager on {platform}.", RUN_WITHOUT_SERVICE_HINT
    )


def format_stop_hint(platform: str) -> str:
    """Return how to stop the daemon, as a service and in a terminal."""
    in_terminal = "Ctrl-C where `leslied run` runs"
    if platform == "darwin":
        from leslied.service.launchd import STOP_COMMAND  # noqa: PLC0415 - only one is needed
    elif platform == "linux":
        from leslied.service.systemd import STOP_COMMAND  # noqa: PLC0415 - only one is needed
    else:
        return in_terminal
    return f"{STOP_COMMAND} (or {in_terminal})"
