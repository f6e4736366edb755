"""Text that is no Unicode, anywhere in a log, ends no stage of the pipeline."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from leslied.cli.export_command import FORMATS
from tests.support.claude import (
    AFTER_STORE_CREATION,
    SESSION,
    ClaudeHome,
    ClaudeLogBuilder,
)
from tests.support.cli import LesliedRunner

pytestmark = pytest.mark.e2e

HEALTHY = "99999999-2222-4333-8444-555555555555"
THREAD = ".leslie/threads/thread-11111111"
LONE = ("\ud800", "\udfff", "a\udcffb", "\0", "x\udc00\ud800")
"""Surrogates in wrong places, one that stands for an undecodable byte, and NUL."""
FIELDS = (
    "sessionId",
    "cwd",
    "aiTitle",
    "model",
    "name",
    "file_path",
    "uuid",
    "agentId",
)
Line = dict[str, Any]


@pytest.fixture
def project(home: Path) -> Path:
    folder = home / "mill"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


@pytest.fixture
def leslied(home: Path) -> LesliedRunner:
    config = home / ".config" / "leslied" / "config.toml"
    config.parent.mkdir(parents=True)
    formats = json.dumps([name for name in FORMATS if name != "leslie"])
    config.write_text(f"[output]\nformats = {formats}\n")
    command = LesliedRunner(home)
    command("sync")  # Sessions from before the store are not written into projects.
    return command


def make_lines(project: Path, session_id: str = SESSION) -> list[Line]:
    """Build a session with a title, a subagent's call, and a written asset."""
    talk = ClaudeLogBuilder(
        session_id, cwd=str(project), started_at=AFTER_STORE_CREATION
    )
    asset = {"file_path": str(project / THREAD / "plan.md"), "content": "x"}
    return [
        talk.line("ai-title", aiTitle="A title"),
        talk.prompt("one", slug="slug", promptId="p"),
        talk.call("Write", asset, "toolu_1"),
        talk.result("toolu_1", "done", toolUseResult={"filePath": "plan.md"}),
        talk.call("Task", {"prompt": "go", "subagent_type": "t"}, "toolu_2"),
        talk.result("toolu_2", "done", toolUseResult={"agentId": "a1"}),
        talk.answer("two"),
    ]


def replace_texts(value: Any, change: Callable[[str, str], str], key: str = "") -> Any:
    """Change every text of a line but those that say what kind of line it is."""
    if isinstance(value, dict):
        return {name: replace_texts(each, change, name) for name, each in value.items()}
    if isinstance(value, list):
        return [replace_texts(each, change, key) for each in value]
    if isinstance(value, str) and key not in ("type", "role", "timestamp"):
        return change(value, key)
    return value


def check_everything(leslied: LesliedRunner) -> None:
    """Sync twice, then run what reads the store; none of it may fail."""
    for words in (
        ("sync", "--stop-all"),
        ("sync", "--stop-all", "--json"),
        ("list",),
        ("show", "last"),
        ("threads", "list"),
        ("assets", "last"),
        ("search", "two"),
        ("stats",),
        ("status",),
        ("agents",),
        ("export", "last", "--format", "html", "-o", str(leslied.home / "out")),
        ("rebuild",),
        ("sync", "--stop-all"),
    ):
        ran = leslied(*words)
        assert "Traceback" not in ran.err, (words, ran.err)
        assert ran.code == 0, (words, ran.err)
    listed = leslied("list", "--json").json["data"]["sessions"]
    assert HEALTHY in {each["id"] for each in listed}
    thread = leslied.home / "mill" / ".leslie/threads/thread-99999999"
    assert list(thread.rglob("*.txt"))


def write_healthy(claude: ClaudeHome, project: Path) -> None:
    claude.write(*make_lines(project, HEALTHY), name=f"-p/{HEALTHY}.jsonl")


def test_every_text_of_a_log(leslied: LesliedRunner, claude: ClaudeHome, project: Path):
    for number, lone in enumerate(LONE):
        lines = make_lines(project, f"{number}{SESSION[1:]}")
        instead = [replace_texts(line, lambda *_, new=lone: new) for line in lines]
        behind = [
            replace_texts(line, lambda old, _, new=lone: old + new) for line in lines
        ]
        claude.write(*instead, name=f"-p/{number}.jsonl")
        claude.write(*behind, name=f"-p/{number}{SESSION[1:]}.jsonl")
    write_healthy(claude, project)

    check_everything(leslied)


def test_one_text_of_a_log(leslied: LesliedRunner, claude: ClaudeHome, project: Path):
    for number, field in enumerate(FIELDS):
        session_id = f"{number}{SESSION[1:]}"

        def change(text: str, key: str, field: str = field) -> str:
            return text + "\ud800" * (key == field)

        lines = [
            replace_texts(line, change) for line in make_lines(project, session_id)
        ]
        claude.write(*lines, name=f"-p/{session_id}.jsonl")
    write_healthy(claude, project)

    check_everything(leslied)


def test_names_of_files_that_are_no_utf8(
    leslied: LesliedRunner, claude: ClaudeHome, project: Path
):
    """Of logs, of their folders, of a project, and of what a thread holds."""
    odd = os.fsdecode(b"caf\xe9")
    here = project / odd
    here.mkdir()
    for number, name in enumerate((f"{odd}/{odd}.jsonl", f"-p/{odd}.jsonl")):
        claude.write(*make_lines(here, f"{number}{SESSION[1:]}"), name=name)
    claude.write(*make_lines(project), name=f"{odd}/{SESSION}.jsonl")
    claude.write(
        *make_lines(project), name=f"{odd}/{SESSION}/subagents/agent-{odd}.jsonl"
    )
    write_healthy(claude, project)
    asset = project / THREAD / odd / f"{odd}.md"
    asset.parent.mkdir(parents=True)
    asset.write_text("# An asset\n")

    check_everything(leslied)
