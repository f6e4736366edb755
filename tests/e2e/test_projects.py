"""Projects on the command line: grouping, filters, links, and where files go."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from leslied.api import open_store
from leslied.hooks import learned_roots
from tests.support.claude import (
    AFTER_STORE_CREATION,
    SESSION,
    ClaudeHome,
    ClaudeLogBuilder,
)
from tests.support.cli import LesliedRunner
from tests.support.daemon import Daemon
from tests.support.git import git, make_repository
from tests.support.waiting import wait_until

pytestmark = pytest.mark.e2e

TREE_SESSION = "22222222-2222-4333-8444-555555555555"
OTHER_SESSION = "33333333-2222-4333-8444-555555555555"
THREADS = ".leslie/threads"


@pytest.fixture
def leslied(home: Path) -> LesliedRunner:
    return LesliedRunner(home)


@pytest.fixture
def repository(home: Path) -> Path:
    return make_repository(home / "app")


def write_session(
    claude: ClaudeHome, folder: Path, session_id: str = SESSION
) -> ClaudeLogBuilder:
    """Write a session that is newer than the store; return its builder."""
    builder = ClaudeLogBuilder(session_id, str(folder), AFTER_STORE_CREATION)
    name = f"-app/{session_id}.jsonl"
    claude.write(builder.prompt("fix the login"), builder.answer("Done."), name=name)
    return builder


@pytest.fixture
def synced_leslied(
    leslied: LesliedRunner, claude: ClaudeHome, repository: Path, home: Path
) -> LesliedRunner:
    """Sync sessions in a subfolder, in a working tree, and in another project."""
    git(repository, "worktree", "add", "-q", str(home / "tree"))
    git(repository, "worktree", "add", "-q", str(home / "unused"))
    write_session(claude, repository / "src")
    write_session(claude, home / "tree" / "src", TREE_SESSION)
    write_session(claude, home / "notes", OTHER_SESSION)
    assert leslied("sync", "--stop-all").code == 0
    return leslied


def list_ids(leslied: LesliedRunner, project: str) -> set[str]:
    answer = leslied("list", "--project", project, "--json").json
    return {session["id"] for session in answer["data"]["sessions"]}


@pytest.mark.parametrize(
    "project", ["app", "tree", "~/app", "~/app/docs", "~/tree", "~/tree/x", "~/unused"]
)
def test_every_path_and_name_of_a_project_selects_all_its_sessions(
    synced_leslied: LesliedRunner, project: str
):
    assert list_ids(synced_leslied, project) == {SESSION, TREE_SESSION}


def test_a_folder_above_selects_all_projects_below(synced_leslied: LesliedRunner):
    assert len(list_ids(synced_leslied, "~")) == 3


@pytest.mark.parametrize("project", ["src", "~/other", "ap"])
def test_what_is_not_a_project_selects_nothing(
    synced_leslied: LesliedRunner, project: str
):
    assert list_ids(synced_leslied, project) == set()


def test_lists_totals_and_views_show_the_same_project(
    synced_leslied: LesliedRunner, repository: Path, home: Path
):
    sessions = synced_leslied("list", "--json").json["data"]["sessions"]
    rows = synced_leslied("stats", "--by", "project", "--json").json["data"]["rows"]
    query = "SELECT DISTINCT project FROM transcript_entries ORDER BY 1"
    view = synced_leslied("sql", query, "--json").json["data"]["rows"]
    hits = synced_leslied("search", "login project:app", "--json").json["data"]["hits"]

    projects = {session["id"]: session["project"] for session in sessions}
    assert projects[SESSION] == projects[TREE_SESSION] == str(repository)
    assert {session["cwd"] for session in sessions} == {
        f"{repository}/src",
        f"{home}/tree/src",
        f"{home}/notes",
    }
    names = {str(repository), str(home / "notes")}
    assert {row["project"] for row in rows} == names
    assert {row["project"] for row in view} == names
    assert {hit["session_id"] for hit in hits} == {SESSION, TREE_SESSION}


@pytest.mark.usefixtures("synced_leslied")
def test_scripts_select_projects_in_the_same_way(repository: Path, home: Path):
    with open_store(home / ".local/share/leslied/store.db") as store:
        sessions = list(store.sessions(project=str(home / "tree")))

    assert {session.id for session in sessions} == {SESSION, TREE_SESSION}
    assert {session.project for session in sessions} == {str(repository)}


@pytest.mark.usefixtures("synced_leslied")
def test_a_working_tree_writes_to_its_own_folder(repository: Path, home: Path):
    assert (repository / THREADS / "thread-11111111").is_dir()
    assert (home / "tree" / THREADS / "thread-22222222").is_dir()


def test_sessions_of_a_removed_working_tree_write_to_the_repository(
    leslied: LesliedRunner, claude: ClaudeHome, repository: Path, home: Path
):
    git(repository, "worktree", "add", "-q", str(home / "tree"))
    builder = write_session(claude, home / "tree")
    leslied("sync", "--stop-all")
    git(repository, "worktree", "remove", "--force", str(home / "tree"))
    claude.write(builder.prompt("and now"), name=f"-app/{SESSION}.jsonl")

    result = leslied("sync", "--stop-all", "--json")

    folder = repository / THREADS / "thread-11111111/.meta/transcripts"
    names = [path.name.partition("-0000-")[2] for path in sorted(folder.glob("*.txt"))]
    assert names == ["and-now.txt", "fix-the-login.txt"]
    assert result.json["data"]["transcripts_written"] == 2
    assert not (home / "tree").exists()


def test_a_moved_repository_takes_its_sessions_along(
    leslied: LesliedRunner, claude: ClaudeHome, repository: Path, home: Path
):
    builder = write_session(claude, repository)
    leslied("sync", "--stop-all")
    new = home / "new"
    repository.rename(new)
    write_session(claude, new, OTHER_SESSION)
    claude.write(builder.prompt("and now"), name=f"-app/{SESSION}.jsonl")

    leslied("sync", "--stop-all")

    assert list_ids(leslied, "~/app") == {SESSION, OTHER_SESSION}
    assert list_ids(leslied, "new") == {SESSION, OTHER_SESSION}
    assert "~/new: includes ~/app (moved)" in leslied("projects", "list").out
    folder = new / THREADS / "thread-11111111/.meta/transcripts"
    assert len(list(folder.glob("*.txt"))) == 2
    assert not repository.exists()


def test_projects_are_listed_with_their_working_trees(
    synced_leslied: LesliedRunner, repository: Path, home: Path
):
    projects = synced_leslied("projects", "list", "--json").json["data"]["projects"]
    table = synced_leslied("projects", "list").out

    first, _ = sorted(projects, key=lambda project: project["path"])
    assert first["path"] == str(repository)
    assert (first["sessions"], first["exists"]) == (2, True)
    assert first["worktrees"] == [str(home / "tree")]
    assert table.splitlines()[0].split()[:2] == ["PROJECT", "SESSIONS"]


def test_a_link_joins_projects_until_it_is_removed(synced_leslied: LesliedRunner):
    linked = synced_leslied("projects", "link", "notes", "~/app")
    ids_while_linked = list_ids(synced_leslied, "app")
    list_while_linked = synced_leslied("projects", "list").out
    unlinked = synced_leslied("projects", "unlink", "~/notes")

    assert linked.out == "~/notes is now part of ~/app.\n"
    assert ids_while_linked == {SESSION, TREE_SESSION, OTHER_SESSION}
    assert "~/app: includes ~/notes (linked by you)" in list_while_linked
    assert unlinked.out == "~/notes is now its own project.\n"
    assert list_ids(synced_leslied, "app") == {SESSION, TREE_SESSION}


def test_a_running_daemon_applies_a_link(synced_leslied: LesliedRunner, home: Path):
    daemon = Daemon(home)
    try:
        wait_until(
            lambda: synced_leslied("status", "--json").json["data"]["daemon"]["running"]
        )
        linked = synced_leslied("projects", "link", "notes", "app")

        wait_until(lambda: len(list_ids(synced_leslied, "app")) == 3)
    finally:
        daemon.end(signal.SIGTERM)
    assert linked.out.endswith("The daemon applies this within a second.\n")


def test_a_link_survives_a_rebuild(synced_leslied: LesliedRunner):
    synced_leslied("projects", "link", "notes", "app")

    assert synced_leslied("rebuild").code == 0

    assert len(list_ids(synced_leslied, "app")) == 3


def test_a_removed_working_tree_is_known_after_a_rebuild(
    synced_leslied: LesliedRunner, repository: Path, home: Path
):
    git(repository, "worktree", "remove", "--force", str(home / "tree"))

    assert synced_leslied("rebuild").code == 0

    assert list_ids(synced_leslied, "app") == {SESSION, TREE_SESSION}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["link", "~/nowhere", "app"], "No session worked in ~/nowhere."),
        (["link", "app", "nothing"], "No session worked in nothing."),
        (["link", "app", "~/app/src"], "Both mean the project"),
        (["unlink", "app"], "is not linked to another project."),
    ],
)
def test_a_link_that_is_not_possible_is_explained(
    synced_leslied: LesliedRunner, arguments: list[str], message: str
):
    result = synced_leslied("projects", *arguments)

    assert result.code == 2
    assert message in result.err
    assert "Traceback" not in result.err


def test_a_session_that_goes_on_leaves_the_central_tree(
    leslied: LesliedRunner, claude: ClaudeHome, repository: Path, home: Path
):
    builder = ClaudeLogBuilder(cwd=str(repository))
    claude.write(builder.prompt("one"), builder.answer("1"))
    leslied("sync", "--stop-all")
    central = home / ".local/share/leslied/central"
    before = list(central.rglob("*.txt"))
    builder.started_at = AFTER_STORE_CREATION
    claude.write(builder.prompt("two"), builder.answer("2"))

    leslied("sync", "--stop-all")

    assert len(before) == 1
    assert list(central.rglob("*")) == []
    folder = repository / THREADS / "thread-11111111/.meta"
    assert len(list(folder.rglob("*.txt"))) == 2
    assert (folder / "assets.json").is_file()
    relations = (repository / ".leslie/thread_relations.json").read_text()
    assert "thread-11111111" in json.loads(relations)["threads"]


def test_threads_of_all_projects_are_listed_by_time(
    leslied: LesliedRunner, claude: ClaudeHome, home: Path
):
    for name, session_id in (("a", SESSION), ("b", TREE_SESSION)):
        write_session(claude, make_repository(home / name), session_id)
        leslied("sync", "--stop-all")

    table = leslied("threads", "list").out.splitlines()
    projects = leslied("threads", "list", "--json").json["data"]["projects"]

    assert [line.split()[0] for line in table[1:]] == [
        "thread-22222222",
        "thread-11111111",
    ]
    assert [Path(each["project"]).name for each in projects] == ["b", "a"]


def write_hook_event(home: Path, log: Path, session_id: str = SESSION) -> None:
    folder = home / ".local/share/leslied/hooks/spool"
    folder.mkdir(parents=True, exist_ok=True)
    event = {"hook_event_name": "Stop", "session_id": session_id}
    (folder / "1.json").write_text(json.dumps({**event, "transcript_path": str(log)}))


@pytest.fixture
def log_elsewhere(home: Path, claude: ClaudeHome, repository: Path) -> Path:
    """Return the log of a session with another CLAUDE_CONFIG_DIR."""
    claude.projects = home / "elsewhere" / "projects"
    write_session(claude, repository)
    return claude.log(f"-app/{SESSION}.jsonl")


def test_a_hook_teaches_the_folder_of_its_log(
    leslied: LesliedRunner, log_elsewhere: Path, home: Path
):
    leslied("sync")
    write_hook_event(home, log_elsewhere)

    leslied("sync")

    assert list_ids(leslied, "app") == {SESSION}
    file = home / ".local/share/leslied" / learned_roots.FILE
    assert f"{home}/elsewhere\n" in file.read_text()
    note = "claude-code: also reads ~/elsewhere/projects, which a hook named"
    assert note in leslied("status").out
    assert "a hook named the folder ~/elsewhere/projects" in leslied("doctor").out
    assert "~/elsewhere/projects (learned from a hook)" in leslied("agents").out


def test_a_learned_folder_survives_a_rebuild(
    leslied: LesliedRunner, log_elsewhere: Path, home: Path
):
    write_hook_event(home, log_elsewhere)
    leslied("sync")

    assert leslied("rebuild").code == 0

    assert list_ids(leslied, "app") == {SESSION}


def test_a_folder_of_a_disabled_agent_is_not_learned(
    leslied: LesliedRunner, log_elsewhere: Path, home: Path
):
    config = home / ".config" / "leslied" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("[agents.claude-code]\nenabled = false\n")
    write_hook_event(home, log_elsewhere)

    leslied("sync")

    assert not (home / ".local/share/leslied" / learned_roots.FILE).exists()
