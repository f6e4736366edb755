"""Imported sessions are listed like others, and a rebuild keeps them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import LesliedRunner
from tests.support.golden import FIXTURES

pytestmark = pytest.mark.e2e

CASES = {
    "acp": "acp/stream",
    "atif": "atif/foreign",
    "chatgpt": "chatgpt/conversation",
    "chibi": "chibi/contexts",
    "claude-ai": "claude_ai/conversation",
    "devflow": "devflow/runs",
    "gemini-app": "gemini_app/ai-studio",
    "leslie": "leslie/transcripts",
    "litellm": "litellm/requests",
    "weakincentives": "weakincentives/slice",
}


@pytest.fixture
def leslied(home: Path) -> LesliedRunner:
    return LesliedRunner(home)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Return a folder with a file of every format."""
    folder = tmp_path / "files"
    for case in CASES.values():
        shutil.copytree(FIXTURES / case / "home", folder / case)
    return folder


def list_sessions(leslied: LesliedRunner) -> list[dict[str, Any]]:
    sessions = leslied("list", "--json").json["data"]["sessions"]
    names = ("id", "agent", "title", "units", "tool_calls", "usage")
    return sorted(
        ({name: session[name] for name in names} for session in sessions),
        key=lambda session: (session["agent"], session["id"]),
    )


def test_every_format_is_recognized_and_kept_by_a_rebuild(
    leslied: LesliedRunner, files: Path, home: Path
):
    result = leslied("import", "--json", str(files)).json["data"]
    sessions = list_sessions(leslied)

    assert sorted(result["sources"]) == sorted(CASES)
    assert {session["agent"] for session in sessions} == set(CASES)
    assert result["rejected"] == 0

    again = leslied("import", "--json", str(files)).json["data"]
    assert (again["sources_changed"], again["records_added"]) == (0, 0)

    leslied("sync", "--stop-all")
    shutil.rmtree(home / ".local/share/leslied/imports")
    leslied("rebuild")
    assert list_sessions(leslied) == sessions


def test_a_later_export_adds_what_is_new(leslied: LesliedRunner, tmp_path: Path):
    def write(*texts: str) -> str:
        messages = [
            {"uuid": text, "sender": sender, "text": text}
            for text, sender in zip(texts, ("human", "assistant") * 2, strict=False)
        ]
        path = tmp_path / "conversations.json"
        conversation = {"uuid": "c-1", "name": "Talk", "chat_messages": messages}
        path.write_text(json.dumps([conversation]))
        return str(path)

    leslied("import", write("Hi", "Hello."))
    leslied("import", write("Hi", "Hello.", "And you?", "Fine."))
    leslied("import", write("And you?", "Fine."))

    (session,) = leslied("list", "--json").json["data"]["sessions"]
    assert (session["units"], session["title"]) == (2, "Talk")
