"""Test that nothing of a session is stored before its folder is known and allowed."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from leslied.agents import load_adapters
from leslied.archive import list_files
from leslied.model.source import WAITING
from leslied.pipeline import Archiver, Ingest, IngestReport
from leslied.pipeline.ingest.exclude import make_folder_matcher
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
LINE_WITHOUT_FOLDER = {
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

    def make_ingest(self, store: Store) -> Ingest:
        return Ingest(
            adapter=self.adapter,
            store=store,
            roots=self.roots,
            limits=self.limits,
            is_excluded=make_folder_matcher(self.globs) if self.globs else None,
        )

    def scan(self) -> IngestReport:
        with Store(self.claude.store_path, self.claude.clock) as store:
            return self.make_ingest(store).scan()

    def read(self, *paths: Path) -> IngestReport:
        with Store(self.claude.store_path, self.claude.clock) as store:
            return self.make_ingest(store).ingest_files(paths)

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

    def list_contents(self) -> list[str]:
        with StoreReader(self.claude.store_path) as reader:
            return [
                placed.record.content
                for session in reader.list_sessions()
                for placed in reader.list_records(session.key)
                if placed.record.content
            ]

    def list_errors(self) -> dict[str, str]:
        with StoreReader(self.claude.store_path) as reader:
            return dict(reader.list_source_problems())

    def list_errors_by_path(self) -> dict[Path, str]:
        return {Path(path): reason for path, reason in self.list_errors().items()}

    def list_noise_kinds(self) -> set[str]:
        with sqlite3.connect(self.claude.store_path) as db:
            return {kind for (kind,) in db.execute("SELECT kind FROM noise")}

    def has_secret(self) -> bool:
        """Search every byte of the store and the archive, and every table's text."""
        with sqlite3.connect(self.claude.store_path) as db:
            is_in_tables = any(SECRET in line for line in db.iterdump())
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        files = [f for f in self.claude.store_path.parent.rglob("*") if f.is_file()]
        return is_in_tables or any(
            SECRET.encode() in file.read_bytes() for file in files
        )


@pytest.fixture
def harness(claude: ClaudeHome) -> ExcludeHarness:
    return ExcludeHarness(claude)


def make_builder(folder: Path | str, **options: Any) -> ClaudeLogBuilder:
    return ClaudeLogBuilder(cwd=str(folder), **options)


def test_a_prompt_queued_before_the_folder_is_named_is_held_back(
    claude: ClaudeHome, harness: ExcludeHarness
):
    log = claude.write(LINE_WITHOUT_FOLDER, DEQUEUE, name=LOG)
    first = harness.read(log)
    was_secret_stored = harness.has_secret()
    claude.write(make_builder(harness.private).prompt(f"feed the {SECRET}"), name=LOG)

    second = harness.read(log)

    assert list(first.waiting) == [log]
    assert not was_secret_stored
    assert not second.waiting
    assert not harness.has_secret()
    assert harness.list_errors() == {}
    assert "excluded" in harness.list_noise_kinds()


def test_a_held_back_log_of_an_allowed_project_is_stored_whole(
    claude: ClaudeHome, harness: ExcludeHarness
):
    log = claude.write(LINE_WITHOUT_FOLDER, DEQUEUE, name=LOG)
    harness.read(log)
    builder = make_builder(harness.public)
    claude.write(
        builder.prompt(LINE_WITHOUT_FOLDER["content"]), builder.answer("done"), name=LOG
    )

    harness.read(log)

    assert set(harness.list_contents()) == {LINE_WITHOUT_FOLDER["content"], "done"}


def test_holding_back_does_not_change_the_stored_entries(
    claude: ClaudeHome, harness: ExcludeHarness, tmp_path: Path
):
    builder = make_builder(harness.public)
    lines = [LINE_WITHOUT_FOLDER, DEQUEUE, builder.prompt("go"), builder.answer("done")]
    claude.write(*lines, name=LOG)
    plain_home = ClaudeHome(claude.home, tmp_path / "plain" / "store.db", claude.clock)
    plain_home.sync()
    claude.log(LOG).unlink()

    for line in lines:
        harness.read(claude.write(line, name=LOG))

    with (
        StoreReader(claude.store_path) as reader,
        StoreReader(plain_home.store_path) as plain_reader,
    ):
        (session,), (plain_session,) = (
            reader.list_sessions(),
            plain_reader.list_sessions(),
        )
        assert [p.entry_id for p in reader.list_records(session.key)] == [
            p.entry_id for p in plain_reader.list_records(plain_session.key)
        ]


def test_a_prompt_is_not_stored_if_its_chunk_ends_before_the_folder(
    claude: ClaudeHome, harness: ExcludeHarness
):
    queued = encode_json_lines(LINE_WITHOUT_FOLDER)
    harness.limits = replace(harness.limits, chunk=len(queued), rescan=16)
    claude.write(
        LINE_WITHOUT_FOLDER,
        DEQUEUE,
        make_builder(harness.private).prompt(SECRET),
        name=LOG,
    )

    harness.scan()

    assert not harness.has_secret()
    # The whole log was read as excluded: no line waits for its folder.
    assert not harness.scan().entries


def test_every_real_claude_log_is_held_back_until_it_names_its_folder(
    claude: ClaudeHome, harness: ExcludeHarness, shared_dir: Path
):
    harness.globs = ["/home/dev"]
    captures = shared_dir / "captures" / "claude-2.1.325"
    with Store(claude.store_path, claude.clock) as store:
        ingest = harness.make_ingest(store)
        for log in sorted(captures.glob("*/config/projects/*/*.jsonl")):
            copy = claude.log(f"{log.parent.name}/{log.name}")
            for line in log.read_bytes().split(b"\n")[:8]:
                with copy.open("ab") as file:
                    file.write(line + b"\n")
                ingest.ingest_files([copy])

    assert not harness.list_errors()
    assert harness.list_contents() == []
    with StoreReader(claude.store_path) as reader:
        assert list(reader.list_sessions()) == []
        assert reader.count_rows()["records"] == 0


@pytest.mark.parametrize("glob_kind", ["folder", "link", "wildcard over the link"])
@pytest.mark.parametrize("spelling", ["folder", "link", "below the link"])
def test_a_folder_spelt_through_a_link_is_excluded(
    claude: ClaudeHome, harness: ExcludeHarness, spelling: str, glob_kind: str
):
    links = claude.home / "links"
    links.mkdir()
    (links / "lnk").symlink_to(harness.private)
    harness.globs = {
        "folder": [str(harness.private)],
        "link": [str(links / "lnk")],
        "wildcard over the link": [str(links / "*")],
    }[glob_kind]
    folder = {
        "folder": harness.private,
        "link": links / "lnk",
        "below the link": links / "lnk" / "src",
    }[spelling]
    claude.write(make_builder(folder).prompt(SECRET), name=LOG)

    harness.scan()

    assert not harness.has_secret()


@pytest.mark.parametrize(
    "folder", ["work/public/../private", "work/private/src/..", "work/./private/"]
)
def test_a_folder_spelt_with_dots_is_excluded(
    claude: ClaudeHome, harness: ExcludeHarness, folder: str
):
    claude.write(make_builder(f"{claude.home}/{folder}").prompt(SECRET), name=LOG)

    harness.scan()

    assert not harness.has_secret()


def test_a_folder_whose_dots_lead_out_of_an_excluded_one_is_stored(
    claude: ClaudeHome, harness: ExcludeHarness
):
    builder = make_builder(f"{harness.private}/../public")
    claude.write(builder.prompt("hello"), name=LOG)

    harness.scan()

    assert harness.list_contents() == ["hello"]


@pytest.mark.parametrize("folder", ["relative", "/nul\0byte", "/lone\udcff"])
def test_a_folder_that_cannot_exist_matches_nothing(folder: str):
    assert not make_folder_matcher(["/home/dev/*"])(folder)


def test_a_glob_may_be_the_root_and_a_tilde_is_the_home(home: Path):
    assert make_folder_matcher(["/"])("/anywhere/at/all")
    assert make_folder_matcher(["~/x*"])(f"{home}/xylophone/src")


@pytest.mark.parametrize("name", ["agent-a1.meta.json", "agent-a1.jsonl"])
def test_a_file_of_a_subagent_is_held_back_until_its_main_log_is_read(
    claude: ClaudeHome, harness: ExcludeHarness, name: str
):
    """The subagent has another folder, but the main session's folder decides."""
    side_file = claude.log(f"{SUBAGENTS}/{name}")
    line = make_builder(harness.public).prompt(SECRET, isSidechain=True)
    meta = {"agentType": "Explore", "description": SECRET}
    side_file.write_bytes(
        encode_json_lines(meta if name.endswith("meta.json") else line)
    )
    first = harness.read(side_file)
    was_secret_stored = harness.has_secret()
    claude.write(make_builder(harness.private).prompt("go"), name=LOG)

    harness.scan()

    assert list(first.waiting) == [side_file]
    assert not was_secret_stored
    assert not harness.has_secret()
    assert harness.list_errors() == {}


@pytest.mark.parametrize("name", ["agent-a1.meta.json", "agent-a1.jsonl"])
def test_a_file_of_a_subagent_is_excluded_by_a_main_log_that_was_not_read_yet(
    claude: ClaudeHome, harness: ExcludeHarness, name: str
):
    side_file = claude.log(f"{SUBAGENTS}/{name}")
    line = make_builder(harness.public).prompt(SECRET, isSidechain=True)
    meta = {"agentType": "Explore", "description": SECRET}
    side_file.write_bytes(
        encode_json_lines(meta if name.endswith("meta.json") else line)
    )
    claude.write(
        LINE_WITHOUT_FOLDER, make_builder(harness.private).prompt("go"), name=LOG
    )

    report = harness.read(side_file)

    assert not report.waiting
    assert not harness.has_secret()


def test_a_subagent_of_an_allowed_session_is_stored_at_the_next_scan(
    claude: ClaudeHome, harness: ExcludeHarness
):
    child = make_builder(harness.public, session_id="child")
    name = f"{SUBAGENTS}/agent-a1.jsonl"
    claude.write(child.prompt("look around", isSidechain=True), name=name)
    harness.scan()
    claude.write(make_builder(harness.public).prompt("go"), name=LOG)

    harness.scan()

    assert sorted(harness.list_contents()) == ["go", "look around"]
    assert harness.list_errors() == {}


def test_a_spilled_result_of_an_excluded_session_is_not_stored(
    claude: ClaudeHome, harness: ExcludeHarness
):
    spill = claude.log(f"-app/{SESSION}/tool-results/big.txt")
    spill.write_text(SECRET)
    harness.read(spill)
    builder = make_builder(harness.private)
    notice = f"<persisted-output>\nOutput too large. Full output saved to: {spill}\n"
    claude.write(
        builder.call("Bash", {"command": "make"}, "t1"),
        builder.result("t1", notice),
        name=LOG,
    )

    harness.scan()

    assert not harness.has_secret()


def test_a_log_that_never_names_a_folder_is_held_back_and_reported(
    claude: ClaudeHome, harness: ExcludeHarness
):
    log = claude.write(
        {"type": "summary", "summary": SECRET, "leafUuid": "x"}, name=LOG
    )

    first, second = harness.scan(), harness.scan()
    harness.archive()

    assert first.waiting == second.waiting == harness.list_errors_by_path()
    assert list(first.waiting) == [log]
    assert first.waiting[log].startswith(WAITING)
    assert (second.entries, second.bytes_read, second.commits) == (0, 0, 0)
    assert not harness.has_secret()
    with StoreReader(claude.store_path) as reader:
        (agent,) = reader.summarize_agents()
        assert (agent["waiting"], agent["unreadable"]) == (1, 0)


def test_a_held_back_log_is_read_when_nothing_is_excluded_anymore(
    claude: ClaudeHome, harness: ExcludeHarness
):
    claude.write(LINE_WITHOUT_FOLDER, name=LOG)
    harness.scan()
    harness.globs = []

    harness.scan()

    assert harness.has_secret()
    assert harness.list_errors() == {}


def test_a_held_back_log_that_was_deleted_is_no_longer_reported(
    claude: ClaudeHome, harness: ExcludeHarness
):
    log = claude.write(LINE_WITHOUT_FOLDER, name=LOG)
    harness.scan()
    log.unlink()

    harness.scan()

    assert harness.list_errors() == {}


def test_a_session_stays_excluded_when_the_agent_changes_the_folder(
    claude: ClaudeHome, harness: ExcludeHarness
):
    claude.write(make_builder(harness.private).prompt("go"), name=LOG)
    harness.scan()
    elsewhere = make_builder(harness.public)
    for text in (f"{SECRET} one", f"{SECRET} two"):
        claude.write(elsewhere.prompt(text), name=LOG)
        harness.scan()

    assert not harness.has_secret()


def test_no_text_of_damaged_lines_of_an_excluded_session_is_stored(
    claude: ClaudeHome, harness: ExcludeHarness
):
    log = claude.write(make_builder(harness.private).prompt("go"), name=LOG)
    with log.open("ab") as file:
        file.write(b'{"type": "user", "message": ' + SECRET.encode() + b"\n")

    report = harness.scan()

    assert report.rejected == 1
    assert not harness.has_secret()


def test_an_excluded_session_is_not_archived(
    claude: ClaudeHome, harness: ExcludeHarness
):
    log = claude.write(LINE_WITHOUT_FOLDER, name=LOG)
    harness.read(log)
    claude.write(make_builder(harness.private).prompt(SECRET), name=LOG)
    harness.scan()
    os.utime(log, (0, 0))

    harness.archive()

    assert list_files(claude.store_path.parent / "archive") == []


def test_without_excludes_a_log_without_a_folder_is_stored_at_once(
    claude: ClaudeHome, harness: ExcludeHarness
):
    harness.globs = []
    log = claude.write(LINE_WITHOUT_FOLDER, name=LOG)

    report = harness.read(log)

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
    harness = ExcludeHarness(claude, "qwen-code")
    project = claude.home / ".qwen" / "projects" / "-app"
    side_file = project / "subagents" / SESSION / "agent-a1.meta.json"
    side_file.parent.mkdir(parents=True)
    side_file.write_text(json.dumps({"agentType": "x", "description": SECRET}))
    first = harness.read(side_file)
    main = project / "chats" / f"{SESSION}.jsonl"
    main.parent.mkdir()
    main.write_bytes(encode_json_lines(make_qwen_line(harness.private, "go")))

    harness.scan()

    assert list(first.waiting) == [side_file]
    assert not harness.has_secret()
    assert harness.list_errors() == {}


def test_an_old_qwen_document_is_held_back_because_it_names_no_folder(
    claude: ClaudeHome,
):
    harness = ExcludeHarness(claude, "qwen-code")
    log = claude.home / ".qwen" / "tmp" / "hash" / "chats" / "session-1.json"
    log.parent.mkdir(parents=True)
    message = {"id": "1", "type": "user", "content": SECRET}
    log.write_text(json.dumps({"sessionId": "s", "messages": [message]}))

    report = harness.scan()

    assert list(report.waiting) == [log]
    assert not harness.has_secret()


def test_a_gemini_log_waits_for_its_folder_and_is_excluded_if_private(
    claude: ClaudeHome,
):
    harness = ExcludeHarness(claude, "gemini-cli")
    project = claude.home / ".gemini" / "tmp" / "app"
    log = project / "chats" / "session-1.jsonl"
    log.parent.mkdir(parents=True)
    header = {"sessionId": "s", "projectHash": "h"}
    time = "2026-11-16T01:29:49.409Z"
    message = {"id": "1", "type": "user", "timestamp": time, "content": SECRET}
    log.write_bytes(encode_json_lines(header, message))
    first = harness.scan()
    (project / ".project_root").write_text(str(harness.private))

    second = harness.scan()

    assert list(first.waiting) == [log]
    assert not second.waiting
    assert not harness.has_secret()


@pytest.mark.parametrize("cwd", ["private", "nowhere"])
def test_a_copilot_title_is_not_stored_without_an_allowed_folder(
    claude: ClaudeHome, cwd: str
):
    harness = ExcludeHarness(claude, "copilot-cli")
    side_file = claude.home / ".copilot" / "session-state" / "s" / "workspace.yaml"
    side_file.parent.mkdir(parents=True)
    cwd_line = f"cwd: {harness.private}\n" if cwd == "private" else ""
    side_file.write_text(f"id: s\n{cwd_line}name: {SECRET}\n")

    report = harness.scan()

    assert list(report.waiting) == ([] if cwd_line else [side_file])
    assert not harness.has_secret()


@pytest.mark.parametrize("agent", ["codex", "copilot-cli", "gemini-cli", "qwen-code"])
def test_the_folder_of_every_captured_log_is_known_at_once(
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
    harness = ExcludeHarness(claude, agent)
    # All captures ran below this folder: all are excluded, and none has to wait.
    harness.globs = ["/home/dev"]

    report = harness.scan()

    assert report.entries
    assert not report.waiting
    assert harness.list_contents() == []
