"""`leslied threads` and `leslied context` on the command line."""

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
from tests.support.waiting import MAX_WAIT_SECONDS

pytestmark = pytest.mark.e2e

FORK_SESSION = "22222222-2222-4333-8444-555555555555"
SECRET = "sk-ant-api03-" + "a1B2c" * 19


class FolderRunner(LesliedRunner):
    """Run leslied in `folder`, which a test may change."""

    def __init__(self, home: Path, folder: Path) -> None:
        super().__init__(home)
        self.folder = folder

    def __call__(self, *args: str, **environ: str) -> CommandResult:
        process = subprocess.run(
            [sys.executable, "-m", "leslied", *args],
            env={**self.environ, "PYTHONPATH": str(Path.cwd()), **environ},
            cwd=self.folder,
            capture_output=True,
            check=False,
            timeout=MAX_WAIT_SECONDS,
            text=True,
        )
        return CommandResult(process.returncode, process.stdout, process.stderr)


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
    """Sync a project with a session and its fork."""
    builder = ClaudeLogBuilder(cwd=str(project))
    lines = [builder.prompt("fix the login bug"), builder.answer("Done.")]
    claude.write(*lines, builder.prompt("and the logout"), builder.answer("Done."))
    fork = ClaudeLogBuilder(FORK_SESSION, str(project))
    # Skip nine seconds, so that the fork's own lines are newer than the copied ones.
    for _ in range(9):
        fork.line("x")
    copies = [{**line, "sessionId": FORK_SESSION} for line in lines]
    claude.write(
        *copies,
        fork.prompt("do it another way"),
        fork.answer("ok"),
        name=f"-home-dev-app/{FORK_SESSION}.jsonl",
    )
    command = FolderRunner(home, project)
    assert command("sync", "--stop-all").code == 0
    return command


def write_reference(project: Path, source: str, target: str) -> None:
    """Add a reference from one thread to another to the relations file."""
    path = project / ".leslie" / "thread_relations.json"
    data = parse_relations(path.read_bytes())
    add_reference(data, source, target, "live", "2026-11-16T12:00:00.000Z")
    path.write_bytes(encode_relations(data))


def test_a_second_sync_does_not_write_the_relations_file(
    leslied: LesliedRunner, project: Path
):
    path = project / ".leslie" / "thread_relations.json"
    before = path.read_bytes(), path.stat().st_mtime_ns

    leslied("sync", "--stop-all")

    assert before == (path.read_bytes(), path.stat().st_mtime_ns)


@pytest.mark.usefixtures("leslied")
def test_git_ignores_the_relations_file(project: Path):
    write_reference(project, "thread-11111111", "thread-22222222")
    status = subprocess.run(
        ["git", "-C", str(project), "status", "--porcelain", "-uall"],
        capture_output=True,
        check=True,
    )

    assert status.stdout == b""


def test_the_tree_shows_forks_below_their_origin(leslied: LesliedRunner):
    lines = leslied("threads", "tree").out.split("\n")

    assert lines[:3] == [
        "~/app",
        "○ thread-11111111 fix the login bug",
        "└─ ○ thread-22222222 fix the login bug",
    ]


def test_the_tree_as_json_is_nested(leslied: LesliedRunner, project: Path):
    (tree,) = leslied("threads", "tree", "--json").json["data"]["projects"]

    (root,) = tree["threads"]
    assert tree["project"] == str(project)
    assert (root["id"], root["session_id"]) == ("thread-11111111", SESSION)
    assert [child["id"] for child in root["children"]] == ["thread-22222222"]


def test_the_graphviz_tree_has_solid_and_dashed_edges(
    leslied: LesliedRunner, project: Path
):
    write_reference(project, "thread-22222222", "thread-11111111")

    graph = leslied("threads", "tree", "--dot").out

    assert graph.startswith("digraph threads {\n")
    assert '"thread-11111111" -> "thread-22222222";' in graph
    assert '"thread-22222222" -> "thread-11111111" [style=dashed];' in graph


def test_the_list_counts_forks_and_references(leslied: LesliedRunner, project: Path):
    write_reference(project, "thread-22222222", "thread-11111111")

    (listing,) = leslied("threads", "list", "--json").json["data"]["projects"]
    table = leslied("threads", "list").out

    thread_by_id = {thread["id"]: thread for thread in listing["threads"]}
    assert thread_by_id["thread-11111111"]["children"] == ["thread-22222222"]
    assert thread_by_id["thread-22222222"]["references_to"] == ["thread-11111111"]
    assert table.startswith("THREAD")


def test_outside_a_project_every_project_is_shown(leslied: FolderRunner, home: Path):
    leslied.folder = home

    assert leslied("threads", "tree").out.startswith("~/app\n")


def test_context_defaults_to_the_last_thread_of_the_project(leslied: LesliedRunner):
    assert leslied("context").out == (
        '<thread_context thread="thread-22222222" objective="obj-11111111" '
        'relations_file=".leslie/thread_relations.json">\n'
        '  <asset type="transcript" '
        'path=".leslie/threads/thread-22222222/.meta/transcripts" />\n'
        "</thread_context>\n"
    )


def test_context_accepts_session_and_thread_ids_and_prefixes(leslied: LesliedRunner):
    ids = (SESSION, "thread-1", "1111")
    outputs = {leslied("context", id_).out for id_ in ids}

    assert len(outputs) == 1
    assert 'thread="thread-11111111"' in outputs.pop()


def test_context_shows_assets_of_referenced_threads(
    leslied: LesliedRunner, project: Path
):
    folder = project / ".leslie" / "threads" / "thread-22222222"
    (folder / "plan.md").write_text("# Plan")

    result = leslied("context", "thread-1111", "--ref", "thread-22222222", "--json")

    (ref,) = result.json["data"]["refs"]
    assert ref["thread"] == "thread-22222222"
    assert ref["assets"][0] == {
        "type": "plan",
        "path": ".leslie/threads/thread-22222222/plan.md",
    }
    assert result.json["data"]["context"].count("<ref ") == 1


def test_a_reference_to_an_unknown_thread_is_a_warning(leslied: LesliedRunner):
    result = leslied("context", "thread-1111", "--ref", "thread-nope", "--json")

    assert result.code == 0
    assert result.json["warnings"] == [
        "W202: Referenced thread 'thread-nope' not found"
    ]


def test_a_circular_reference_is_an_error(leslied: LesliedRunner, project: Path):
    write_reference(project, "thread-22222222", "thread-11111111")

    result = leslied("context", "thread-11111111", "--ref", "thread-22222222", "--json")

    assert (result.code, result.json["success"]) == (1, False)
    assert result.json["error"]["message"].startswith("T201")


def test_a_thread_created_by_leslie_needs_no_store(home: Path, project: Path):
    folder = project / ".leslie" / "threads" / "thread-leslie01"
    folder.mkdir(parents=True)
    (folder / "progress.md").write_text("# Progress")

    result = FolderRunner(home, project)("context", "thread-leslie01")

    assert result.code == 0
    assert 'path=".leslie/threads/thread-leslie01/progress.md"' in result.out


def test_an_unknown_thread_is_reported_with_a_hint(leslied: LesliedRunner):
    result = leslied("context", "thread-nope")

    assert (result.code, result.out) == (2, "")
    assert "leslied list" in result.err


def test_context_outside_a_project_is_refused_with_a_hint(
    leslied: FolderRunner, home: Path
):
    leslied.folder = home

    result = leslied("context")

    assert result.code == 2
    assert "leslied threads list" in result.err


def test_context_of_a_central_thread_has_absolute_paths(home: Path, claude: ClaudeHome):
    builder = ClaudeLogBuilder(cwd="/nowhere/app")
    claude.write(builder.prompt(f"use {SECRET}"), builder.answer("1"))
    leslied = FolderRunner(home, home)
    leslied("sync", "--stop-all")

    context = leslied("context", "thread-1111", "--json").json["data"]

    central = str(home / ".local/share/leslied/central")
    assert all(asset["path"].startswith(central) for asset in context["assets"])
    assert Path(context["assets"][0]["path"]).is_dir()
    relations = json.loads(
        (Path(context["base"]) / ".leslie/thread_relations.json").read_text()
    )
    assert SECRET not in json.dumps(relations)
