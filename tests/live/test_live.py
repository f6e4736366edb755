"""The daemon next to real agents that use a scripted model.

Requires `LESLIED_LIVE`, a folder with installed agents, and the tools that drive them
next to this repository:

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
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT.parent / "shared" / "tools" / "agents"
PREFIX = os.environ.get("LESLIED_LIVE", "")
# By client, the short name that the tools use.
AGENT_NAMES = {
    "claude": "claude-code",
    "codex": "codex",
    "gemini": "gemini-cli",
    "opencode": "opencode",
    "copilot": "copilot-cli",
    "qwen": "qwen-code",
}
AGENT_FOLDERS = (
    ".claude",
    ".codex",
    ".gemini",
    ".copilot",
    ".qwen",
    ".local/share/opencode",
)
TRACED_CALLS = (
    "openat,creat,mkdir,mkdirat,rename,renameat,renameat2,unlink,unlinkat,link,linkat,"
    "symlink,symlinkat,truncate,ftruncate,chmod,fchmodat,utimensat,flock,write,writev,"
    "pwrite64,pwritev,fallocate"
)
DAEMON_COMMAND = (sys.executable, "-m", "leslied", "run", "--log-json")
MAX_DELAY_SECONDS = 3.0
"""Longest accepted time from the exit of an agent to its transcript or session."""
QUIET_SECONDS = 2.0
"""Time between the end of a turn and the moment when its unit is finished."""
for_each_agent = pytest.mark.parametrize("client", AGENT_NAMES)

pytestmark = [
    pytest.mark.skipif(not PREFIX or not TOOLS.exists(), reason="no live agents"),
    pytest.mark.timeout(180),
]


class LiveHarness:
    """Home with a running daemon whose file system calls are traced."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.work = home / "work"
        self.work.mkdir(parents=True)
        self.trace_path = home.parent / "calls"
        self.environ = {"PATH": os.environ["PATH"], "HOME": str(home)}
        with (home.parent / "log").open("w") as log:
            self.daemon = subprocess.Popen(
                [
                    "strace",
                    "-f",
                    "-y",
                    "-o",
                    str(self.trace_path),
                    "-e",
                    f"trace={TRACED_CALLS}",
                    *DAEMON_COMMAND,
                ],
                cwd=ROOT,
                env=self.environ,
                stderr=log,
            )
        wait_until((home / ".local/share/leslied/store.db").exists, 20)

    def run(self, client: str, scenario: str, **options: Any) -> Any:
        from agents import run_agent  # noqa: PLC0415 - outside the repository

        return run_agent(
            client, scenario, prefix=PREFIX, home=self.home, work=self.work, **options
        )

    def sessions(self, client: str) -> list[dict[str, Any]]:
        result = subprocess.run(
            [sys.executable, "-m", "leslied", "list", "--json"],
            cwd=ROOT,
            env=self.environ,
            capture_output=True,
            text=True,
            check=False,
        )
        sessions = json.loads(result.stdout)["data"]["sessions"]
        return [
            session for session in sessions if session["agent"] == AGENT_NAMES[client]
        ]

    def transcripts(self, folder: str = "transcripts") -> list[Path]:
        return sorted(self.work.glob(f".leslie/threads/*/.meta/{folder}/*.txt"))

    def list_forbidden_calls(self) -> list[str]:
        """Return calls of the daemon that could modify an agent's folder."""
        folders = "|".join(
            re.escape(str(self.home / folder)) for folder in AGENT_FOLDERS
        )
        agent_path = re.compile(rf'["<](?:{folders})(?:/[^">]*)?[">]')
        # SQLite opens an existing WAL for writing, and then does not write. The flags
        # of a resumed call are in the line where it began.
        harmless = re.compile(
            r"openat\([^)]*(?:O_RDONLY|O_PATH)|<\.\.\. openat resumed>"
            r"|opencode\.db-wal\", O_RDWR\|O_CREAT\|O_NOFOLLOW"
        )
        calls = self.trace_path.read_text(errors="replace").splitlines()
        agent_calls = [line for line in calls if agent_path.search(line)]
        assert agent_calls, "the trace has no reads of the daemon"
        return [line for line in agent_calls if not harmless.search(line)]

    def end(self) -> int:
        """Send SIGTERM to the daemon, a child of strace; return the exit code."""
        child = Path(f"/proc/{self.daemon.pid}/task/{self.daemon.pid}/children")
        os.kill(int(child.read_text().split()[0]), signal.SIGTERM)
        return self.daemon.wait(10)


def wait_until(condition: Callable[[], Any], seconds: float) -> float:
    """Wait until the condition is true; return the seconds it took."""
    start = time.monotonic()
    while not condition():
        assert time.monotonic() - start < seconds, f"not within {seconds} s"
        time.sleep(0.05)
    return time.monotonic() - start


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[LiveHarness]:
    sys.path.insert(0, str(TOOLS))
    harness = LiveHarness(tmp_path / "live" / "home")
    yield harness
    if harness.daemon.poll() is None:
        harness.end()


@for_each_agent
def test_a_turn_with_tools_has_a_transcript_within_three_seconds(
    harness: LiveHarness, client: str
):
    result = harness.run(client, "tools")
    seconds = wait_until(harness.transcripts, QUIET_SECONDS + MAX_DELAY_SECONDS)

    (session,) = harness.sessions(client)
    print(f"\n{client}: transcript {seconds:.2f} s after the agent exited")
    print(harness.transcripts()[0].read_text())
    assert result.exit_code == 0
    assert seconds <= MAX_DELAY_SECONDS
    assert session["project"] == str(harness.work)
    assert session["model"]
    assert session["title"]
    assert session["tool_calls"] >= 2
    assert session["usage"]["output_tokens"] > 0
    assert session["started_at"] < session["ended_at"]
    assert harness.list_forbidden_calls() == []


@for_each_agent
def test_the_session_of_a_killed_agent_is_stopped(harness: LiveHarness, client: str):
    killed_run = harness.run(client, "slowtool", signal="KILL", after=12)

    assert killed_run.exit_code == -signal.SIGKILL
    listed_after_seconds = wait_until(
        lambda: harness.sessions(client), QUIET_SECONDS + MAX_DELAY_SECONDS
    )
    assert listed_after_seconds < MAX_DELAY_SECONDS
    records_processes = client in ("claude", "codex", "copilot")
    if records_processes:
        seconds = wait_until(
            lambda: harness.sessions(client)[0]["status"] == "stopped", 35
        )
        print(f"\n{client}: stopped {seconds:.2f} s after the kill")
    assert len(harness.sessions(client)) == 1
    assert harness.list_forbidden_calls() == []


@for_each_agent
def test_a_resumed_session_gets_a_second_unit(harness: LiveHarness, client: str):
    harness.run(client, "hello")
    wait_until(harness.transcripts, QUIET_SECONDS + MAX_DELAY_SECONDS)
    harness.run(client, "again", resume=True)

    wait_until(
        lambda: len(harness.transcripts()) == 2, QUIET_SECONDS + MAX_DELAY_SECONDS
    )

    (session,) = harness.sessions(client)
    assert session["units"] == 2


@for_each_agent
def test_a_resume_does_not_rewrite_a_settled_transcript(
    harness: LiveHarness, client: str
):
    harness.run(client, "hello")
    wait_until(harness.transcripts, QUIET_SECONDS + MAX_DELAY_SECONDS)
    (path,) = harness.transcripts()
    before = (path.stat().st_ino, path.read_text())
    harness.run(client, "again", resume=True)

    wait_until(
        lambda: len(harness.transcripts()) == 2, QUIET_SECONDS + MAX_DELAY_SECONDS
    )

    assert (path.stat().st_ino, path.read_text()) == before


@pytest.mark.parametrize(
    ("client", "scenario", "count"),
    [
        ("claude", "sub2", 2),
        ("claude", "nest", 2),
        ("codex", "sub", 1),
        ("opencode", "sub", 1),
    ],
)
def test_subagents_have_their_own_transcripts(
    harness: LiveHarness, client: str, scenario: str, count: int
):
    harness.run(client, scenario)

    # The subagents' files are written before the file that refers to them.
    seconds = wait_until(
        lambda: (
            len(harness.transcripts("subagents")) == count and harness.transcripts()
        ),
        QUIET_SECONDS + MAX_DELAY_SECONDS,
    )

    print(f"\n{client} {scenario}: {seconds:.2f} s")
    parent = harness.transcripts()[0].read_text()
    print(parent)
    for path in harness.transcripts("subagents"):
        print(path.name, path.read_text())
    assert "[Subagent]" in parent
    assert harness.list_forbidden_calls() == []


def test_a_session_is_active_while_a_background_subagent_works(harness: LiveHarness):
    from agents import Model, run_terminal  # noqa: PLC0415 - outside the repository

    task = {"description": "slow job", "prompt": "[[worker]] do it"}
    scenarios = {
        "mine": [
            {"blocks": [{"tool": ["Agent", "Task"], "input": task}]},
            {"text": "Started it."},
            {"text": "It is done."},
        ],
        "worker": [{"text": "Worker result.", "delay": 6}],
    }
    script = ["type: hi [[mine]]", "wait: It is done.", "wait: 3"]
    statuses: list[tuple[bool, str]] = []
    with Model(scenarios=scenarios) as model, ThreadPoolExecutor(1) as pool:
        options = {"prefix": PREFIX, "home": harness.home, "work": harness.work}
        run = pool.submit(run_terminal, script, model=model, **options)
        while not run.done():
            sessions = harness.sessions("claude")
            logs = harness.home.glob(".claude/projects/**/*.jsonl")
            log_text = "".join(log.read_text() for log in logs)
            is_waiting = '"text":"Started it."' in log_text
            is_working = is_waiting and "Worker result." not in log_text
            statuses += [(is_working, session["status"]) for session in sessions]

    print(statuses)
    assert run.result().error is None
    assert {status for is_working, status in statuses if is_working} == {"active"}
    assert (False, "idle") in statuses


def test_six_agents_share_one_home(harness: LiveHarness):
    for client in AGENT_NAMES:
        harness.run(client, "tools")

    wait_until(
        lambda: len(harness.transcripts()) == len(AGENT_NAMES),
        QUIET_SECONDS + MAX_DELAY_SECONDS,
    )

    assert all(len(harness.sessions(client)) == 1 for client in AGENT_NAMES)
    assert harness.list_forbidden_calls() == []
    assert harness.end() == 0


def test_a_plan_is_indexed_with_the_calls_that_wrote_it(harness: LiveHarness):
    from agents import Model  # noqa: PLC0415 - outside the repository

    session = str(uuid.uuid4())
    folder = harness.work / ".leslie" / "threads" / f"thread-{session[:8]}"
    plan = {"file_path": f"{folder}/plan.md"}
    steps = [
        ("Write", {**plan, "content": "# Build the mill\n\n1. Dam\n2. Wheel\n"}),
        ("Edit", {**plan, "old_string": "Dam", "new_string": "Dam of oak"}),
        ("Edit", {**plan, "old_string": "Wheel", "new_string": "Wheel\n3. Roof"}),
        ("Bash", {"command": f"echo '- [x] Dam' > {folder}/progress.md"}),
    ]
    scenario = [
        {"blocks": [{"tool": name, "input": tool_input}]} for name, tool_input in steps
    ]
    with Model(scenarios={"mine": [*scenario, {"text": "Planned."}]}) as model:
        harness.run("claude", "mine", model=model, extra=["--session-id", session])

    def list_tools_by_asset() -> list[list[str]]:
        index = folder / ".meta" / "assets.json"
        assets = json.loads(index.read_text())["assets"] if index.exists() else []
        return [[call["tool"] for call in asset["calls"]] for asset in assets[:2]]

    expected = [["Write", "Edit", "Edit"], ["Bash"]]
    seconds = wait_until(
        lambda: list_tools_by_asset() == expected, QUIET_SECONDS + MAX_DELAY_SECONDS
    )
    print(f"\nindexed after {seconds:.2f} s")
    assert harness.list_forbidden_calls() == []
