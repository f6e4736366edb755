"""Hooks in a real Claude Code, which talks to a scripted model that keeps its requests.

Runs where `tests/live/test_live.py` runs; `LESLIED_TOOLS` may name the folder of the
tools that drive agents.

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
from pathlib import Path
from typing import Any

import pytest

from leslied.hooks.settings import PROGRAM
from tests.support.cli import CommandResult, LesliedRunner

ROOT = Path(__file__).resolve().parents[2]
BESIDE = ROOT.parent / "shared" / "tools" / "agents"
TOOLS = Path(os.environ.get("LESLIED_TOOLS", BESIDE))
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
    """A home with the hooks in it, and a model that writes down what it is asked."""

    def __init__(self, home: Path, model: Any, dump: Path) -> None:
        self.home = home
        self.work = home / "work"
        self.work.mkdir(parents=True)
        self.data = home / ".local/share/leslied"
        self.settings = home / ".claude/settings.json"
        self.model = model
        self.dump = dump

    def leslied(self, *words: str) -> CommandResult:
        return LesliedRunner(self.home)(*words)

    def agent_options(self) -> dict[str, Any]:
        return {"prefix": PREFIX, "home": self.home, "work": self.work}

    def run(self, scenario: str, **more: Any) -> Any:
        from agents import run_agent  # noqa: PLC0415 - stands beside the repository

        return run_agent(
            "claude", scenario, model=self.model, **self.agent_options(), **more
        )

    def type(self, *script: str) -> Any:
        from agents import run_terminal  # noqa: PLC0415

        return run_terminal(script, model=self.model, **self.agent_options())

    def main_requests(self) -> list[str]:
        """Every request of the main talk so far: its messages, as text."""
        told = [json.loads(line) for line in self.dump.read_text().splitlines()]
        bodies = [each["body"] for each in told if each["path"].endswith("/messages")]
        return [json.dumps(b["messages"]) for b in bodies if b.get("tools")]

    def log(self) -> Path:
        logs = self.home.glob(".claude/projects/*/*.jsonl")
        return max(logs, key=lambda path: path.stat().st_mtime_ns)

    def thread(self) -> str:
        return f"thread-{self.log().stem[:8]}"

    def messages(self) -> list[tuple[str, str]]:
        told = self.leslied("inbox", "--json").json["data"]["messages"]
        return [(each["id"], each["state"]) for each in told]


def wait_until(is_true: Callable[[], Any], seconds: float) -> float:
    began = time.monotonic()
    while not is_true():
        assert time.monotonic() - began < seconds, f"not within {seconds} s"
        time.sleep(0.02)
    return time.monotonic() - began


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[HookHarness]:
    sys.path.insert(0, str(TOOLS))
    from agents import Model  # noqa: PLC0415

    with Model(scenarios=SCENARIOS, dump=tmp_path / "asked.jsonl") as model:
        stage = HookHarness(
            tmp_path / "stage" / "home", model, tmp_path / "asked.jsonl"
        )
        assert stage.leslied("hooks", "install").code == 0
        yield stage


def count_contexts(request: str, thread: str) -> int:
    return request.count(f'<thread_context thread=\\"{thread}\\"')


def test_the_first_request_carries_the_context(stage: HookHarness):
    result = stage.run("hello")

    print(stage.main_requests()[0][-1500:])
    assert result.exit_code == 0
    assert count_contexts(stage.main_requests()[0], stage.thread()) == 1
    assert stage.leslied("hooks", "uninstall").code == 0
    assert not stage.settings.exists()


def test_a_changed_context_is_told_with_the_next_prompt_and_an_old_one_is_not(
    stage: HookHarness,
):
    result = stage.type(
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

    requests = stage.main_requests()
    (again,) = [each for each in requests if each.count("[[") == 2]
    assert not result.error, result.error
    assert count_contexts(again, stage.thread()) == 1
    assert count_contexts(requests[-1], stage.thread()) == 2
    assert f"{stage.thread()}/plan.md" in requests[-1]


def test_after_a_compaction_the_context_is_there_again(stage: HookHarness):
    result = stage.type(
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

    last = stage.main_requests()[-1]
    _, _, after = stage.log().read_text().partition("compact_boundary")
    assert not result.error, result.error
    assert "[[again]]" in last
    assert "[[hello]]" not in last
    assert count_contexts(last, stage.thread()) == 1
    assert "<thread_context" in after


def test_a_message_arrives_exactly_once(stage: HookHarness):
    stage.run("hello")
    stage.leslied("sync")
    sent = stage.leslied("inject", "last", "Mind the gap.", "--json").json["data"]
    before = len(stage.main_requests())

    stage.run("again", resume=True)
    states = stage.messages()
    stage.run("third", resume=True)

    requests = stage.main_requests()
    assert all(sent["id"] not in each for each in requests[:before])
    assert requests[before].count(sent["id"]) == 1
    assert requests[-1].count(sent["id"]) == 1
    assert "Mind the gap." in requests[before]
    assert states == [(sent["id"], "delivered")]


@pytest.mark.parametrize("delay", [0.0, 0.05, 0.3])
def test_a_message_to_an_agent_that_dies_arrives_all_the_same(
    stage: HookHarness, delay: float
):
    from agents import start_agent  # noqa: PLC0415

    stage.run("hello")
    stage.leslied("sync")
    sent = stage.leslied("inject", "last", "Mind the gap.", "--json").json["data"]

    agent = start_agent(
        "claude", "slow", model=stage.model, resume=True, **stage.agent_options()
    )
    with agent:
        folder = stage.data / "inbox" / stage.thread()
        wait_until(lambda: list(folder.glob("*.claimed.*")), 30)
        time.sleep(delay)
        agent.send("KILL")
        agent.wait()
    is_in_log = sent["id"] in stage.log().read_text()
    time.sleep(5.1)
    stage.run("again", resume=True)

    print(f"\nkilled after {delay} s; in the log by then: {is_in_log}")
    assert stage.main_requests()[-1].count(sent["id"]) == 1
    assert stage.messages() == [(sent["id"], "delivered")]


IDS = re.compile(r"toolu_\w+|msg_\w+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def normalized_output(result: Any) -> list[str]:
    """What the agent printed, without ids, times and counts."""
    told = []
    for line in map(json.loads, Path(result.stdout).read_text().splitlines()):
        content = (line.get("message") or {}).get("content")
        parts = [line["type"], line.get("subtype"), content, line.get("result")]
        told.append(IDS.sub("ID", json.dumps(parts)))
    return told


def break_program(stage: HookHarness) -> None:
    text = stage.settings.read_text()
    stage.settings.write_text(text.replace(str(PROGRAM), f"/gone{PROGRAM}"))


def break_python(stage: HookHarness) -> None:
    text = stage.settings.read_text()
    stage.settings.write_text(text.replace(sys.executable, "/gone/python"))


def break_data(stage: HookHarness) -> None:
    shutil.rmtree(stage.data)
    stage.data.write_text("no folder")


def fill_disk(stage: HookHarness) -> None:
    shutil.rmtree(stage.data)
    stage.data.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(stage.data)], check=False
    )
    if made.returncode:
        pytest.skip("no mount here")
    with pytest.raises(OSError, match="space"):
        (stage.data / "all").write_bytes(b"x" * 1_000_000)


def leave_garbage(stage: HookHarness) -> None:
    for name in ("spool", "given"):
        folder = stage.data / "hooks" / name
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(1200):
            (folder / f"{number}.json").write_bytes(b"\xff{garbage")
    (stage.data / "inbox").write_bytes(b"\0")


@pytest.mark.parametrize(
    "spoil",
    [break_program, break_python, break_data, fill_disk, leave_garbage],
    ids=lambda each: each.__name__,
)
def test_an_agent_does_not_notice_that_leslied_is_broken(
    stage: HookHarness, spoil: Callable[[HookHarness], None]
):
    whole = stage.run("calm")
    spoil(stage)
    try:
        broken = stage.run("calm")
    finally:
        subprocess.run(["umount", str(stage.data)], check=False, capture_output=True)
    stage.settings.unlink()
    without = stage.run("calm")

    print("\n".join(normalized_output(broken)))
    assert (broken.exit_code, without.exit_code) == (0, 0)
    assert Path(broken.stderr).read_text() == Path(without.stderr).read_text()
    assert normalized_output(broken) == normalized_output(whole)
    assert [
        each for each in normalized_output(broken) if "hook_" not in each
    ] == normalized_output(without)


def test_the_daemon_hears_at_once_that_a_session_ended(stage: HookHarness):
    with (stage.home / "log").open("w") as log:
        daemon = LesliedRunner(stage.home).start("run", "--log-json", stderr=log)
    try:
        wait_until((stage.data / "store.db").exists, 20)
        stage.run("hello")
        list_all = lambda: stage.leslied("list", "--json").json["data"]["sessions"]  # noqa: E731
        took = wait_until(
            lambda: list_all() and list_all()[0]["status"] == "stopped", 10
        )
        print(f"\nstopped {took:.2f} s after the agent left")
        assert not list((stage.data / "hooks/spool").iterdir())
    finally:
        daemon.terminate()
        daemon.wait(10)
    told = (stage.home / "log").read_text()
    assert '"event": "hooks.heard"' in told
    print(told)
