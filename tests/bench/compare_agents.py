"""Compare what leslied and agentsview read from captured homes of many agents.

    python -m tests.bench.compare_agents FOLDER

FOLDER contains a folder `NAME-VERSION/all` for each agent. In it are the home folder
after some runs of the agent, `home`, or the project of an agent that writes into
projects, `work`. Each program gets its own copies, first of each folder and then of all
in one home, and no network. The table is printed as Markdown; a cell has leslied's
figure first. Without agentsview, which is installed as for `make bench`, there is only
leslied's.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from leslied import __version__
from tests.bench import peers
from tests.bench.environment import CACHE, ROOT
from tests.bench.peers import PEERS

_MAX_SECONDS = 300
_FAILED = re.compile(r"(\d+) failed")
_AGENTSVIEW_COUNTS = """
    WITH shown AS (
        SELECT *, ifnull(parent_session_id, '') <> '' AND relationship_type <> 'fork'
            AS is_linked
        FROM sessions WHERE deleted_at IS NULL
    )
    SELECT ifnull(sum(NOT is_linked), 0), ifnull(sum(is_linked), 0),
        (SELECT count(*) FROM tool_calls), ifnull(sum(total_output_tokens), 0)
    FROM shown
"""
"""Any parent counts as a link, except that of a fork, which is a session of its own."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What one program made of a home."""

    sessions: int
    subagents: int
    """Those that are linked to their session; others count as sessions."""
    tool_calls: int
    """Those of subagents count too."""
    output_tokens: int
    failures: int
    """Logs or entries that could not be read."""
    exit_code: int
    seconds: float


_TITLES = {
    "sessions": "sessions",
    "subagents": "subagents linked",
    "tool_calls": "tool calls",
    "output_tokens": "output tokens",
    "failures": "failures",
    "exit_code": "exit code",
    "seconds": "seconds",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="the folder of captures")
    parser.add_argument("--runs", type=int, default=3, help="keep the fastest of N")
    options = parser.parse_args()
    captures = sorted(options.folder.resolve().glob("*/all"))
    if not captures:
        parser.error(f"no captures in {options.folder}")
    agentsview = find_agentsview()
    is_isolated = peers.isolate("tests.bench.compare_agents")
    print_heading(agentsview, is_isolated=is_isolated)
    for capture in captures:
        print_row(capture.parent.name, [capture], agentsview, options.runs)
    print_row("**all in one home**", captures, agentsview, options.runs)
    return 0


def find_agentsview() -> Path | None:
    """Return the path of agentsview, or None if it is not installed."""
    try:
        return peers.install(PEERS["agentsview"], CACHE / "peers")
    except OSError as error:
        print(f"{error}: it is left out.", file=sys.stderr)
        return None


def print_heading(agentsview: Path | None, *, is_isolated: bool) -> None:
    names = [f"leslied {__version__}"]
    if agentsview:
        names.append(f"agentsview {PEERS['agentsview'].version}")
    network = "without network" if is_isolated else "with network"
    print(f"{datetime.now(UTC):%Y-%m-%d}, {network}: {' / '.join(names)}\n")
    print(f"| capture | {' | '.join(_TITLES.values())} |")
    print("|---" * (len(_TITLES) + 1) + "|")


def print_row(
    name: str, captures: list[Path], agentsview: Path | None, runs: int
) -> None:
    """Read the captures with each program, and print what they made of them."""
    readings = [min((read_leslied(captures) for _ in range(runs)), key=_get_seconds)]
    if agentsview:
        others = (read_agentsview(agentsview, captures) for _ in range(runs))
        readings.append(min(others, key=_get_seconds))
    cells = [
        " / ".join(format_figure(getattr(reading, field.name)) for reading in readings)
        for field in fields(Reading)
    ]
    print(f"| {name} | {' | '.join(cells)} |", flush=True)


def format_figure(figure: float) -> str:
    """Return seconds with two digits, and a count with separators."""
    return f"{figure:.2f}" if isinstance(figure, float) else f"{figure:,}"


def _get_seconds(reading: Reading) -> float:
    return reading.seconds


def read_leslied(captures: list[Path]) -> Reading:
    """Read the captures with a new store of this checkout's leslied."""
    with tempfile.TemporaryDirectory() as folder:
        home, projects = _copy_captures(captures, Path(folder))
        config = Path(folder, "config.toml")
        config.write_text(_format_projects("roots", projects))
        environ = _make_environ(home) | {
            "LESLIED_CONFIG": str(config),
            "LESLIED_DATA_DIR": str(Path(folder, "data")),
            "PYTHONPATH": str(ROOT),
        }
        command = [sys.executable, "-m", "leslied"]
        code, _, seconds = _run([*command, "sync", "--stop-all"], environ)
        sessions = _read_json([*command, "list", "--all", "--subagents"], environ)
        agents = _read_json([*command, "status"], environ)["agents"]
        return _count_sessions(sessions["sessions"], agents, code, seconds)


def _count_sessions(
    sessions: list[dict[str, Any]],
    agents: list[dict[str, Any]],
    exit_code: int,
    seconds: float,
) -> Reading:
    # The tokens of a session include those of its subagents.
    main = [session for session in sessions if "parent" not in session]
    return Reading(
        sessions=len(main),
        subagents=len(sessions) - len(main),
        tool_calls=sum(session["tool_calls"] for session in sessions),
        output_tokens=sum(session["usage"]["output_tokens"] for session in main),
        failures=sum(agent["rejected"] + agent["unreadable"] for agent in agents),
        exit_code=exit_code,
        seconds=seconds,
    )


def _read_json(command: list[str], environ: dict[str, str]) -> Any:
    return json.loads(_run([*command, "--json"], environ)[1])["data"]


def read_agentsview(program: Path, captures: list[Path]) -> Reading:
    """Read the captures with a new database of agentsview."""
    with tempfile.TemporaryDirectory() as folder:
        home, projects = _copy_captures(captures, Path(folder))
        data = Path(folder, "data")
        data.mkdir()
        Path(data, "config.toml").write_text(_format_projects("dirs", projects))
        environ = _make_environ(home) | dict(PEERS["agentsview"].environ)
        environ["AGENTSVIEW_DATA_DIR"] = str(data)
        code, output, seconds = _run([str(program), "sync"], environ)
        failures = _FAILED.search(output)
        with closing(sqlite3.connect(data / "sessions.db")) as database:
            (counts,) = database.execute(_AGENTSVIEW_COUNTS)
        return Reading(*counts, int(failures[1]) if failures else 0, code, seconds)


def _copy_captures(captures: list[Path], folder: Path) -> tuple[Path, list[Path]]:
    """Copy captures into one home; return it and the projects that are in it."""
    home = folder / "home"
    home.mkdir()
    projects = []
    for capture in captures:
        if (capture / "home").is_dir():
            shutil.copytree(capture / "home", home, dirs_exist_ok=True)
        else:
            projects.append(home / capture.parent.name)
            shutil.copytree(capture / "work", projects[-1])
    return home, projects


def _format_projects(setting: str, projects: list[Path]) -> str:
    """Return settings of the only agent that writes into projects, if there are any."""
    paths = json.dumps([str(path) for path in projects])
    return f"[agents.aider]\n{setting} = {paths}\n" if projects else ""


def _make_environ(home: Path) -> dict[str, str]:
    return {
        "HOME": str(home),
        "PATH": os.defpath,
        "LANG": "C.UTF-8",
        "TZ": "UTC",
    }


def _run(command: list[str], environ: dict[str, str]) -> tuple[int, str, float]:
    """Return exit code, output and seconds of a program, which may fail."""
    start = time.perf_counter()
    process = subprocess.run(
        command,
        env=environ,
        capture_output=True,
        text=True,
        timeout=_MAX_SECONDS,
        check=False,
    )
    seconds = time.perf_counter() - start
    return process.returncode, process.stdout + process.stderr, seconds


if __name__ == "__main__":
    sys.exit(main())
