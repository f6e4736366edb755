"""Threads and their context, through the real program."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from leslied.threads.operations import add_reference
from leslied.threads.relations import encode_relations, parse_relations
from tests.support.claude import SESSION, ClaudeHome, ClaudeLogBuilder
from tests.support.cli import CommandResult, LesliedRunner
from tests.support.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.e2e

OTHER = "22222222-2222-4333-8444-555555555555"
SECRET = "sk-ant-api03-" + "a" * 95


class FolderRunner(LesliedRunner):
    """The program, run in one folder."""

    def __init__(self, home: Path, folder: Path) -> None:
        super().__init__(home)
        self.folder = folder

    def __call__(self, *words: str, **environ: str) -> CommandResult:
        done = subprocess.run(
            [sys.executable, "-m", "leslied", *words],
            env={**self.environ, "PYTHONPATH": str(Path.cwd()), **environ},
            cwd=self.folder,
            capture_output=True,
            check=False,
            timeout=PATIENCE_SECONDS,
            text=True,
        )
        return CommandResult(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def project(home: Path) -> Path:
    folder = home / "app"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    config = home / ".config" / "leslied" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[output]\nbackfill = "project"\n')
    return folder


@pytest.fixture
def leslied(home: Path, project: Path, claude: ClaudeHome) -> LesliedRunner:
    """A project with a session and a fork of it, synced."""
    talk = ClaudeLogBuilder(cwd=str(project))
    lines = [talk.prompt("fix the login bug"), talk.answer("Done.")]
    claude.write(*lines, talk.prompt("and the logout"), talk.answer("Done."))
    fork = ClaudeLogBuilder(OTHER, str(project))
    for _ in range(9):
        fork.line("x")
    copies = [{**line, "sessionId": OTHER} for line in lines]
    claude.write(
        *copies,
        fork.prompt("do it another way"),
        fork.answer("ok"),
        name=f"-home-dev-app/{OTHER}.jsonl",
    )
    command = FolderRunner(home, project)
    assert command("sync", "--stop-all").code == 0
    return command


def relate(project: Path, source: str, target: str) -> None:
    path = project / ".leslie" / "thread_relations.json"
    data = parse_relations(path.read_bytes())
    add_reference(data, source, target, "live", "2026-11-16T12:00:00.000Z")
    path.write_bytes(encode_relations(data))


def test_a_second_sync_leaves_the_relations_byte_for_byte(
    leslied: LesliedRunner, project: Path
):
    path = project / ".leslie" / "thread_relations.json"
    before = path.read_bytes(), path.stat().st_mtime_ns

    leslied("sync", "--stop-all")

    assert before == (path.read_bytes(), path.stat().st_mtime_ns)


def test_git_sees_nothing_of_the_relations(leslied: LesliedRunner, project: Path):
    relate(project, "thread-11111111", "thread-22222222")
    told = subprocess.run(
        ["git", "-C", str(project), "status", "--porcelain", "-uall"],
        capture_output=True,
        check=True,
    )

    assert told.stdout == b""


def test_the_tree_shows_forks_below_their_origin(leslied: LesliedRunner):
    lines = leslied("threads", "tree").out.split("\n")

    assert lines[:3] == [
        "~/app",
        "○ thread-11111111 fix the login bug",
        "└─ ○ thread-22222222 fix the login bug",
    ]


def test_the_tree_as_json_is_nested(leslied: LesliedRunner, project: Path):
    (told,) = leslied("threads", "tree", "--json").json["data"]["projects"]

    (root,) = told["threads"]
    assert told["project"] == str(project)
    assert (root["id"], root["session_id"]) == ("thread-11111111", SESSION)
    assert [child["id"] for child in root["children"]] == ["thread-22222222"]


def test_the_tree_for_graphviz_has_lines_and_dashes(
    leslied: LesliedRunner, project: Path
):
    relate(project, "thread-22222222", "thread-11111111")

    told = leslied("threads", "tree", "--dot").out

    assert told.startswith("digraph threads {\n")
    assert '"thread-11111111" -> "thread-22222222";' in told
    assert '"thread-22222222" -> "thread-11111111" [style=dashed];' in told


def test_the_list_counts_forks_and_references(leslied: LesliedRunner, project: Path):
    relate(project, "thread-22222222", "thread-11111111")

    (told,) = leslied("threads", "list", "--json").json["data"]["projects"]
    table = leslied("threads", "list").out

    by_id = {thread["id"]: thread for thread in told["threads"]}
    assert by_id["thread-11111111"]["children"] == ["thread-22222222"]
    assert by_id["thread-22222222"]["references_to"] == ["thread-11111111"]
    assert table.startswith("THREAD")


def test_outside_a_project_every_project_is_shown(leslied: FolderRunner, home: Path):
    leslied.folder = home

    assert leslied("threads", "tree").out.startswith("~/app\n")


def test_context_without_a_name_is_that_of_the_last_thread_here(leslied: LesliedRunner):
    assert leslied("context").out == (
        '<thread_context thread="thread-22222222" objective="obj-11111111" '
        'relations_file=".leslie/thread_relations.json">\n'
        '  <asset type="transcript" '
        'path=".leslie/threads/thread-22222222/.meta/transcripts" />\n'
        "</thread_context>\n"
    )


def test_context_takes_a_session_a_thread_or_a_beginning(leslied: LesliedRunner):
    told = {leslied("context", name).out for name in (SESSION, "thread-1", "1111")}

    assert len(told) == 1
    assert 'thread="thread-11111111"' in told.pop()


def test_context_shows_assets_and_what_it_refers_to(
    leslied: LesliedRunner, project: Path
):
    folder = project / ".leslie" / "threads" / "thread-22222222"
    (folder / "plan.md").write_text("# Plan")

    ran = leslied("context", "thread-1111", "--ref", "thread-22222222", "--json")

    (ref,) = ran.json["data"]["refs"]
    assert ref["thread"] == "thread-22222222"
    assert ref["assets"][0] == {
        "type": "plan",
        "path": ".leslie/threads/thread-22222222/plan.md",
    }
    assert ran.json["data"]["context"].count("<ref ") == 1


def test_a_reference_to_nobody_is_a_warning(leslied: LesliedRunner):
    ran = leslied("context", "thread-1111", "--ref", "thread-nope", "--json")

    assert ran.code == 0
    assert ran.json["warnings"] == ["W202: Referenced thread 'thread-nope' not found"]


def test_a_reference_that_closes_a_circle_is_an_error(
    leslied: LesliedRunner, project: Path
):
    relate(project, "thread-22222222", "thread-11111111")

    ran = leslied("context", "thread-11111111", "--ref", "thread-22222222", "--json")

    assert (ran.code, ran.json["success"]) == (1, False)
    assert ran.json["error"]["message"].startswith("T201")


def test_a_thread_of_leslies_own_needs_no_store(home: Path, project: Path):
    folder = project / ".leslie" / "threads" / "thread-leslie01"
    folder.mkdir(parents=True)
    (folder / "progress.md").write_text("# Progress")

    ran = FolderRunner(home, project)("context", "thread-leslie01")

    assert ran.code == 0
    assert 'path=".leslie/threads/thread-leslie01/progress.md"' in ran.out


def test_an_unknown_thread_gets_a_sentence_and_the_next_step(leslied: LesliedRunner):
    ran = leslied("context", "thread-nope")

    assert (ran.code, ran.out) == (2, "")
    assert "leslied list" in ran.err


def test_where_nobody_worked_context_says_so(leslied: FolderRunner, home: Path):
    leslied.folder = home

    ran = leslied("context")

    assert ran.code == 2
    assert "leslied threads list" in ran.err


def test_a_thread_in_the_central_tree_is_told_with_whole_paths(
    home: Path, claude: ClaudeHome
):
    talk = ClaudeLogBuilder(cwd="/nowhere/app")
    claude.write(talk.prompt(f"use {SECRET}"), talk.answer("1"))
    leslied = FolderRunner(home, home)
    leslied("sync", "--stop-all")

    told = leslied("context", "thread-1111", "--json").json["data"]

    central = str(home / ".local/share/leslied/central")
    assert all(asset["path"].startswith(central) for asset in told["assets"])
    assert Path(told["assets"][0]["path"]).is_dir()
    relations = json.loads(
        (Path(told["base"]) / ".leslie/thread_relations.json").read_text()
    )
    assert SECRET not in json.dumps(relations)
