"""What is forgotten or pruned leaves the copies of imported files, too."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from leslied.store import StoreReader
from tests.e2e.test_import import CASES
from tests.support.cli import LesliedRunner
from tests.support.forget import list_holders
from tests.support.golden import FIXTURES

pytestmark = [pytest.mark.e2e, pytest.mark.threat("S10")]

TEXT = "zanzibar"
MIN_TEXT = 12


class ImportHome:
    """A home with imported files."""

    def __init__(self, home: Path, folder: Path) -> None:
        self.leslied = LesliedRunner(home)
        self.data = home / ".local/share/leslied"
        self.imports = self.data / "imports"
        self.folder = folder
        folder.mkdir()

    def add(self, name: str, *values: Any) -> None:
        """Import a file with these JSON lines."""
        path = self.folder / name
        path.write_text("".join(json.dumps(value) + "\n" for value in values))
        self.run("import", str(path))

    def run(self, *args: str) -> Any:
        result = self.leslied(*args, "--json")
        assert result.code == 0, result.err
        return result.json["data"]

    def list_entries(self) -> dict[str, list[tuple[str, str]]]:
        """Return ids and texts of the entries of each session."""
        entries: dict[str, list[tuple[str, str]]] = {}
        with StoreReader(self.data / "store.db") as reader:
            for session in reader.list_sessions():
                entries.setdefault(session.key.session_id, []).extend(
                    (placed.entry_id, placed.record.content)
                    for placed in reader.list_records(session.key)
                )
        return {name: sorted(each) for name, each in entries.items()}

    def list_copies(self) -> list[Path]:
        return sorted(path for path in self.imports.rglob("*") if path.is_file())


@pytest.fixture
def import_home(home: Path, tmp_path: Path) -> ImportHome:
    return ImportHome(home, tmp_path / "files")


def list_own_texts(entries: dict[str, list[tuple[str, str]]], name: str) -> list[str]:
    """Return texts that only this session has."""
    others = "\n".join(t for key in entries if key != name for _, t in entries[key])
    return [
        text
        for _, text in entries[name]
        # The store keeps the name of a file to know what was read.
        if len(text) >= MIN_TEXT and text not in others and text != name
    ]


def import_case(import_home: ImportHome, case: str) -> None:
    shutil.copytree(FIXTURES / case / "home", import_home.folder / "case")
    import_home.run("import", str(import_home.folder / "case"))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_forgotten_session_of_any_format_leaves_no_copy(
    import_home: ImportHome, case: str
):
    import_case(import_home, case)
    before = import_home.list_entries()
    name = next(name for name in before if list_own_texts(before, name))
    texts = list_own_texts(before, name)

    answer = import_home.run("forget", name, "--yes")

    assert "log" not in {each["kind"] for each in answer["unreachable"]}
    assert [t for t in texts if list_holders(t, import_home.data)] == []
    others = {key: value for key, value in before.items() if key != name}
    assert import_home.list_entries() == others
    import_home.run("sync")
    assert import_home.list_entries() == others
    import_home.run("rebuild")
    assert import_home.list_entries() == others


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_text_in_any_format_is_removed_from_every_copy(
    import_home: ImportHome, case: str
):
    import_case(import_home, case)
    before = import_home.list_entries()
    texts = [text for entries in before.values() for _, text in entries]
    phrases = re.findall(r"[A-Za-z]+ [A-Za-z]+", "\n".join(texts))
    # Decoders make some phrases of several fields.
    raw = b"".join(path.read_bytes() for path in import_home.list_copies())
    text = max((each for each in phrases if each.encode() in raw), key=len)

    answer = import_home.run("forget", "--text", text, "--yes")

    after = import_home.list_entries()
    assert answer["unreachable"] == []
    assert list_holders(text, import_home.data) == []
    import_home.run("sync")
    assert import_home.list_entries() == after
    import_home.run("rebuild")
    assert import_home.list_entries() == after


def make_request(session_id: str, prompt: str, answer: str) -> dict[str, Any]:
    """Return a line of a log of LiteLLM."""
    choice = {"message": {"role": "assistant", "content": answer}}
    return {
        "metadata": {"session_id": session_id},
        "messages": [{"role": "user", "content": prompt}],
        "response": {"id": f"r-{prompt}", "choices": [choice]},
    }


def make_acp(session_id: str, number: int, prompt: str) -> list[dict[str, Any]]:
    """Return messages of ACP: a new session with a prompt and a file that was read."""

    def request(id_: int, method: str, **params: Any) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}

    blocks = [{"type": "text", "text": prompt}]
    chunk = {"sessionUpdate": "agent_message_chunk", "content": blocks[0]}
    update = {"sessionId": session_id, "update": chunk}
    return [
        request(number, "session/new", cwd=f"/home/{prompt}"),
        {"jsonrpc": "2.0", "id": number, "result": {"sessionId": session_id}},
        request(number + 1, "session/prompt", sessionId=session_id, prompt=blocks),
        request(number + 50, "fs/read_text_file", sessionId=session_id, path="/x"),
        {"jsonrpc": "2.0", "id": number + 50, "result": {"content": prompt}},
        {"jsonrpc": "2.0", "method": "session/update", "params": update},
        {"jsonrpc": "2.0", "id": number + 1, "result": {"stopReason": "end_turn"}},
    ]


def write_shared_file(import_home: ImportHome, agent: str) -> None:
    """Import one file with two sessions, one of which has the text."""
    if agent == "litellm":
        lines = [
            make_request("one", f"Where is {TEXT}?", "In the ocean."),
            make_request("two", "Hello there", "Good day."),
        ]
    else:
        start = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}}
        first = make_acp("one", 1, f"Where is {TEXT}?")
        lines = [start, *first, *make_acp("two", 3, "Hello there")]
    import_home.add("log.jsonl", *lines)


@pytest.mark.parametrize("agent", ["litellm", "acp"])
@pytest.mark.parametrize("how", ["session", "text"])
def test_the_other_session_of_a_file_keeps_its_entries(
    import_home: ImportHome, agent: str, how: str
):
    write_shared_file(import_home, agent)
    before = import_home.list_entries()
    assert sorted(before) == ["one", "two"]

    import_home.run(
        "forget", *(["one"] if how == "session" else ["--text", TEXT]), "--yes"
    )

    assert list_holders(TEXT, import_home.data) == []
    assert len(import_home.list_copies()) == 1
    assert import_home.list_entries()["two"] == before["two"]
    import_home.run("sync")
    assert import_home.list_entries()["two"] == before["two"]
    import_home.run("rebuild")
    assert import_home.list_entries()["two"] == before["two"]
    assert list_holders(TEXT, import_home.data) == []


@pytest.mark.parametrize("agent", ["litellm", "acp"])
@pytest.mark.parametrize("how", ["session", "text"])
@pytest.mark.parametrize("point", ["forget.archive", "forget.copy", "forget.files"])
def test_an_interrupted_forget_is_completed(
    import_home: ImportHome, agent: str, how: str, point: str
):
    write_shared_file(import_home, agent)
    before = import_home.list_entries()
    args = ["forget", *(["one"] if how == "session" else ["--text", TEXT]), "--yes"]
    crashed = import_home.leslied(*args, LESLIED_CRASH_AT=point)
    assert f"crash at {point}" in crashed.err

    import_home.run(*args)

    assert list_holders(TEXT, import_home.data) == []
    assert import_home.list_entries()["two"] == before["two"]


def test_a_rebuild_does_not_bring_pruned_imports_back(import_home: ImportHome):
    write_shared_file(import_home, "litellm")
    import_case(import_home, CASES["claude-ai"])
    import_home.run("sync", "--stop-all")

    pruned = import_home.run("prune", "--keep", "0", "--failed", "--yes")
    import_home.run("sync")
    import_home.run("rebuild")

    assert pruned["records_removed"] > 0
    assert import_home.list_entries() == {}
