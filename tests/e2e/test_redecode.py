"""An update of leslied whose decoder has a higher version, and crashes during it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.claude import (
    AFTER_STORE_CREATION,
    SESSION,
    ClaudeHome,
    ClaudeLogBuilder,
)
from tests.support.cli import LesliedRunner

pytestmark = pytest.mark.e2e

UPDATE = """
from msgspec import structs
from leslied.agents.claude_code import ClaudeCode

old_decode = ClaudeCode.decode

def decode(self, entry, state):
    result = old_decode(self, entry, state)
    records = [
        structs.replace(record, content=record.content.replace("salad", "soup"))
        for record in result.records
        if record.content != "noise"
    ]
    return structs.replace(result, records=tuple(records))

ClaudeCode.decode = decode
ClaudeCode.decoder_version += 1
"""
"""Python runs a module of the name `sitecustomize` before the program."""
OLD = ["cook", "salad", "noise", "served", "wash up", "done"]
NEW = ["cook", "soup", "served", "wash up", "done"]
TRANSCRIPTS = ".leslie/threads/thread-11111111/.meta/transcripts"


class Update:
    """A home with one session, and two versions of leslied."""

    def __init__(self, claude: ClaudeHome, folder: Path) -> None:
        self.project = claude.home / "app"
        self.project.mkdir()
        subprocess.run(["git", "init", "-q", str(self.project)], check=True)
        self.old = LesliedRunner(claude.home)
        self.old("sync")
        builder = ClaudeLogBuilder(
            cwd=str(self.project), started_at=AFTER_STORE_CREATION
        )
        self.log = claude.write(
            *(builder.prompt("cook"), builder.answer("salad")),
            *(builder.prompt("noise"), builder.answer("served")),
            *(builder.prompt("wash up"), builder.answer("done")),
        )
        self.new = LesliedRunner(claude.home)
        folder.mkdir()
        (folder / "sitecustomize.py").write_text(UPDATE)
        self.new.environ["PYTHONPATH"] += f":{folder}"

    def list_messages(self) -> list[str]:
        units = self.old("show", SESSION, "--json").json["data"]["units"]
        return [e["content"] for unit in units for e in unit["entries"] if e["content"]]

    def read_transcripts(self) -> dict[str, tuple[str, int]]:
        """Return the text and the mtime of each transcript, by the end of its name."""
        return {
            path.stem[14:]: (path.read_text(), path.stat().st_mtime_ns)
            for path in (self.project / TRANSCRIPTS).glob("*.txt")
        }

    def count_outdated(self) -> int:
        agents = self.new("status", "--json").json["data"]["agents"]
        (count,) = [a["outdated_sources"] for a in agents if a["name"] == "claude-code"]
        return int(count)


@pytest.fixture
def update(claude: ClaudeHome, tmp_path: Path) -> Update:
    return Update(claude, tmp_path / "update")


def test_an_update_decodes_what_was_read_before(update: Update):
    update.old("sync", "--stop-all")
    transcripts = update.read_transcripts()
    status = update.new("status").out

    update.new("sync", "--stop-all")

    assert "claude-code: 1 log still to be decoded again" in status
    assert update.count_outdated() == 0
    assert update.list_messages() == NEW
    searches = [update.old("search", word, "--json") for word in ("salad", "soup")]
    assert [len(search.json["data"]["hits"]) for search in searches] == [0, 1]
    after = update.read_transcripts()
    assert sorted(after) == ["cook", "wash-up"]
    assert "soup" in after["cook"][0]
    assert after["wash-up"] == transcripts["wash-up"]


@pytest.mark.parametrize(
    "failpoint", ["redecode.half", "redecode.before", "redecode.after"]
)
def test_a_crash_leaves_the_old_or_the_new_entries(update: Update, failpoint: str):
    update.old("sync", "--stop-all")

    crashed = update.new("sync", "--stop-all", LESLIED_CRASH_AT=failpoint)
    messages = update.list_messages()
    update.new("sync", "--stop-all")

    assert f"crash at {failpoint}" in crashed.err
    assert messages == (NEW if failpoint == "redecode.after" else OLD)
    assert update.list_messages() == NEW
    assert sorted(update.read_transcripts()) == ["cook", "wash-up"]
    assert update.count_outdated() == 0
