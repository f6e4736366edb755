"""The daemon beside real agents, which talk to a scripted model.

Runs only where `LESLIED_LIVE` names a folder with the agents installed and the tools
that drive them stand beside this repository:

    LESLIED_LIVE=FOLDER pytest -n 0 -s tests/live
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT.parent / "shared" / "tools" / "agents"
PREFIX = os.environ.get("LESLIED_LIVE", "")
NAMES = {
    "claude": "claude-code",
    "codex": "codex",
    "gemini": "gemini-cli",
    "opencode": "opencode",
    "copilot": "copilot-cli",
    "qwen": "qwen-code",
}
FOLDERS = (".claude", ".codex", ".gemini", ".copilot", ".qwen", ".local/share/opencode")
CALLS = (
    "openat,creat,mkdir,mkdirat,rename,renameat,renameat2,unlink,unlinkat,link,linkat,"
    "symlink,symlinkat,truncate,ftruncate,chmod,fchmodat,utimensat,flock,write,writev,"
    "pwrite64,pwritev,fallocate"
)
RUN = (sys.executable, "-m", "leslied", "run", "--log-json")
SOON = 3.0
QUIET = 2.0
over_agents = pytest.mark.parametrize("client", NAMES)

pytestmark = [
    pytest.mark.skipif(not PREFIX or not TOOLS.exists(), reason="no live agents"),
    pytest.mark.timeout(180),
]


class LiveHarness:
    """A home with a daemon in it; what the daemon opens for writing is written down."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.work = home / "work"
        self.work.mkdir(parents=True)
        self.calls = home.parent / "calls"
        self.environ = {"PATH": os.environ["PATH"], "HOME": str(home)}
        with (home.parent / "log").open("w") as log:
            self.daemon = subprocess.Popen(
                [
                    "strace",
                    "-f",
                    "-y",
                    "-o",
                    str(self.calls),
                    "-e",
                    f"trace={CALLS}",
                    *RUN,
                ],
                cwd=ROOT,
                env=self.environ,
                stderr=log,
            )
        wait_until((home / ".local/share/leslied/store.db").exists, 20)

    def run(self, client: str, scenario: str, **more: Any) -> Any:
        from agents import run_agent  # noqa: PLC0415 - stands beside the repository

        return run_agent(
            client, scenario, prefix=PREFIX, home=self.home, work=self.work, **more
        )

    def sessions(self, client: str) -> list[dict[str, Any]]:
        told = subprocess.run(
            [sys.executable, "-m", "leslied", "list", "--json"],
            cwd=ROOT,
            env=self.environ,
            capture_output=True,
            text=True,
            check=False,
        )
        found = json.loads(told.stdout)["data"]["sessions"]
        return [each for each in found if each["agent"] == NAMES[client]]

    def transcripts(self, folder: str = "transcripts") -> list[Path]:
        return sorted(self.work.glob(f".leslie/threads/*/.meta/{folder}/*.txt"))

    def forbidden(self) -> list[str]:
        """Calls of the daemon that could change anything in an agent's folder."""
        folders = "|".join(re.escape(str(self.home / each)) for each in FOLDERS)
        named = re.compile(rf'["<](?:{folders})(?:/[^">]*)?[">]')
        # SQLite opens an existing log of writes for writing, and then does not write.
        # What a call was asked for stands where it began, not where it went on.
        harmless = re.compile(
            r"openat\([^)]*(?:O_RDONLY|O_PATH)|<\.\.\. openat resumed>"
            r"|opencode\.db-wal\", O_RDWR\|O_CREAT\|O_NOFOLLOW"
        )
        told = self.calls.read_text(errors="replace").splitlines()
        there = [line for line in told if named.search(line)]
        assert there, "the daemon was not seen to read"
        return [line for line in there if not harmless.search(line)]

    def end(self) -> int:
        child = Path(f"/proc/{self.daemon.pid}/task/{self.daemon.pid}/children")
        os.kill(int(child.read_text().split()[0]), signal.SIGTERM)
        return self.daemon.wait(10)


def wait_until(is_true: Callable[[], Any], seconds: float) -> float:
    """Seconds until it was true."""
    began = time.monotonic()
    while not is_true():
        assert time.monotonic() - began < seconds, f"not within {seconds} s"
        time.sleep(0.05)
    return time.monotonic() - began


@pytest.fixture
def live(tmp_path: Path) -> Iterator[LiveHarness]:
    sys.path.insert(0, str(TOOLS))
    live = LiveHarness(tmp_path / "live" / "home")
    yield live
    if live.daemon.poll() is None:
        live.end()


@over_agents
def test_a_turn_with_tools_is_a_transcript_within_three_seconds(
    live: LiveHarness, client: str
):
    result = live.run(client, "tools")
    took = wait_until(live.transcripts, QUIET + SOON)

    (session,) = live.sessions(client)
    print(f"\n{client}: transcript {took:.2f} s after the agent left")
    print(live.transcripts()[0].read_text())
    assert result.exit_code == 0
    assert took <= SOON
    assert session["project"] == str(live.work)
    assert session["model"]
    assert session["title"]
    assert session["tool_calls"] >= 2
    assert session["usage"]["output_tokens"] > 0
    assert session["started_at"] < session["ended_at"]
    assert live.forbidden() == []


@over_agents
def test_a_killed_agent_is_stopped(live: LiveHarness, client: str):
    killed = live.run(client, "slowtool", signal="KILL", after=12)

    assert killed.exit_code == -signal.SIGKILL
    assert wait_until(lambda: live.sessions(client), QUIET + SOON) < SOON
    has_registry = client in ("claude", "codex", "copilot")
    if has_registry:
        took = wait_until(lambda: live.sessions(client)[0]["status"] == "stopped", 35)
        print(f"\n{client}: stopped {took:.2f} s after the kill")
    assert len(live.sessions(client)) == 1
    assert live.forbidden() == []


@over_agents
def test_a_resumed_session_goes_on(live: LiveHarness, client: str):
    live.run(client, "hello")
    wait_until(live.transcripts, QUIET + SOON)
    live.run(client, "again", resume=True)

    wait_until(lambda: len(live.transcripts()) == 2, QUIET + SOON)

    (session,) = live.sessions(client)
    assert session["units"] == 2


@pytest.mark.parametrize(
    ("client", "scenario", "count"),
    [
        ("claude", "sub2", 2),
        ("claude", "nest", 2),
        ("codex", "sub", 1),
        ("opencode", "sub", 1),
    ],
)
def test_subagents_have_files_of_their_own(
    live: LiveHarness, client: str, scenario: str, count: int
):
    live.run(client, scenario)

    took = wait_until(lambda: len(live.transcripts("subagents")) == count, QUIET + SOON)

    print(f"\n{client} {scenario}: {took:.2f} s")
    parent = live.transcripts()[0].read_text()
    print(parent)
    for each in live.transcripts("subagents"):
        print(each.name, each.read_text())
    assert "[Subagent]" in parent
    assert live.forbidden() == []


def test_six_agents_share_one_home(live: LiveHarness):
    for client in NAMES:
        live.run(client, "tools")

    wait_until(lambda: len(live.transcripts()) == len(NAMES), QUIET + SOON)

    assert all(len(live.sessions(client)) == 1 for client in NAMES)
    assert live.forbidden() == []
    assert live.end() == 0


def test_a_plan_is_indexed_with_the_calls_that_made_it(live: LiveHarness):
    from agents import Model  # noqa: PLC0415 - stands beside the repository

    session = str(uuid.uuid4())
    folder = live.work / ".leslie" / "threads" / f"thread-{session[:8]}"
    plan = {"file_path": f"{folder}/plan.md"}
    steps = [
        ("Write", {**plan, "content": "# Build the mill\n\n1. Dam\n2. Wheel\n"}),
        ("Edit", {**plan, "old_string": "Dam", "new_string": "Dam of oak"}),
        ("Edit", {**plan, "old_string": "Wheel", "new_string": "Wheel\n3. Roof"}),
        ("Bash", {"command": f"echo '- [x] Dam' > {folder}/progress.md"}),
    ]
    scenario = [{"blocks": [{"tool": name, "input": told}]} for name, told in steps]
    with Model(scenarios={"mine": [*scenario, {"text": "Planned."}]}) as model:
        live.run("claude", "mine", model=model, extra=["--session-id", session])

    def read() -> list[list[str]]:
        index = folder / ".meta" / "assets.json"
        assets = json.loads(index.read_text())["assets"] if index.exists() else []
        return [[call["tool"] for call in asset["calls"]] for asset in assets[:2]]

    wanted = [["Write", "Edit", "Edit"], ["Bash"]]
    print(f"\nindexed after {wait_until(lambda: read() == wanted, QUIET + SOON):.2f} s")
    assert live.forbidden() == []
