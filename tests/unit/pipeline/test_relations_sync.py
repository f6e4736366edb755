"""Threads in Leslie's relations file: once, only on news, and under Leslie's ids."""

from __future__ import annotations

import json
import os
import subprocess
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from leslied.agents import load_adapters
from leslied.pipeline import Ingest, RelationsReport, RelationsSync, Settle
from leslied.redact import Redactor
from leslied.sinks import OutputPolicy
from leslied.sinks.leslie import parse_document
from leslied.store import Store, StoreReader
from leslied.threads.relations import rebuild_relations
from tests.support.claude import SESSION, ClaudeHome, ClaudeLogBuilder
from tests.support.golden import FIXTURES, copy_home, make_environment
from tests.unit.threads.test_relations import leslies_thread

OTHER = "22222222-2222-4333-8444-555555555555"
THIRD = "33333333-2222-4333-8444-555555555555"
SECRET = "sk-ant-api03-" + "a" * 95


@pytest.fixture
def project(home: Path) -> Path:
    folder = home / "app"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


@pytest.fixture
def talk(project: Path) -> ClaudeLogBuilder:
    return ClaudeLogBuilder(cwd=str(project))


class RelationsHarness:
    """Ingest, settle and relate, over a home."""

    def __init__(self, claude: ClaudeHome) -> None:
        self.claude = claude

    def __call__(self, *, is_final: bool = False, **more: Any) -> RelationsReport:
        claude = self.claude
        with Store(claude.store_path, claude.clock) as store:
            for adapter in load_adapters().values():
                roots = tuple(adapter.roots(make_environment(claude.home), []))
                Ingest(adapter=adapter, store=store, roots=roots).scan()
            if is_final:
                store.mark_all_stopped()
            with StoreReader(claude.store_path) as reader:
                settle, relate = self._make(store, reader, more)
                settle.run()
                related = relate.run()
                while related.moved_threads:
                    settle.run()
                    again = relate.run()
                    related.files_written += again.files_written
                    if not again.moved_threads:
                        break
                return related

    def _make(
        self, store: Store, reader: StoreReader, more: Any
    ) -> tuple[Settle, RelationsSync]:
        claude = self.claude
        policy = OutputPolicy(
            home=claude.home,
            central=claude.store_path.parent / "central",
            user=os.getuid(),
        )
        known = {
            "store": store,
            "reader": reader,
            "redact": Redactor(b"key").redact,
            "clock": claude.clock,
        }
        settle = Settle(
            **known, policy=policy, backfill="project", is_final=True, zone=UTC
        )
        return settle, RelationsSync(**known, lock_waits=(), **more)


@pytest.fixture
def street(claude: ClaudeHome) -> RelationsHarness:
    return RelationsHarness(claude)


def main_of(project: Path) -> Path:
    return project / ".leslie" / "thread_relations.json"


def read(project: Path) -> dict[str, Any]:
    return json.loads(main_of(project).read_text())


def write(project: Path, data: dict[str, Any]) -> None:
    main_of(project).parent.mkdir(exist_ok=True)
    main_of(project).write_text(json.dumps(data, indent=2) + "\n")


def write_claim(project: Path, thread_id: str, session_id: str = SESSION) -> None:
    """Leslie says which of its threads the session works on."""
    known = {"version": "1.0", "operations": [], "relations": {}, "threads": {}}
    known["metadata"] = {"last_updated": "2026-02-08T16:00:00Z", "thread_count": 0}
    data = read(project) if main_of(project).exists() else known
    data["threads"][thread_id] = leslies_thread(thread_id, session_id=session_id)
    write(project, data)


def fork(
    claude: ClaudeHome, lines: list[Any], name: str, cwd: Path
) -> ClaudeLogBuilder:
    """A session that begins with copies of another's lines and goes its own way."""
    talk = ClaudeLogBuilder(name, str(cwd))
    for _ in range(len(lines) + 20 * int(name[0])):
        talk.line("x")
    copies = [{**line, "sessionId": name} for line in lines]
    own = [talk.prompt(f"another way {name[0]}"), talk.answer("hm")]
    claude.write(*copies, *own, name=f"-home-dev-app/{name}.jsonl")
    return talk


def test_a_thread_with_files_stands_in_the_relations(
    claude: ClaudeHome, street: RelationsHarness, talk: ClaudeLogBuilder, project: Path
):
    claude.write(talk.prompt("fix the login bug"), talk.answer("Done."))

    done = street(is_final=True)

    data = read(project)
    thread = data["threads"]["thread-11111111"]
    assert (done.files_written, data["metadata"]["thread_count"]) == (1, 1)
    assert thread["session_id"] == SESSION
    assert thread["title"] == "fix the login bug"
    assert (thread["status"], thread["executor"]) == ("completed", "agent")
    assert thread["storage_path"] == ".leslie/threads/thread-11111111"
    assert thread["created_at"] == "2026-11-16T10:00:01.000Z"


def test_a_second_run_writes_nothing(
    claude: ClaudeHome, street: RelationsHarness, talk: ClaudeLogBuilder, project: Path
):
    claude.write(talk.prompt("one"), talk.answer("1"))
    street(is_final=True)
    before = main_of(project).read_bytes(), main_of(project).stat().st_mtime_ns
    claude.clock.advance(60)

    assert street(is_final=True).files_written == 0
    assert before == (
        main_of(project).read_bytes(),
        main_of(project).stat().st_mtime_ns,
    )


def test_another_turn_of_the_same_session_writes_nothing(
    claude: ClaudeHome, street: RelationsHarness, talk: ClaudeLogBuilder, project: Path
):
    claude.clock.at = claude.clock.at.replace(hour=10)
    claude.write(talk.prompt("one"), talk.answer("1"))
    street()
    claude.write(talk.prompt("two"), talk.answer("2"))

    assert street().files_written == 0
    assert read(project)["threads"]["thread-11111111"]["status"] == "active"


def test_a_session_that_falls_silent_is_completed_without_news(
    claude: ClaudeHome, street: RelationsHarness, talk: ClaudeLogBuilder, project: Path
):
    claude.clock.at = claude.clock.at.replace(hour=10)
    claude.write(talk.prompt("one"), talk.answer("1"))
    street()
    claude.clock.advance(11 * 60)

    assert street().files_written == 1
    data = read(project)
    assert data["threads"]["thread-11111111"]["status"] == "completed"
    assert [o["command"] for o in data["operations"]] == ["spawn", "lifecycle"]


def test_a_session_that_goes_on_is_active_again(
    claude: ClaudeHome, street: RelationsHarness, talk: ClaudeLogBuilder, project: Path
):
    claude.clock.at = claude.clock.at.replace(hour=11)
    claude.write(talk.prompt("one"), talk.answer("1"))
    street()
    claude.clock.at = claude.clock.at.replace(hour=10)
    claude.write(talk.prompt("two"), talk.answer("2"))
    street()

    thread = read(project)["threads"]["thread-11111111"]
    assert thread["status"] == "active"


def test_a_title_carries_no_secret_and_no_line_break(
    claude: ClaudeHome, street: RelationsHarness, talk: ClaudeLogBuilder, project: Path
):
    claude.write(talk.prompt(f"use {SECRET} \t now\nand more"), talk.answer("1"))

    street(is_final=True)

    title = read(project)["threads"]["thread-11111111"]["title"]
    assert SECRET not in main_of(project).read_text()
    assert title.startswith("use ")


@pytest.mark.parametrize("order", [(SESSION, OTHER), (OTHER, SESSION)])
def test_a_fork_is_a_child_whichever_log_is_read_first(
    claude: ClaudeHome,
    street: RelationsHarness,
    talk: ClaudeLogBuilder,
    project: Path,
    order: Any,
):
    lines = [talk.prompt("one"), talk.answer("1")]
    for name in order:
        if name == OTHER:
            fork(claude, lines, OTHER, project)
        else:
            claude.write(*lines, talk.prompt("two"), talk.answer("2"))
        street(is_final=True)
    street(is_final=True)

    data = read(project)
    assert data["threads"]["thread-22222222"]["parent_id"] == "thread-11111111"
    assert data["threads"]["thread-11111111"]["parent_id"] is None
    assert data["relations"]["thread-11111111"]["children"] == ["thread-22222222"]
    assert rebuild_relations(data["operations"]) == data["relations"]


def test_a_fork_of_a_fork_is_a_grandchild(
    claude: ClaudeHome, street: RelationsHarness, talk: ClaudeLogBuilder, project: Path
):
    lines = [talk.prompt("one"), talk.answer("1")]
    claude.write(*lines, talk.prompt("two"), talk.answer("2"))
    child = ClaudeLogBuilder(OTHER, str(project))
    for _ in range(30):
        child.line("x")
    longer = [*lines, child.prompt("three"), child.answer("3")]
    copies = [{**line, "sessionId": OTHER} for line in longer]
    claude.write(*copies, child.prompt("four"), name=f"-home-dev-app/{OTHER}.jsonl")
    fork(claude, longer, THIRD, project)

    street(is_final=True)

    threads = read(project)["threads"]
    assert threads["thread-33333333"]["parent_id"] == "thread-22222222"
    assert threads["thread-22222222"]["parent_id"] == "thread-11111111"


def test_a_session_that_was_copied_whole_is_the_parent(
    claude: ClaudeHome, street: RelationsHarness, talk: ClaudeLogBuilder, project: Path
):
    lines = [talk.prompt("one"), talk.answer("1")]
    claude.write(*lines)
    fork(claude, lines, OTHER, project)

    street(is_final=True)

    assert read(project)["threads"]["thread-22222222"]["parent_id"] == "thread-11111111"


def test_a_fork_that_its_log_tells_of_is_a_child(
    claude: ClaudeHome, street: RelationsHarness
):
    copy_home(FIXTURES / "codex" / "fork", claude.home)

    street(is_final=True)

    (path,) = claude.store_path.parent.rglob("thread_relations.json")
    parents = [t["parent_id"] for t in json.loads(path.read_text())["threads"].values()]
    assert len(parents) == 2
    assert sum(parent is not None for parent in parents) == 1


def test_subagents_stand_in_their_threads_metadata(
    claude: ClaudeHome, street: RelationsHarness, talk: ClaudeLogBuilder, project: Path
):
    child = ClaudeLogBuilder(cwd=str(project))
    claude.write(talk.prompt("go"), talk.call("Agent", {}, "t1"), talk.answer("ok"))
    folder = f"-home-dev-app/{SESSION}/subagents"
    claude.write(
        child.prompt("look", isSidechain=True), name=f"{folder}/agent-a1.jsonl"
    )
    meta = claude.log(f"{folder}/agent-a1.meta.json")
    meta.write_text(
        json.dumps({"agentType": "Explore", "description": f"find {SECRET}"})
    )

    street(is_final=True)

    data = read(project)
    (told,) = data["threads"]["thread-11111111"]["metadata"]["subagents"]
    assert (told["id"], told["type"]) == ("a1", "Explore")
    assert told["description"].startswith("find [REDACTED:")
    assert list(data["threads"]) == ["thread-11111111"]


def test_a_project_whose_file_cannot_be_written_is_left_alone(
    claude: ClaudeHome, street: RelationsHarness, talk: ClaudeLogBuilder, project: Path
):
    main_of(project).parent.mkdir()
    main_of(project).write_bytes(b"somebody's half-written file")
    claude.write(talk.prompt("one"), talk.answer("1"))

    done = street(is_final=True)

    assert "cannot be read" in done.errors[str(project)]
    assert main_of(project).read_bytes() == b"somebody's half-written file"
    assert street().errors == {}


def test_while_leslie_holds_the_lock_nothing_is_written_and_nothing_lost(
    claude: ClaudeHome, street: RelationsHarness, talk: ClaudeLogBuilder, project: Path
):
    lock = project / ".leslie" / "thread_relations.json.lock"
    lock.mkdir(parents=True)
    os.utime(lock, (claude.clock.now().timestamp(),) * 2)
    claude.write(talk.prompt("one"), talk.answer("1"))
    done = street(is_final=True)

    assert (done.files_written, done.is_lock_busy, done.errors) == (0, True, {})
    lock.rmdir()
    assert street(is_final=True).files_written == 1


def test_a_tree_that_somebody_removed_does_not_come_back_for_the_relations(
    claude: ClaudeHome, street: RelationsHarness, talk: ClaudeLogBuilder, project: Path
):
    claude.clock.at = claude.clock.at.replace(hour=10)
    claude.write(talk.prompt("one"), talk.answer("1"))
    street()
    subprocess.run(["rm", "-r", str(project / ".leslie")], check=True)

    assert street(is_final=True).errors == {}
    assert not (project / ".leslie").exists()


# Leslie's own ids


def test_a_thread_that_leslie_knows_has_its_id_from_the_first_file(
    claude: ClaudeHome, street: RelationsHarness, talk: ClaudeLogBuilder, project: Path
):
    write_claim(project, "thread-leslie01")
    claude.write(talk.prompt("one"), talk.answer("1"))

    street(is_final=True)

    (written,) = project.rglob("*.txt")
    assert written.is_relative_to(project / ".leslie/threads/thread-leslie01")
    assert parse_document(written.read_text()).thread_id == "thread-leslie01"
    assert list(read(project)["threads"]) == ["thread-leslie01"]


@pytest.mark.parametrize("name", ["../../x", ".hidden", "a/b", "x" * 65])
def test_a_claim_under_a_hostile_name_is_no_claim(
    claude: ClaudeHome,
    street: RelationsHarness,
    talk: ClaudeLogBuilder,
    project: Path,
    name: str,
):
    """P3."""
    write_claim(project, name)
    claude.write(talk.prompt("one"), talk.answer("1"))

    street(is_final=True)

    (written,) = project.rglob("*.txt")
    assert written.is_relative_to(project / ".leslie/threads/thread-11111111")


@pytest.fixture
def moved(
    claude: ClaudeHome, street: RelationsHarness, talk: ClaudeLogBuilder, project: Path
) -> RelationsReport:
    """A thread with files, an asset and a fork, which Leslie then claims."""
    lines = [talk.prompt("one"), talk.answer("1")]
    claude.write(*lines, talk.prompt("two"), talk.answer("2"))
    fork(claude, lines, OTHER, project)
    street(is_final=True)
    old = project / ".leslie/threads/thread-11111111"
    (old / "plan.md").write_text("the plan")
    new = project / ".leslie/threads/thread-leslie01"
    (new / ".meta/transcripts").mkdir(parents=True)
    (new / ".meta/transcripts/20261116-1000-one.txt").write_text("Leslie's")
    write_claim(project, "thread-leslie01")
    return street(is_final=True)


def test_a_later_claim_moves_the_folder(moved: RelationsReport, project: Path):
    new = project / ".leslie/threads/thread-leslie01"

    assert moved.moved_threads == {"thread-11111111": "thread-leslie01"}
    assert not (project / ".leslie/threads/thread-11111111").exists()
    assert (new / "plan.md").read_text() == "the plan"
    names = sorted(path.name for path in (new / ".meta/transcripts").iterdir())
    assert names == [
        "20261116-1000-one-2.txt",
        "20261116-1000-one.txt",
        "20261116-1000-two.txt",
    ]
    assert (new / ".meta/transcripts/20261116-1000-one.txt").read_text() == "Leslie's"
    told = parse_document((new / ".meta/transcripts/20261116-1000-two.txt").read_text())
    assert told.thread_id == "thread-leslie01"


def test_a_moved_thread_keeps_its_family(moved: RelationsReport, project: Path):
    data = read(project)

    assert sorted(data["threads"]) == ["thread-22222222", "thread-leslie01"]
    assert data["threads"]["thread-22222222"]["parent_id"] == "thread-leslie01"
    assert data["relations"]["thread-leslie01"]["children"] == ["thread-22222222"]
    assert data["operations"][-1]["command"] == "merge"
    assert rebuild_relations(data["operations"]) == data["relations"]


def test_a_thread_moves_once(
    moved: RelationsReport, claude: ClaudeHome, street: RelationsHarness, project: Path
):
    data = read(project)
    del data["threads"]["thread-leslie01"]["session_id"]
    write(project, data)
    write_claim(project, "thread-leslie02")

    assert street().moved_threads == {}
    assert not (project / ".leslie/threads/thread-leslie02").exists()


def test_after_a_move_nothing_more_is_written(
    moved: RelationsReport, street: RelationsHarness
):
    again = street(is_final=True)

    assert (again.files_written, again.moved_threads) == (0, {})


def test_a_thread_that_fails_unexpectedly_holds_up_no_other(
    claude: ClaudeHome,
    street: RelationsHarness,
    talk: ClaudeLogBuilder,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    other = ClaudeLogBuilder("22222222-2222-4333-8444-555555555555", str(project))
    claude.write(talk.prompt("bad"))
    claude.write(other.prompt("good"), name=f"-home-dev-app/{other.session_id}.jsonl")
    describe = RelationsSync._build_update

    def stumble(self: RelationsSync, main: Any, due: Any) -> Any:
        if main.key.session_id == SESSION:
            raise ZeroDivisionError
        return describe(self, main, due)

    with monkeypatch.context() as patch:
        patch.setattr(RelationsSync, "_build_update", stumble)
        done = street()

    assert done.errors[SESSION].startswith("unexpected ZeroDivisionError")
    assert list(read(project)["threads"]) == ["thread-22222222"]
    street()
    assert len(read(project)["threads"]) == 2
