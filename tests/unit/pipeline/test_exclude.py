"""Test that nothing of a session is stored before its folder is known and allowed."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from leslied.agents import load_adapters
from leslied.archive import list_files
from leslied.model.source import WAITING
from leslied.pipeline import Archiver, Ingest, IngestReport
from leslied.pipeline.exclude import make_folder_matcher
from leslied.store import Store, StoreReader
from leslied.tail import ReadLimits
from tests.support.claude import (
    SESSION,
    ClaudeHome,
    ClaudeLogBuilder,
    encode_json_lines,
)
from tests.support.golden import make_environment

SECRET = "zebra"
LOG = f"-app/{SESSION}.jsonl"
SUBAGENTS = f"-app/{SESSION}/subagents"
ENQUEUE = {
    "type": "queue-operation",
    "operation": "enqueue",
    "timestamp": "2026-11-16T00:56:24.881Z",
    "sessionId": SESSION,
    "content": f"please feed the {SECRET}",
}
DEQUEUE = {
    "type": "queue-operation",
    "operation": "dequeue",
    "timestamp": "2026-11-16T00:56:24.883Z",
    "sessionId": SESSION,
}


class ExcludeHarness:
    """Ingests a home with `projects.exclude` set to one folder in it."""

    def __init__(self, claude: ClaudeHome, agent: str = "claude-code") -> None:
        self.claude = claude
        self.adapter = load_adapters()[agent]
        self.roots = tuple(self.adapter.roots(make_environment(claude.home), []))
        self.private = claude.home / "work" / "private"
        self.private.mkdir(parents=True)
        self.public = claude.home / "work" / "public"
        self.public.mkdir()
        self.globs = [str(self.private)]
        self.limits = ReadLimits()

    def ingest(self, store: Store) -> Ingest:
        return Ingest(
            adapter=self.adapter,
            store=store,
            roots=self.roots,
            limits=self.limits,
            is_excluded=make_folder_matcher(self.globs) if self.globs else None,
        )

    def scan(self) -> IngestReport:
        with Store(self.claude.store_path, self.claude.clock) as store:
            return self.ingest(store).scan()

    def read(self, *paths: Path) -> IngestReport:
        with Store(self.claude.store_path, self.claude.clock) as store:
            return self.ingest(store).ingest_files(paths)

    def archive(self) -> None:
        """Archive all that was read, as if every session had stopped."""
        with Store(self.claude.store_path, self.claude.clock) as store:
            store.mark_all_stopped()
            is_excluded = make_folder_matcher(self.globs)
            Archiver(
                store=store,
                archive_dir=self.claude.store_path.parent / "archive",
                roots={self.adapter.name: self.roots},
                clock=self.claude.clock,
                is_excluded=lambda _, cwd: not cwd or is_excluded(cwd),
            ).run()

    def contents(self) -> list[str]:
        with StoreReader(self.claude.store_path) as reader:
            return [
                placed.record.content
                for session in reader.list_sessions()
                for placed in reader.list_records(session.row)
                if placed.record.content
            ]

    def errors(self) -> dict[str, str]:
        with StoreReader(self.claude.store_path) as reader:
            return dict(reader.list_source_errors())

    def errors_by_path(self) -> dict[Path, str]:
        return {Path(path): reason for path, reason in self.errors().items()}

    def noise(self) -> set[str]:
        with sqlite3.connect(self.claude.store_path) as db:
            return {kind for (kind,) in db.execute("SELECT kind FROM noise")}

    def has_secret(self) -> bool:
        """Search every byte of the store and the archive, and every table's text."""
        with sqlite3.connect(self.claude.store_path) as db:
            dumped = any(SECRET in line for line in db.iterdump())
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        files = [f for f in self.claude.store_path.parent.rglob("*") if f.is_file()]
        return dumped or any(SECRET.encode() in file.read_bytes() for file in files)


@pytest.fixture
def excluding(claude: ClaudeHome) -> ExcludeHarness:
    return ExcludeHarness(claude)


def make_builder(folder: Path | str, **more: Any) -> ClaudeLogBuilder:
    return ClaudeLogBuilder(cwd=str(folder), **more)


def test_a_prompt_queued_before_the_folder_is_named_is_held_back(
    claude: ClaudeHome, excluding: ExcludeHarness
):
    log = claude.write(ENQUEUE, DEQUEUE, name=LOG)
    first = excluding.read(log)
    was_stored = excluding.has_secret()
    claude.write(make_builder(excluding.private).prompt(f"feed the {SECRET}"), name=LOG)

    second = excluding.read(log)

    assert list(first.waiting) == [log]
    assert not was_stored
    assert not second.waiting
    assert not excluding.has_secret()
    assert excluding.errors() == {}
    assert "excluded" in excluding.noise()


def test_a_held_back_log_of_an_allowed_project_is_stored_whole(
    claude: ClaudeHome, excluding: ExcludeHarness
):
    log = claude.write(ENQUEUE, DEQUEUE, name=LOG)
    excluding.read(log)
    builder = make_builder(excluding.public)
    claude.write(builder.prompt(ENQUEUE["content"]), builder.answer("done"), name=LOG)

    excluding.read(log)

    assert set(excluding.contents()) == {ENQUEUE["content"], "done"}


def test_holding_back_does_not_change_the_stored_entries(
    claude: ClaudeHome, excluding: ExcludeHarness, tmp_path: Path
):
    builder = make_builder(excluding.public)
    lines = [ENQUEUE, DEQUEUE, builder.prompt("go"), builder.answer("done")]
    claude.write(*lines, name=LOG)
    plain = ClaudeHome(claude.home, tmp_path / "plain" / "store.db", claude.clock)
    plain.sync()
    claude.log(LOG).unlink()

    for line in lines:
        excluding.read(claude.write(line, name=LOG))

    with (
        StoreReader(claude.store_path) as reader,
        StoreReader(plain.store_path) as plain_reader,
    ):
        (session,), (plain_session,) = (
            reader.list_sessions(),
            plain_reader.list_sessions(),
        )
        assert [p.entry_id for p in reader.list_records(session.row)] == [
            p.entry_id for p in plain_reader.list_records(plain_session.row)
        ]


def test_a_chunk_may_end_between_the_prompt_and_the_folder(
    claude: ClaudeHome, excluding: ExcludeHarness
):
    queued = encode_json_lines(ENQUEUE)
    excluding.limits = replace(excluding.limits, chunk=len(queued), rescan=16)
    claude.write(
        ENQUEUE, DEQUEUE, make_builder(excluding.private).prompt(SECRET), name=LOG
    )

    excluding.scan()

    assert not excluding.has_secret()
    assert not excluding.scan().entries


def test_every_real_claude_log_is_held_back_until_it_names_its_folder(
    claude: ClaudeHome, excluding: ExcludeHarness, shared_dir: Path
):
    excluding.globs = ["/home/dev"]
    captures = shared_dir / "captures" / "claude-2.1.325"
    with Store(claude.store_path, claude.clock) as store:
        ingest = excluding.ingest(store)
        for log in sorted(captures.glob("*/config/projects/*/*.jsonl")):
            copy = claude.log(f"{log.parent.name}/{log.name}")
            for line in log.read_bytes().split(b"\n")[:8]:
                with copy.open("ab") as file:
                    file.write(line + b"\n")
                ingest.ingest_files([copy])

    assert not excluding.errors()
    assert excluding.contents() == []
    with StoreReader(claude.store_path) as reader:
        assert list(reader.list_sessions()) == []
        assert reader.count_rows()["records"] == 0


@pytest.mark.parametrize("globbed", ["folder", "link", "wildcard over the link"])
@pytest.mark.parametrize("spelt", ["folder", "link", "below the link"])
def test_a_folder_spelt_through_a_link_is_excluded(
    claude: ClaudeHome, excluding: ExcludeHarness, spelt: str, globbed: str
):
    links = claude.home / "links"
    links.mkdir()
    (links / "lnk").symlink_to(excluding.private)
    excluding.globs = {
        "folder": [str(excluding.private)],
        "link": [str(links / "lnk")],
        "wildcard over the link": [str(links / "*")],
    }[globbed]
    folder = {
        "folder": excluding.private,
        "link": links / "lnk",
        "below the link": links / "lnk" / "src",
    }[spelt]
    claude.write(make_builder(folder).prompt(SECRET), name=LOG)

    excluding.scan()

    assert not excluding.has_secret()


@pytest.mark.parametrize(
    "folder", ["work/public/../private", "work/private/src/..", "work/./private/"]
)
def test_a_folder_spelt_with_dots_is_excluded(
    claude: ClaudeHome, excluding: ExcludeHarness, folder: str
):
    claude.write(make_builder(f"{claude.home}/{folder}").prompt(SECRET), name=LOG)

    excluding.scan()

    assert not excluding.has_secret()


def test_dots_that_lead_out_of_an_excluded_folder_are_followed(
    claude: ClaudeHome, excluding: ExcludeHarness
):
    builder = make_builder(f"{excluding.private}/../public")
    claude.write(builder.prompt("hello"), name=LOG)

    excluding.scan()

    assert excluding.contents() == ["hello"]


@pytest.mark.parametrize("folder", ["relative", "/nul\0byte", "/lone\udcff"])
def test_a_folder_that_cannot_exist_matches_nothing(folder: str):
    assert not make_folder_matcher(["/home/dev/*"])(folder)


def test_a_glob_may_be_the_root_and_a_tilde_is_the_home(home: Path):
    assert make_folder_matcher(["/"])("/anywhere/at/all")
    assert make_folder_matcher(["~/x*"])(f"{home}/xylophone/src")


@pytest.mark.parametrize("name", ["agent-a1.meta.json", "agent-a1.jsonl"])
def test_a_file_of_a_subagent_is_held_back_until_its_main_log_is_read(
    claude: ClaudeHome, excluding: ExcludeHarness, name: str
):
    """Its own folder is another one, but the main session's folder decides."""
    side = claude.log(f"{SUBAGENTS}/{name}")
    line = make_builder(excluding.public).prompt(SECRET, isSidechain=True)
    meta = {"agentType": "Explore", "description": SECRET}
    side.write_bytes(encode_json_lines(meta if name.endswith("meta.json") else line))
    first = excluding.read(side)
    was_stored = excluding.has_secret()
    claude.write(make_builder(excluding.private).prompt("go"), name=LOG)

    excluding.scan()

    assert list(first.waiting) == [side]
    assert not was_stored
    assert not excluding.has_secret()
    assert excluding.errors() == {}


@pytest.mark.parametrize("name", ["agent-a1.meta.json", "agent-a1.jsonl"])
def test_a_file_of_a_subagent_follows_a_main_log_that_is_not_read_yet(
    claude: ClaudeHome, excluding: ExcludeHarness, name: str
):
    side = claude.log(f"{SUBAGENTS}/{name}")
    line = make_builder(excluding.public).prompt(SECRET, isSidechain=True)
    meta = {"agentType": "Explore", "description": SECRET}
    side.write_bytes(encode_json_lines(meta if name.endswith("meta.json") else line))
    claude.write(ENQUEUE, make_builder(excluding.private).prompt("go"), name=LOG)

    report = excluding.read(side)

    assert not report.waiting
    assert not excluding.has_secret()


def test_a_subagent_of_an_allowed_session_is_stored_at_the_next_scan(
    claude: ClaudeHome, excluding: ExcludeHarness
):
    child = make_builder(excluding.public, session_id="child")
    name = f"{SUBAGENTS}/agent-a1.jsonl"
    claude.write(child.prompt("look around", isSidechain=True), name=name)
    excluding.scan()
    claude.write(make_builder(excluding.public).prompt("go"), name=LOG)

    excluding.scan()

    assert sorted(excluding.contents()) == ["go", "look around"]
    assert excluding.errors() == {}


def test_a_spilled_result_of_an_excluded_session_is_not_stored(
    claude: ClaudeHome, excluding: ExcludeHarness
):
    spill = claude.log(f"-app/{SESSION}/tool-results/big.txt")
    spill.write_text(SECRET)
    excluding.read(spill)
    builder = make_builder(excluding.private)
    notice = f"<persisted-output>\nOutput too large. Full output saved to: {spill}\n"
    claude.write(
        builder.call("Bash", {"command": "make"}, "t1"),
        builder.result("t1", notice),
        name=LOG,
    )

    excluding.scan()

    assert not excluding.has_secret()


def test_a_log_that_never_names_a_folder_is_held_back_and_reported(
    claude: ClaudeHome, excluding: ExcludeHarness
):
    log = claude.write(
        {"type": "summary", "summary": SECRET, "leafUuid": "x"}, name=LOG
    )

    first, second = excluding.scan(), excluding.scan()
    excluding.archive()

    assert first.waiting == second.waiting == excluding.errors_by_path()
    assert list(first.waiting) == [log]
    assert first.waiting[log].startswith(WAITING)
    assert (second.entries, second.bytes_read, second.commits) == (0, 0, 0)
    assert not excluding.has_secret()
    with StoreReader(claude.store_path) as reader:
        (agent,) = reader.summarize_agents()
        assert (agent["waiting"], agent["unreadable"]) == (1, 0)


def test_a_held_back_log_is_read_when_nothing_is_excluded_anymore(
    claude: ClaudeHome, excluding: ExcludeHarness
):
    claude.write(ENQUEUE, name=LOG)
    excluding.scan()
    excluding.globs = []

    excluding.scan()

    assert excluding.has_secret()
    assert excluding.errors() == {}


def test_a_held_back_log_that_was_deleted_is_no_longer_reported(
    claude: ClaudeHome, excluding: ExcludeHarness
):
    log = claude.write(ENQUEUE, name=LOG)
    excluding.scan()
    log.unlink()

    excluding.scan()

    assert excluding.errors() == {}


def test_a_session_stays_excluded_when_the_agent_changes_the_folder(
    claude: ClaudeHome, excluding: ExcludeHarness
):
    claude.write(make_builder(excluding.private).prompt("go"), name=LOG)
    excluding.scan()
    elsewhere = make_builder(excluding.public)
    for text in (f"{SECRET} one", f"{SECRET} two"):
        claude.write(elsewhere.prompt(text), name=LOG)
        excluding.scan()

    assert not excluding.has_secret()


def test_no_text_of_damaged_lines_of_an_excluded_session_is_stored(
    claude: ClaudeHome, excluding: ExcludeHarness
):
    log = claude.write(make_builder(excluding.private).prompt("go"), name=LOG)
    with log.open("ab") as file:
        file.write(b'{"type": "user", "message": ' + SECRET.encode() + b"\n")

    report = excluding.scan()

    assert report.rejected == 1
    assert not excluding.has_secret()


def test_an_excluded_session_is_not_archived(
    claude: ClaudeHome, excluding: ExcludeHarness
):
    log = claude.write(ENQUEUE, name=LOG)
    excluding.read(log)
    claude.write(make_builder(excluding.private).prompt(SECRET), name=LOG)
    excluding.scan()
    os.utime(log, (0, 0))

    excluding.archive()

    assert list_files(claude.store_path.parent / "archive") == []


def test_without_excludes_a_log_without_a_folder_is_stored_at_once(
    claude: ClaudeHome, excluding: ExcludeHarness
):
    excluding.globs = []
    log = claude.write(ENQUEUE, name=LOG)

    report = excluding.read(log)

    assert (report.entries, report.bytes_read) == (1, log.stat().st_size)
    assert not report.waiting


def make_qwen_line(cwd: Path, text: str) -> dict[str, Any]:
    return {
        "uuid": text,
        "sessionId": SESSION,
        "timestamp": "2026-11-16T01:31:44.718Z",
        "type": "user",
        "cwd": str(cwd),
        "message": {"role": "user", "parts": [{"text": text}]},
    }


def test_a_qwen_subagent_is_held_back_until_its_main_log_is_read(claude: ClaudeHome):
    excluding = ExcludeHarness(claude, "qwen-code")
    project = claude.home / ".qwen" / "projects" / "-app"
    side = project / "subagents" / SESSION / "agent-a1.meta.json"
    side.parent.mkdir(parents=True)
    side.write_text(json.dumps({"agentType": "x", "description": SECRET}))
    first = excluding.read(side)
    main = project / "chats" / f"{SESSION}.jsonl"
    main.parent.mkdir()
    main.write_bytes(encode_json_lines(make_qwen_line(excluding.private, "go")))

    excluding.scan()

    assert list(first.waiting) == [side]
    assert not excluding.has_secret()
    assert excluding.errors() == {}


def test_an_old_qwen_document_is_held_back_because_it_names_no_folder(
    claude: ClaudeHome,
):
    excluding = ExcludeHarness(claude, "qwen-code")
    log = claude.home / ".qwen" / "tmp" / "hash" / "chats" / "session-1.json"
    log.parent.mkdir(parents=True)
    message = {"id": "1", "type": "user", "content": SECRET}
    log.write_text(json.dumps({"sessionId": "s", "messages": [message]}))

    report = excluding.scan()

    assert list(report.waiting) == [log]
    assert not excluding.has_secret()


def test_a_gemini_log_is_held_back_until_a_file_names_its_folder(claude: ClaudeHome):
    excluding = ExcludeHarness(claude, "gemini-cli")
    project = claude.home / ".gemini" / "tmp" / "app"
    log = project / "chats" / "session-1.jsonl"
    log.parent.mkdir(parents=True)
    header = {"sessionId": "s", "projectHash": "h"}
    time = "2026-11-16T01:29:49.409Z"
    message = {"id": "1", "type": "user", "timestamp": time, "content": SECRET}
    log.write_bytes(encode_json_lines(header, message))
    first = excluding.scan()
    (project / ".project_root").write_text(str(excluding.private))

    second = excluding.scan()

    assert list(first.waiting) == [log]
    assert not second.waiting
    assert not excluding.has_secret()


@pytest.mark.parametrize("cwd", ["private", "nowhere"])
def test_the_title_of_a_copilot_session_needs_a_folder(claude: ClaudeHome, cwd: str):
    excluding = ExcludeHarness(claude, "copilot-cli")
    side = claude.home / ".copilot" / "session-state" / "s" / "workspace.yaml"
    side.parent.mkdir(parents=True)
    named = f"cwd: {excluding.private}\n" if cwd == "private" else ""
    side.write_text(f"id: s\n{named}name: {SECRET}\n")

    report = excluding.scan()

    assert list(report.waiting) == ([] if named else [side])
    assert not excluding.has_secret()


@pytest.mark.parametrize("agent", ["codex", "copilot-cli", "gemini-cli", "qwen-code"])
def test_the_first_lines_of_real_logs_of_other_agents_are_enough(
    claude: ClaudeHome, shared_dir: Path, agent: str
):
    (folder,) = (shared_dir / "captures").glob(f"{agent.split('-', maxsplit=1)[0]}-*")
    home = next(
        path
        for path in (folder / "hello" / "home", folder / "hello" / "config")
        if path.is_dir()
    )
    target = claude.home / ".codex" if agent == "codex" else claude.home
    shutil.copytree(home, target, dirs_exist_ok=True)
    excluding = ExcludeHarness(claude, agent)
    excluding.globs = ["/home/dev"]

    report = excluding.scan()

    assert report.entries
    assert not report.waiting
    assert excluding.contents() == []
