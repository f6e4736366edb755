"""Test the relations stage: each thread once, only on changes, with Leslie's ids."""

from __future__ import annotations

import errno
import json
import os
import subprocess
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from leslied.agents import load_adapters
from leslied.errors import SinkError
from leslied.folders import Folder
from leslied.pipeline import Ingest, RelationsReport, RelationsSync, TranscriptStage
from leslied.redact import Redactor
from leslied.sinks import OutputPolicy
from leslied.sinks.leslie import parse_document
from leslied.store import Store, StoreReader
from leslied.threads.relations import rebuild_relations
from tests.support.claude import SESSION, ClaudeHome, ClaudeLogBuilder
from tests.support.golden import FIXTURES, copy_home, make_environment
from tests.unit.threads.test_relations import make_leslie_thread

OTHER = "22222222-2222-4333-8444-555555555555"
THIRD = "33333333-2222-4333-8444-555555555555"
SECRET = "sk-ant-api03-" + "a1B2c" * 19


class RelationsHarness:
    """Ingests a home, settles it and writes its relations files."""

    def __init__(self, claude: ClaudeHome) -> None:
        self.claude = claude

    def __call__(self, *, is_final: bool = False, **options: Any) -> RelationsReport:
        claude = self.claude
        with Store(claude.store_path, claude.clock) as store:
            for adapter in load_adapters().values():
                roots = tuple(adapter.roots(make_environment(claude.home), []))
                Ingest(adapter=adapter, store=store, roots=roots).scan()
            if is_final:
                store.mark_all_stopped()
            with StoreReader(claude.store_path) as reader:
                transcripts, relations_sync = self._make_stages(store, reader, options)
                transcripts.run()
                report = relations_sync.run()
                while report.moved_threads:
                    transcripts.run()
                    again = relations_sync.run()
                    report.files_written += again.files_written
                    if not again.moved_threads:
                        break
                return report

    def _make_stages(
        self, store: Store, reader: StoreReader, options: Any
    ) -> tuple[TranscriptStage, RelationsSync]:
        claude = self.claude
        policy = OutputPolicy(
            home=claude.home,
            central=claude.store_path.parent / "central",
            user=os.getuid(),
        )
        data = {"store": store, "reader": reader, "clock": claude.clock}
        redactor = Redactor(b"key")
        transcripts = TranscriptStage(
            **data,
            redactor=redactor,
            policy=policy,
            backfill="project",
            is_final=True,
            zone=UTC,
        )
        relations_sync = RelationsSync(
            **data, redact=redactor.redact, retry_delays=(), **options
        )
        return transcripts, relations_sync


@pytest.fixture
def sync_relations(claude: ClaudeHome) -> RelationsHarness:
    return RelationsHarness(claude)


def get_relations_path(project: Path) -> Path:
    return project / ".leslie" / "thread_relations.json"


def load_relations(project: Path) -> dict[str, Any]:
    return json.loads(get_relations_path(project).read_text())


def save_relations(project: Path, data: dict[str, Any]) -> None:
    get_relations_path(project).parent.mkdir(exist_ok=True)
    get_relations_path(project).write_text(json.dumps(data, indent=2) + "\n")


def write_claim(project: Path, thread_id: str, session_id: str = SESSION) -> None:
    """Claim the session under an id of Leslie's."""
    data = {"version": "1.0", "operations": [], "relations": {}, "threads": {}}
    data["metadata"] = {"last_updated": "2026-02-08T16:00:00Z", "thread_count": 0}
    data = load_relations(project) if get_relations_path(project).exists() else data
    data["threads"][thread_id] = make_leslie_thread(thread_id, session_id=session_id)
    save_relations(project, data)


def write_fork(
    claude: ClaudeHome, lines: list[Any], name: str, cwd: Path
) -> ClaudeLogBuilder:
    """Write a session that starts with another's lines; return its builder."""
    builder = ClaudeLogBuilder(name, str(cwd))
    for _ in range(len(lines) + 20 * int(name[0])):
        builder.line("x")
    copies = [{**line, "sessionId": name} for line in lines]
    own_lines = [builder.prompt(f"another way {name[0]}"), builder.answer("hm")]
    claude.write(*copies, *own_lines, name=f"-home-dev-app/{name}.jsonl")
    return builder


def test_a_thread_with_a_transcript_is_in_the_relations_file(
    claude: ClaudeHome,
    sync_relations: RelationsHarness,
    builder: ClaudeLogBuilder,
    project: Path,
):
    claude.write(builder.prompt("fix the login bug"), builder.answer("Done."))

    report = sync_relations(is_final=True)

    data = load_relations(project)
    thread = data["threads"]["thread-11111111"]
    assert (report.files_written, data["metadata"]["thread_count"]) == (1, 1)
    assert thread["session_id"] == SESSION
    assert thread["title"] == "fix the login bug"
    assert (thread["status"], thread["executor"]) == ("completed", "agent")
    assert thread["storage_path"] == ".leslie/threads/thread-11111111"
    assert thread["created_at"] == "2026-11-16T10:00:01.000Z"


def test_a_second_run_writes_nothing(
    claude: ClaudeHome,
    sync_relations: RelationsHarness,
    builder: ClaudeLogBuilder,
    project: Path,
):
    claude.write(builder.prompt("one"), builder.answer("1"))
    sync_relations(is_final=True)
    before = (
        get_relations_path(project).read_bytes(),
        get_relations_path(project).stat().st_mtime_ns,
    )
    claude.clock.advance(60)

    assert sync_relations(is_final=True).files_written == 0
    assert before == (
        get_relations_path(project).read_bytes(),
        get_relations_path(project).stat().st_mtime_ns,
    )


def test_another_turn_of_the_same_session_writes_nothing(
    claude: ClaudeHome,
    sync_relations: RelationsHarness,
    builder: ClaudeLogBuilder,
    project: Path,
):
    claude.clock.at = claude.clock.at.replace(hour=10)
    claude.write(builder.prompt("one"), builder.answer("1"))
    sync_relations()
    claude.write(builder.prompt("two"), builder.answer("2"))

    assert sync_relations().files_written == 0
    assert load_relations(project)["threads"]["thread-11111111"]["status"] == "active"


def test_a_session_that_becomes_quiet_is_completed_without_new_entries(
    claude: ClaudeHome,
    sync_relations: RelationsHarness,
    builder: ClaudeLogBuilder,
    project: Path,
):
    claude.clock.at = claude.clock.at.replace(hour=10)
    claude.write(builder.prompt("one"), builder.answer("1"))
    sync_relations()
    claude.clock.advance(11 * 60)

    assert sync_relations().files_written == 1
    data = load_relations(project)
    assert data["threads"]["thread-11111111"]["status"] == "completed"
    assert [o["command"] for o in data["operations"]] == ["spawn", "lifecycle"]


def test_a_continued_session_is_active_again(
    claude: ClaudeHome,
    sync_relations: RelationsHarness,
    builder: ClaudeLogBuilder,
    project: Path,
):
    claude.clock.at = claude.clock.at.replace(hour=11)
    claude.write(builder.prompt("one"), builder.answer("1"))
    sync_relations()
    claude.clock.at = claude.clock.at.replace(hour=10)
    claude.write(builder.prompt("two"), builder.answer("2"))
    sync_relations()

    thread = load_relations(project)["threads"]["thread-11111111"]
    assert thread["status"] == "active"


@pytest.mark.threat("S3")
def test_a_title_contains_no_secret_and_no_line_break(
    claude: ClaudeHome,
    sync_relations: RelationsHarness,
    builder: ClaudeLogBuilder,
    project: Path,
):
    claude.write(builder.prompt(f"use {SECRET} \t now\nand more"), builder.answer("1"))

    sync_relations(is_final=True)

    title = load_relations(project)["threads"]["thread-11111111"]["title"]
    assert SECRET not in get_relations_path(project).read_text()
    assert title.startswith("use ")
    assert not {"\n", "\t"} & set(title)


@pytest.mark.parametrize("order", [(SESSION, OTHER), (OTHER, SESSION)])
def test_a_fork_is_a_child_whichever_log_is_read_first(
    claude: ClaudeHome,
    sync_relations: RelationsHarness,
    builder: ClaudeLogBuilder,
    project: Path,
    order: Any,
):
    lines = [builder.prompt("one"), builder.answer("1")]
    for name in order:
        if name == OTHER:
            write_fork(claude, lines, OTHER, project)
        else:
            claude.write(*lines, builder.prompt("two"), builder.answer("2"))
        sync_relations(is_final=True)
    sync_relations(is_final=True)

    data = load_relations(project)
    assert data["threads"]["thread-22222222"]["parent_id"] == "thread-11111111"
    assert data["threads"]["thread-11111111"]["parent_id"] is None
    assert data["relations"]["thread-11111111"]["children"] == ["thread-22222222"]
    assert rebuild_relations(data["operations"]) == data["relations"]


def test_a_fork_of_a_fork_is_a_grandchild(
    claude: ClaudeHome,
    sync_relations: RelationsHarness,
    builder: ClaudeLogBuilder,
    project: Path,
):
    lines = [builder.prompt("one"), builder.answer("1")]
    claude.write(*lines, builder.prompt("two"), builder.answer("2"))
    child = ClaudeLogBuilder(OTHER, str(project))
    for _ in range(30):
        child.line("x")
    longer_log = [*lines, child.prompt("three"), child.answer("3")]
    copies = [{**line, "sessionId": OTHER} for line in longer_log]
    claude.write(*copies, child.prompt("four"), name=f"-home-dev-app/{OTHER}.jsonl")
    write_fork(claude, longer_log, THIRD, project)

    sync_relations(is_final=True)

    threads = load_relations(project)["threads"]
    assert threads["thread-33333333"]["parent_id"] == "thread-22222222"
    assert threads["thread-22222222"]["parent_id"] == "thread-11111111"


def test_a_session_that_was_copied_completely_is_the_parent(
    claude: ClaudeHome,
    sync_relations: RelationsHarness,
    builder: ClaudeLogBuilder,
    project: Path,
):
    lines = [builder.prompt("one"), builder.answer("1")]
    claude.write(*lines)
    write_fork(claude, lines, OTHER, project)

    sync_relations(is_final=True)

    assert (
        load_relations(project)["threads"]["thread-22222222"]["parent_id"]
        == "thread-11111111"
    )


def test_a_session_whose_log_names_its_parent_is_a_child(
    claude: ClaudeHome, sync_relations: RelationsHarness
):
    copy_home(FIXTURES / "codex" / "fork", claude.home)

    sync_relations(is_final=True)

    (path,) = claude.store_path.parent.rglob("thread_relations.json")
    parents = [t["parent_id"] for t in json.loads(path.read_text())["threads"].values()]
    assert len(parents) == 2
    assert sum(parent is not None for parent in parents) == 1


def test_subagents_are_in_the_metadata_of_their_thread(
    claude: ClaudeHome,
    sync_relations: RelationsHarness,
    builder: ClaudeLogBuilder,
    project: Path,
):
    child = ClaudeLogBuilder(cwd=str(project))
    claude.write(
        builder.prompt("go"), builder.call("Agent", {}, "t1"), builder.answer("ok")
    )
    folder = f"-home-dev-app/{SESSION}/subagents"
    claude.write(
        child.prompt("look", isSidechain=True), name=f"{folder}/agent-a1.jsonl"
    )
    meta = claude.log(f"{folder}/agent-a1.meta.json")
    meta.write_text(
        json.dumps({"agentType": "Explore", "description": f"find {SECRET}"})
    )

    sync_relations(is_final=True)

    data = load_relations(project)
    (subagent,) = data["threads"]["thread-11111111"]["metadata"]["subagents"]
    assert (subagent["id"], subagent["type"]) == ("a1", "Explore")
    assert subagent["description"].startswith("find [REDACTED:")
    assert list(data["threads"]) == ["thread-11111111"]


def test_a_relations_file_that_cannot_be_read_is_not_changed(
    claude: ClaudeHome,
    sync_relations: RelationsHarness,
    builder: ClaudeLogBuilder,
    project: Path,
):
    get_relations_path(project).parent.mkdir()
    get_relations_path(project).write_bytes(b"somebody's half-written file")
    claude.write(builder.prompt("one"), builder.answer("1"))

    report = sync_relations(is_final=True)

    assert "cannot be read" in report.errors[str(project)]
    assert get_relations_path(project).read_bytes() == b"somebody's half-written file"
    # It is not tried again until a thread changes.
    assert sync_relations().errors == {}


def test_a_relations_file_that_exists_but_gives_no_bytes_is_not_replaced(
    claude: ClaudeHome,
    sync_relations: RelationsHarness,
    builder: ClaudeLogBuilder,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    path = get_relations_path(project)
    path.parent.mkdir()
    path.write_bytes(b"of others")
    monkeypatch.setattr(Folder, "read_file", lambda *_: None)
    claude.write(builder.prompt("one"), builder.answer("1"))

    report = sync_relations(is_final=True)

    assert "cannot be read" in report.errors[str(project)]
    assert path.read_bytes() == b"of others"


def test_while_leslie_holds_the_lock_nothing_is_written_and_nothing_lost(
    claude: ClaudeHome,
    sync_relations: RelationsHarness,
    builder: ClaudeLogBuilder,
    project: Path,
):
    lock = project / ".leslie" / "thread_relations.json.lock"
    lock.mkdir(parents=True)
    os.utime(lock, (claude.clock.now().timestamp(),) * 2)
    claude.write(builder.prompt("one"), builder.answer("1"))
    report = sync_relations(is_final=True)

    assert (report.files_written, report.has_more, report.errors) == (0, True, {})
    lock.rmdir()
    assert sync_relations(is_final=True).files_written == 1


@pytest.mark.fault("D6")
def test_a_deleted_folder_is_not_created_again_for_the_relations_file(
    claude: ClaudeHome,
    sync_relations: RelationsHarness,
    builder: ClaudeLogBuilder,
    project: Path,
):
    claude.clock.at = claude.clock.at.replace(hour=10)
    claude.write(builder.prompt("one"), builder.answer("1"))
    sync_relations()
    subprocess.run(["rm", "-r", str(project / ".leslie")], check=True)

    assert sync_relations(is_final=True).errors == {}
    assert not (project / ".leslie").exists()


# Leslie's own ids


def test_a_thread_that_leslie_claimed_early_has_leslies_id_from_its_first_file(
    claude: ClaudeHome,
    sync_relations: RelationsHarness,
    builder: ClaudeLogBuilder,
    project: Path,
):
    write_claim(project, "thread-leslie01")
    claude.write(builder.prompt("one"), builder.answer("1"))

    sync_relations(is_final=True)

    (written,) = project.rglob("*.txt")
    assert written.is_relative_to(project / ".leslie/threads/thread-leslie01")
    assert parse_document(written.read_text()).thread_id == "thread-leslie01"
    assert list(load_relations(project)["threads"]) == ["thread-leslie01"]


def test_every_unit_of_an_early_claimed_thread_has_leslies_id(
    claude: ClaudeHome,
    sync_relations: RelationsHarness,
    builder: ClaudeLogBuilder,
    project: Path,
):
    write_claim(project, "thread-leslie01")
    claude.write(builder.prompt("one"), builder.answer("1"), builder.prompt("two"))

    sync_relations()

    files = list(project.rglob("*.txt"))
    assert {parse_document(f.read_text()).thread_id for f in files} == {
        "thread-leslie01"
    }
    assert len(files) == 2


@pytest.mark.threat("P3", "X7")
@pytest.mark.parametrize("name", ["../../x", ".hidden", "a/b", "x" * 65])
def test_a_claim_under_a_hostile_name_is_ignored(
    claude: ClaudeHome,
    sync_relations: RelationsHarness,
    builder: ClaudeLogBuilder,
    project: Path,
    name: str,
):
    write_claim(project, name)
    claude.write(builder.prompt("one"), builder.answer("1"))

    sync_relations(is_final=True)

    (written,) = project.rglob("*.txt")
    assert written.is_relative_to(project / ".leslie/threads/thread-11111111")


@pytest.fixture
def move_report(
    claude: ClaudeHome,
    sync_relations: RelationsHarness,
    builder: ClaudeLogBuilder,
    project: Path,
) -> RelationsReport:
    """Let Leslie claim a thread that has files, an asset and a fork."""
    lines = [builder.prompt("one"), builder.answer("1")]
    claude.write(*lines, builder.prompt("two"), builder.answer("2"))
    write_fork(claude, lines, OTHER, project)
    sync_relations(is_final=True)
    old = project / ".leslie/threads/thread-11111111"
    (old / "plan.md").write_text("the plan")
    new = project / ".leslie/threads/thread-leslie01"
    (new / ".meta/transcripts").mkdir(parents=True)
    (new / ".meta/transcripts/20261116-1000-one.txt").write_text("Leslie's")
    write_claim(project, "thread-leslie01")
    return sync_relations(is_final=True)


def test_a_claim_after_files_were_written_moves_the_folder(
    move_report: RelationsReport, project: Path
):
    new = project / ".leslie/threads/thread-leslie01"

    assert move_report.moved_threads == {"thread-11111111": "thread-leslie01"}
    assert not (project / ".leslie/threads/thread-11111111").exists()
    assert (new / "plan.md").read_text() == "the plan"
    names = sorted(path.name for path in (new / ".meta/transcripts").iterdir())
    assert names == [
        "20261116-1000-one-2.txt",
        "20261116-1000-one.txt",
        "20261116-1000-two.txt",
    ]
    assert (new / ".meta/transcripts/20261116-1000-one.txt").read_text() == "Leslie's"
    document = parse_document(
        (new / ".meta/transcripts/20261116-1000-two.txt").read_text()
    )
    assert document.thread_id == "thread-leslie01"


@pytest.mark.usefixtures("move_report")
def test_a_moved_thread_keeps_its_children(project: Path):
    data = load_relations(project)

    assert sorted(data["threads"]) == ["thread-22222222", "thread-leslie01"]
    assert data["threads"]["thread-22222222"]["parent_id"] == "thread-leslie01"
    assert data["relations"]["thread-leslie01"]["children"] == ["thread-22222222"]
    assert data["operations"][-1]["command"] == "merge"
    assert rebuild_relations(data["operations"]) == data["relations"]


@pytest.mark.usefixtures("move_report", "claude")
def test_a_thread_is_moved_only_once(sync_relations: RelationsHarness, project: Path):
    data = load_relations(project)
    del data["threads"]["thread-leslie01"]["session_id"]
    save_relations(project, data)
    write_claim(project, "thread-leslie02")

    assert sync_relations().moved_threads == {}
    assert not (project / ".leslie/threads/thread-leslie02").exists()


@pytest.mark.usefixtures("move_report")
def test_after_a_move_nothing_more_is_written(sync_relations: RelationsHarness):
    again = sync_relations(is_final=True)

    assert (again.files_written, again.moved_threads) == (0, {})


def test_a_thread_that_fails_unexpectedly_does_not_stop_the_others(
    claude: ClaudeHome,
    sync_relations: RelationsHarness,
    builder: ClaudeLogBuilder,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    other_builder = ClaudeLogBuilder(
        "22222222-2222-4333-8444-555555555555", str(project)
    )
    claude.write(builder.prompt("bad"))
    claude.write(
        other_builder.prompt("good"),
        name=f"-home-dev-app/{other_builder.session_id}.jsonl",
    )
    build_update = RelationsSync._build_update

    def fail_for_session(self: RelationsSync, main: Any, due: Any) -> Any:
        if main.key.session_id == SESSION:
            raise ZeroDivisionError
        return build_update(self, main, due)

    with monkeypatch.context() as patch:
        patch.setattr(RelationsSync, "_build_update", fail_for_session)
        report = sync_relations()

    assert report.errors[SESSION].startswith("unexpected ZeroDivisionError")
    assert list(load_relations(project)["threads"]) == ["thread-22222222"]
    sync_relations()
    assert len(load_relations(project)["threads"]) == 2


def test_a_thread_is_added_after_the_disk_was_full(
    claude: ClaudeHome,
    sync_relations: RelationsHarness,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    def fail(*_: object) -> None:
        raise SinkError("The disk is full.") from OSError(errno.ENOSPC, "full")

    builder = ClaudeLogBuilder(cwd=str(project))
    claude.write(builder.prompt("go"), builder.answer("Done."))
    with monkeypatch.context() as patch:
        patch.setattr("leslied.sinks.write_file", fail)
        report = sync_relations(is_final=True)

    sync_relations(is_final=True)

    assert "The disk is full." in report.errors[str(project)]
    assert (project / ".leslie" / "thread_relations.json").exists()
