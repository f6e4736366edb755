"""Hooks in a real Claude Code, with a scripted model that records requests.

Requires the same set-up as `tests/live/test_live.py`; `LESLIED_TOOLS` may name the
folder of the tools that drive agents.

    LESLIED_LIVE=FOLDER pytest -n 0 -s tests/live/test_hooks_live.py
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from leslied.hooks.settings import PROGRAM
from tests.support.cli import CommandResult, LesliedRunner

ROOT = Path(__file__).resolve().parents[2]
DEFAULT_TOOLS = ROOT.parent / "shared" / "tools" / "agents"
TOOLS = Path(os.environ.get("LESLIED_TOOLS", DEFAULT_TOOLS))
PREFIX = os.environ.get("LESLIED_LIVE", "")
SCENARIOS = {
    "calm": [
        {"blocks": [{"tool": "Bash", "input": {"command": "echo one; echo two >&2"}}]},
        {"text": "One and two."},
    ],
    "plan": [
        {
            "tool": "Bash",
            "input": {
                "command": "mkdir -p .leslie/threads/{{re:thread=.(thread-[0-9a-f]+)}}"
                " && touch .leslie/threads/{{re:thread=.(thread-[0-9a-f]+)}}/plan.md"
            },
        },
        {"text": "Planned."},
    ],
}

pytestmark = [
    pytest.mark.skipif(not PREFIX or not TOOLS.exists(), reason="no live agents"),
    pytest.mark.timeout(240),
]


class HookHarness:
    """Home with installed hooks, and a model that records its requests."""

    def __init__(self, home: Path, model: Any, dump: Path) -> None:
        self.home = home
        self.work = home / "work"
        self.work.mkdir(parents=True)
        self.data = home / ".local/share/leslied"
        self.settings = home / ".claude/settings.json"
        self.model = model
        self.dump = dump

    def leslied(self, *args: str) -> CommandResult:
        return LesliedRunner(self.home)(*args)

    def agent_options(self) -> dict[str, Any]:
        return {"prefix": PREFIX, "home": self.home, "work": self.work}

    def run(self, scenario: str, **options: Any) -> Any:
        from agents import run_agent  # noqa: PLC0415 - outside the repository

        return run_agent(
            "claude", scenario, model=self.model, **self.agent_options(), **options
        )

    def type(self, *script: str) -> Any:
        """Run the agent in a terminal, with the steps of this script."""
        from agents import run_terminal  # noqa: PLC0415

        return run_terminal(script, model=self.model, **self.agent_options())

    def main_requests(self) -> list[str]:
        """Return the messages of each request of the main session, as text."""
        requests = [json.loads(line) for line in self.dump.read_text().splitlines()]
        bodies = [
            request["body"]
            for request in requests
            if request["path"].endswith("/messages")
        ]
        return [json.dumps(b["messages"]) for b in bodies if b.get("tools")]

    def log(self) -> Path:
        """Return the log that was written last."""
        logs = self.home.glob(".claude/projects/*/*.jsonl")
        return max(logs, key=lambda path: path.stat().st_mtime_ns)

    def thread(self) -> str:
        return f"thread-{self.log().stem[:8]}"

    def has_stopped_session(self) -> bool:
        """Return whether the first session in the list is stopped."""
        sessions = self.leslied("list", "--json").json["data"]["sessions"]
        return bool(sessions) and sessions[0]["status"] == "stopped"

    def messages(self) -> list[tuple[str, str]]:
        """Return (id, state) of every message in the inbox."""
        messages = self.leslied("inbox", "--json").json["data"]["messages"]
        return [(message["id"], message["state"]) for message in messages]


def wait_until(condition: Callable[[], Any], seconds: float) -> float:
    """Wait until the condition is true; return the seconds it took."""
    start = time.monotonic()
    while not condition():
        assert time.monotonic() - start < seconds, f"not within {seconds} s"
        time.sleep(0.02)
    return time.monotonic() - start


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[HookHarness]:
    sys.path.insert(0, str(TOOLS))
    from agents import Model  # noqa: PLC0415

    with Model(scenarios=SCENARIOS, dump=tmp_path / "requests.jsonl") as model:
        harness = HookHarness(
            tmp_path / "live" / "home", model, tmp_path / "requests.jsonl"
        )
        assert harness.leslied("hooks", "install").code == 0
        yield harness


def count_contexts(request: str, thread: str) -> int:
    return request.count(f'<thread_context thread=\\"{thread}\\"')


def test_the_first_request_contains_the_context(harness: HookHarness):
    result = harness.run("hello")

    print(harness.main_requests()[0][-1500:])
    assert result.exit_code == 0
    assert count_contexts(harness.main_requests()[0], harness.thread()) == 1
    assert harness.leslied("hooks", "uninstall").code == 0
    assert not harness.settings.exists()


def test_only_a_changed_context_is_injected_with_the_next_prompt(
    harness: HookHarness,
):
    result = harness.type(
        "type: hello [[hello]]",
        "wait: Hello from",
        "status: idle",
        "type: again [[again]]",
        "wait: 2",
        "status: idle",
        "type: write it [[plan]]",
        "wait: Planned.",
        "status: idle",
        "type: third [[third]]",
        "wait: 2",
        "status: idle",
        "type: /exit",
        "exit:",
    )

    requests = harness.main_requests()
    (second_request,) = [request for request in requests if request.count("[[") == 2]
    assert not result.error, result.error
    assert count_contexts(second_request, harness.thread()) == 1
    assert count_contexts(requests[-1], harness.thread()) == 2
    assert f"{harness.thread()}/plan.md" in requests[-1]


def test_the_context_is_injected_again_after_a_compaction(harness: HookHarness):
    result = harness.type(
        "type: hello [[hello]]",
        "wait: Hello from",
        "status: idle",
        "type: /compact",
        "wait: Compacted",
        "status: idle",
        "type: again [[again]]",
        "wait: 2",
        "status: idle",
        "type: /exit",
        "exit:",
    )

    last_request = harness.main_requests()[-1]
    _, _, log_after_compaction = harness.log().read_text().partition("compact_boundary")
    assert not result.error, result.error
    assert "[[again]]" in last_request
    assert "[[hello]]" not in last_request
    assert count_contexts(last_request, harness.thread()) == 1
    assert "<thread_context" in log_after_compaction


def test_a_message_arrives_exactly_once(harness: HookHarness):
    harness.run("hello")
    harness.leslied("sync")
    sent = harness.leslied("inject", "last", "Mind the gap.", "--json").json["data"]
    earlier_count = len(harness.main_requests())

    harness.run("again", resume=True)
    states = harness.messages()
    harness.run("third", resume=True)

    requests = harness.main_requests()
    assert all(sent["id"] not in request for request in requests[:earlier_count])
    assert requests[earlier_count].count(sent["id"]) == 1
    assert requests[-1].count(sent["id"]) == 1
    assert "Mind the gap." in requests[earlier_count]
    assert states == [(sent["id"], "delivered")]


@pytest.mark.parametrize("delay", [0.0, 0.05, 0.3])
def test_a_message_to_a_killed_agent_is_delivered_on_resume(
    harness: HookHarness, delay: float
):
    from agents import start_agent  # noqa: PLC0415

    harness.run("hello")
    harness.leslied("sync")
    sent = harness.leslied("inject", "last", "Mind the gap.", "--json").json["data"]

    agent = start_agent(
        "claude", "slow", model=harness.model, resume=True, **harness.agent_options()
    )
    with agent:
        folder = harness.data / "inbox" / harness.thread()
        wait_until(lambda: list(folder.glob("*.claimed.*")), 30)
        time.sleep(delay)
        agent.send("KILL")
        agent.wait()
    is_in_log = sent["id"] in harness.log().read_text()
    # A claimed message is queued again after five seconds.
    time.sleep(5.1)
    harness.run("again", resume=True)

    print(f"\nkilled after {delay} s; in the log by then: {is_in_log}")
    assert harness.main_requests()[-1].count(sent["id"]) == 1
    assert harness.messages() == [(sent["id"], "delivered")]


IDS = re.compile(r"toolu_\w+|msg_\w+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def normalize_output(result: Any) -> list[str]:
    """Return what the agent printed, without ids, times and counts."""
    lines = []
    for line in map(json.loads, Path(result.stdout).read_text().splitlines()):
        content = (line.get("message") or {}).get("content")
        parts = [line["type"], line.get("subtype"), content, line.get("result")]
        lines.append(IDS.sub("ID", json.dumps(parts)))
    return lines


def break_program(harness: HookHarness) -> None:
    """Let the settings name a hook program that does not exist."""
    text = harness.settings.read_text()
    harness.settings.write_text(text.replace(str(PROGRAM), f"/gone{PROGRAM}"))


def break_python(harness: HookHarness) -> None:
    """Let the settings name a Python that does not exist."""
    text = harness.settings.read_text()
    harness.settings.write_text(text.replace(sys.executable, "/gone/python"))


def break_data(harness: HookHarness) -> None:
    """Replace the data folder by a file."""
    shutil.rmtree(harness.data)
    harness.data.write_text("no folder")


def fill_disk(harness: HookHarness) -> None:
    """Mount a file system without free space on the data folder."""
    shutil.rmtree(harness.data)
    harness.data.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(harness.data)],
        check=False,
    )
    if mounted.returncode:
        pytest.skip("mount is not permitted")
    with pytest.raises(OSError, match="space"):
        (harness.data / "all").write_bytes(b"x" * 1_000_000)


def leave_garbage(harness: HookHarness) -> None:
    """Fill the hooks' folders with invalid files."""
    for name in ("spool", "given"):
        folder = harness.data / "hooks" / name
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(1200):
            (folder / f"{number}.json").write_bytes(b"\xff{garbage")
    (harness.data / "inbox").write_bytes(b"\0")


@pytest.mark.parametrize(
    "damage",
    [break_program, break_python, break_data, fill_disk, leave_garbage],
    ids=lambda function: function.__name__,
)
def test_a_broken_leslied_does_not_affect_the_agent(
    harness: HookHarness, damage: Callable[[HookHarness], None]
):
    intact_run = harness.run("calm")
    damage(harness)
    try:
        damaged_run = harness.run("calm")
    finally:
        subprocess.run(["umount", str(harness.data)], check=False, capture_output=True)
    harness.settings.unlink()
    run_without_hooks = harness.run("calm")

    output = normalize_output(damaged_run)
    stderr = Path(damaged_run.stderr).read_text()
    print("\n".join(output))
    assert (damaged_run.exit_code, run_without_hooks.exit_code) == (0, 0)
    assert stderr == Path(run_without_hooks.stderr).read_text()
    assert output == normalize_output(intact_run)
    output_without_hooks = [line for line in output if "hook_" not in line]
    assert output_without_hooks == normalize_output(run_without_hooks)


def test_the_transcript_is_written_while_the_terminal_stays_open(
    harness: HookHarness,
):
    daemon = LesliedRunner(harness.home).start("run", stderr=subprocess.DEVNULL)
    try:
        wait_until((harness.data / "store.db").exists, 20)
        harness.type("type: hello [[hello]]", "wait: Hello from", "wait: 5", "close:")
    finally:
        daemon.terminate()
        daemon.wait(10)
    lines = [json.loads(line) for line in harness.log().read_text().splitlines()]
    (end,) = [line for line in lines if line.get("subtype") == "turn_duration"]
    (transcript,) = harness.work.glob(".leslie/threads/*/.meta/transcripts/*.txt")

    ended_at = datetime.fromisoformat(end["timestamp"]).timestamp()
    seconds = transcript.stat().st_mtime - ended_at
    print(f"\nwritten {seconds:.2f} s after the end of the turn")
    assert 0 < seconds < 1


def test_the_daemon_processes_the_end_of_a_session_within_seconds(harness: HookHarness):
    with (harness.home / "log").open("w") as log:
        daemon = LesliedRunner(harness.home).start("run", "--log-json", stderr=log)
    try:
        wait_until((harness.data / "store.db").exists, 20)
        harness.run("hello")
        seconds = wait_until(harness.has_stopped_session, 10)
        print(f"\nstopped {seconds:.2f} s after the agent exited")
        assert not list((harness.data / "hooks/spool").iterdir())
    finally:
        daemon.terminate()
        daemon.wait(10)
    log_text = (harness.home / "log").read_text()
    assert '"event": "hooks.events"' in log_text
    print(log_text)


def test_another_config_dir_is_read_by_a_running_daemon(harness: HookHarness):
    elsewhere = str(harness.home / "elsewhere")
    runner = LesliedRunner(harness.home)
    assert runner("hooks", "install", CLAUDE_CONFIG_DIR=elsewhere).code == 0
    with (harness.home / "log").open("w") as log:
        daemon = runner.start("run", "--log-json", stderr=log)
    try:
        wait_until((harness.data / "store.db").exists, 20)
        harness.run("hello", env={"CLAUDE_CONFIG_DIR": elsewhere})
        seconds = wait_until(harness.has_stopped_session, 10)
        print(f"\nread {seconds:.2f} s after the agent exited")
    finally:
        daemon.terminate()
        daemon.wait(10)
    assert f"{elsewhere}\n" in (harness.data / "learned-roots.txt").read_text()
