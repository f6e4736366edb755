"""What is forgotten is erased from copies of imported files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from leslied.agents import load_adapters
from leslied.literal_text import LiteralText
from leslied.model.source import Root
from leslied.pipeline.maintenance.imported_copies import ImportedCopies

TEXT = "zanzibar"


class CopiesHarness:
    """A folder with copies of one agent."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, agent: str, name: str, *lines: Any) -> Path:
        path = self.folder / agent / name
        path.parent.mkdir(parents=True, exist_ok=True)
        texts = [x if isinstance(x, str) else json.dumps(x) for x in lines]
        path.write_text("\n".join(texts) + "\n")
        os.utime(path, (1, 1))
        return path

    def erase(self, agent: str, *, session: str = "", logs: str = "") -> list[str]:
        """Erase a session, or else the text; return warnings."""
        adapter: Any = load_adapters()[agent]
        root = Root(path=self.folder / agent, patterns=adapter.patterns)
        copies = ImportedCopies(
            folder=self.folder,
            agents={agent: (adapter, (root,))},
            sessions=frozenset({(agent, session)} if session else ()),
            text=None if session else LiteralText(TEXT),
            logs=frozenset([logs]),
        )
        copies.erase()
        return copies.warnings


@pytest.fixture
def copies(tmp_path: Path) -> CopiesHarness:
    return CopiesHarness(tmp_path)


def make_line(session_id: str, prompt: str) -> dict[str, Any]:
    messages = [{"role": "user", "content": prompt}]
    return {"session_id": session_id, "messages": messages}


def make_chunk(session_id: str, text: str) -> dict[str, Any]:
    content = {"type": "text", "text": text}
    update = {"sessionUpdate": "agent_message_chunk", "content": content}
    params = {"sessionId": session_id, "update": update}
    return {"jsonrpc": "2.0", "method": "session/update", "params": params}


def test_lines_are_replaced_by_spaces_and_the_time_stays(copies: CopiesHarness):
    lines = [make_line("a", "one"), make_line("b", TEXT), make_line("a", "two")]
    path = copies.write("litellm", "x.jsonl", *lines)

    warnings = copies.erase("litellm", session="b")

    first, second, third, _ = path.read_text().split("\n")
    assert (json.loads(first), json.loads(third)) == (lines[0], lines[2])
    assert second == " " * len(json.dumps(lines[1]))
    assert (path.stat().st_mtime, warnings) == (1, [])


def test_a_line_that_may_belong_to_the_session_is_erased(copies: CopiesHarness):
    path = copies.write("litellm", "x.jsonl", make_line("a", "one"), f"{{{TEXT}")
    with path.open("a") as file:
        file.write(json.dumps(make_line("b", "two")))

    copies.erase("litellm", session="b")

    assert path.read_text().split() == json.dumps(make_line("a", "one")).split()


def test_a_copy_with_only_the_session_is_deleted_with_its_folder(
    copies: CopiesHarness,
):
    copies.write("litellm", "folder/x.jsonl", make_line("b", "one"))

    copies.erase("litellm", session="b")

    assert not (copies.folder / "litellm").exists()


def test_other_copies_stay_as_they_are(copies: CopiesHarness):
    path = copies.write("litellm", "x.jsonl", make_line("a", "one"), "{damaged")
    before = path.stat().st_ino

    assert copies.erase("litellm", session="b") == []
    assert copies.erase("litellm") == []
    assert path.stat().st_ino == before


def test_only_the_strings_with_the_text_are_emptied(copies: CopiesHarness):
    turns = [{"role": "user", "content": t} for t in ("Hello", f"in {TEXT}", "Bye")]
    run = {"runId": "r", "turns": turns}
    path = copies.write("devflow", "runs/r/transcript.json", run)

    copies.erase("devflow")

    texts = [turn["content"] for turn in json.loads(path.read_text())["turns"]]
    assert texts == ["Hello", "", "Bye"]


def test_a_document_with_a_text_in_several_parts_is_deleted(copies: CopiesHarness):
    lines = [make_chunk("b", "Hi"), make_chunk("a", "zan"), make_chunk("a", "zibar")]
    path = copies.write("acp", "x.jsonl", *lines)

    (warning,) = copies.erase("acp", logs=str(path))

    assert "deleted as a whole" in warning
    assert not path.exists()


def test_a_document_whose_ids_would_change_is_deleted(copies: CopiesHarness):
    # The ids of a stream depend on its first message.
    path = copies.write("acp", "x.jsonl", make_chunk("a", TEXT), make_chunk("b", "Hi"))

    assert len(copies.erase("acp")) == 1
    assert not path.exists()


def test_the_other_sessions_of_a_stream_stay(copies: CopiesHarness):
    path = copies.write("acp", "x.jsonl", make_chunk("a", TEXT), make_chunk("b", "Hi"))

    assert copies.erase("acp", session="a") == []
    assert TEXT not in path.read_text()
    assert "Hi" in path.read_text()


def test_a_copy_that_cannot_be_decoded_is_deleted_with_its_text(
    copies: CopiesHarness,
):
    path = copies.write("devflow", "runs/r/transcript.json", f"no {TEXT}")

    copies.erase("devflow")

    assert not path.exists()
