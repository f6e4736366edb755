"""Install the programs that leslied is compared with, each in a folder of its own.

Their versions are fixed. Nothing is installed into the system or the user's home.
Telemetry and update checks are off, and `isolate` takes the network away before
anything is measured.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

ISOLATED = "LESLIED_BENCH_ISOLATED"
"""Variable that is set while the network is away."""
_MAX_SECONDS = 600
_START_LOOPBACK = 'ip link set lo up 2>/dev/null; exec "$@"'


@dataclass(frozen=True, slots=True)
class Peer:
    """A program of somebody else."""

    name: str
    version: str
    registry: str
    program: str
    """Pattern of the program's path, relative to the folder of the installation."""
    environ: Mapping[str, str] = field(default_factory=dict)


PEERS = {
    peer.name: peer
    for peer in (
        Peer(
            "agentsview",
            "0.46.1",
            "PyPI",
            # The program itself; its wrapper in `bin` takes 25 ms longer.
            "lib/python*/site-packages/agentsview/bin/agentsview",
            {
                "AGENTSVIEW_NO_DAEMON": "1",
                "AGENTSVIEW_TELEMETRY_ENABLED": "0",
                "AGENTSVIEW_DISABLE_UPDATE_CHECK": "1",
            },
        ),
        Peer("claude-code-log", "1.7.0", "PyPI", "bin/claude-code-log"),
        Peer("claude-code-transcripts", "0.6", "PyPI", "bin/claude-code-transcripts"),
        # The native program; its wrapper needs Node.js.
        Peer("ccusage", "20.0.24", "npm", "node_modules/@ccusage/*/bin/ccusage"),
    )
}


def install(peer: Peer, folder: Path) -> Path:
    """Return the path of a peer's program; raise OSError if it cannot be installed."""
    place = folder / f"{peer.name}-{peer.version}"
    program = _find_program(place, peer)
    if program is None and ISOLATED not in os.environ:
        try:
            _install_into(place, peer)
        except (subprocess.SubprocessError, OSError):
            shutil.rmtree(place, ignore_errors=True)
        program = _find_program(place, peer)
    if program is None:
        raise OSError(f"{peer.name} {peer.version} could not be installed")
    program.chmod(program.stat().st_mode | 0o111)
    return program


def _find_program(place: Path, peer: Peer) -> Path | None:
    return next(place.glob(peer.program), None)


def _install_into(place: Path, peer: Peer) -> None:
    package = f"{peer.name}=={peer.version}"
    if peer.registry == "PyPI":
        venv.create(place, with_pip=True, clear=True)
        command = [place / "bin/python", "-m", "pip", "install", "--quiet", package]
    else:
        place.mkdir(parents=True, exist_ok=True)
        package = f"{peer.name}@{peer.version}"
        command = ["npm", "install", "--ignore-scripts", "--prefix", place, package]
    subprocess.run(command, check=True, capture_output=True, timeout=_MAX_SECONDS)


def install_all(folder: Path) -> tuple[dict[str, Path], list[str]]:
    """Return the programs that could be installed, and why others could not."""
    programs, problems = {}, []
    for name, peer in PEERS.items():
        try:
            programs[name] = install(peer, folder)
        except OSError as error:
            problems.append(str(error))
    return programs, problems


def isolate(module: str = "tests.bench") -> bool:
    """Start this program again with loopback only; return whether that is so now.

    A network namespace of its own needs Linux, and root or user namespaces.
    """
    if ISOLATED in os.environ:
        return True
    for options in ("-n", "-rn"):
        command = ["unshare", options, "sh", "-c", _START_LOOPBACK, "sh"]
        if shutil.which("unshare") and _succeeds([*command, "true"]):
            os.environ[ISOLATED] = "1"
            program = [sys.executable, "-m", module, *sys.argv[1:]]
            os.execvp("unshare", [*command, *program])
    return False


def _succeeds(command: list[str]) -> bool:
    return subprocess.run(command, check=False, capture_output=True).returncode == 0
