"""Invalid Unicode anywhere in a log must not fail any stage of the pipeline."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from leslied.cli.commands.export import FORMATS
from tests.support.claude import (
    AFTER_STORE_CREATION,
    SESSION,
    ClaudeHome,
    ClaudeLogBuilder,
)
from tests.support.cli import LesliedRunner

pytestmark = [pytest.mark.e2e, pytest.mark.heavy]

HEALTHY_SESSION = "99999999-2222-4333-8444-555555555555"
THREAD_FOLDER = ".leslie/threads/thread-11111111"
INVALID_TEXTS = ("\ud800", "\udfff", "a\udcffb", "\0", "x\udc00\ud800")
"""Lone surrogates, one that represents an undecodable byte, and NUL."""
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
    """Configure all export formats and create the store."""
    config = home / ".config" / "leslied" / "config.toml"
    config.parent.mkdir(parents=True)
    formats = json.dumps([name for name in FORMATS if name != "leslie"])
    config.write_text(f"[output]\nformats = {formats}\n")
    command = LesliedRunner(home)
    command("sync")  # Sessions older than the store get no files.
    return command


def make_lines(project: Path, session_id: str = SESSION) -> list[Line]:
    """Build a session with a title, a call of a subagent, and a written asset."""
    builder = ClaudeLogBuilder(
        session_id, cwd=str(project), started_at=AFTER_STORE_CREATION
    )
    asset = {"file_path": str(project / THREAD_FOLDER / "plan.md"), "content": "x"}
    return [
        builder.line("ai-title", aiTitle="A title"),
        builder.prompt("one", slug="slug", promptId="p"),
        builder.call("Write", asset, "toolu_1"),
        builder.result("toolu_1", "done", toolUseResult={"filePath": "plan.md"}),
        builder.call("Task", {"prompt": "go", "subagent_type": "t"}, "toolu_2"),
        builder.result("toolu_2", "done", toolUseResult={"agentId": "a1"}),
        builder.answer("two"),
    ]


def replace_texts(value: Any, change: Callable[[str, str], str], key: str = "") -> Any:
    """Return the value with every text except types, roles and timestamps changed.

    `change` gets a text and the key of the field that contains it.
    """
    if isinstance(value, dict):
        return {name: replace_texts(item, change, name) for name, item in value.items()}
    if isinstance(value, list):
        return [replace_texts(item, change, key) for item in value]
    if isinstance(value, str) and key not in ("type", "role", "timestamp"):
        return change(value, key)
    return value


def check_all_commands(leslied: LesliedRunner) -> None:
    """Sync twice, then run commands that read the store; all must succeed."""
    for args in (
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
        result = leslied(*args)
        assert "Traceback" not in result.err, (args, result.err)
        assert result.code == 0, (args, result.err)
    sessions = leslied("list", "--json").json["data"]["sessions"]
    assert HEALTHY_SESSION in {session["id"] for session in sessions}
    thread = leslied.home / "mill" / ".leslie/threads/thread-99999999"
    assert list(thread.rglob("*.txt"))


def write_healthy_session(claude: ClaudeHome, project: Path) -> None:
    claude.write(
        *make_lines(project, HEALTHY_SESSION), name=f"-p/{HEALTHY_SESSION}.jsonl"
    )


def test_every_text_of_a_log_may_be_invalid(
    leslied: LesliedRunner, claude: ClaudeHome, project: Path
):
    for number, invalid in enumerate(INVALID_TEXTS):
        lines = make_lines(project, f"{number}{SESSION[1:]}")

        def replace(_text: str, _key: str, invalid: str = invalid) -> str:
            return invalid

        def append(text: str, _key: str, invalid: str = invalid) -> str:
            return text + invalid

        claude.write(
            *(replace_texts(line, replace) for line in lines),
            name=f"-p/{number}.jsonl",
        )
        claude.write(
            *(replace_texts(line, append) for line in lines),
            name=f"-p/{number}{SESSION[1:]}.jsonl",
        )
    write_healthy_session(claude, project)

    check_all_commands(leslied)


def test_any_single_field_of_a_log_may_be_invalid(
    leslied: LesliedRunner, claude: ClaudeHome, project: Path
):
    for number, field in enumerate(FIELDS):
        session_id = f"{number}{SESSION[1:]}"

        def change(text: str, key: str, field: str = field) -> str:
            return text + "\ud800" if key == field else text

        lines = [
            replace_texts(line, change) for line in make_lines(project, session_id)
        ]
        claude.write(*lines, name=f"-p/{session_id}.jsonl")
    write_healthy_session(claude, project)

    check_all_commands(leslied)


def test_file_names_may_be_invalid_utf8(
    leslied: LesliedRunner, claude: ClaudeHome, project: Path
):
    """Use an invalid name for logs, their directories, a project and assets."""
    invalid_name = os.fsdecode(b"ma\xf1ana")
    folder = project / invalid_name
    folder.mkdir()
    log_names = (f"{invalid_name}/{invalid_name}.jsonl", f"-p/{invalid_name}.jsonl")
    for number, log_name in enumerate(log_names):
        claude.write(*make_lines(folder, f"{number}{SESSION[1:]}"), name=log_name)
    claude.write(*make_lines(project), name=f"{invalid_name}/{SESSION}.jsonl")
    claude.write(
        *make_lines(project),
        name=f"{invalid_name}/{SESSION}/subagents/agent-{invalid_name}.jsonl",
    )
    write_healthy_session(claude, project)
    asset = project / THREAD_FOLDER / invalid_name / f"{invalid_name}.md"
    asset.parent.mkdir(parents=True)
    asset.write_text("# An asset\n")

    check_all_commands(leslied)
