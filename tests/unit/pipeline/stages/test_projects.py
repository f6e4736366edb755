"""Test the projects stage: the project of each working directory."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from leslied.model.project import ProjectFolder, Repository
from leslied.pipeline import Budget, ProjectsReport, ProjectStage
from leslied.pipeline.stages import projects
from leslied.projects.links import ProjectLinks, save_links
from leslied.store import Store
from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.git import get_root_commit, git, make_repository

REMOTE = "https://example.org/team/app.git"


class ProjectsHarness:
    """Ingests sessions in folders and finds their projects."""

    def __init__(self, claude: ClaudeHome, store: Store) -> None:
        self.claude = claude
        self.stage = ProjectStage(
            store=store,
            home=claude.home,
            links_file=claude.store_path.parent / "projects.json",
        )
        self.sessions = 0

    def work_in(self, *folders: Path) -> ProjectsReport:
        """Write a session in each folder, ingest them and run the stage."""
        for folder in folders:
            self.sessions += 1
            session_id = f"{self.sessions:08}-2222-4333-8444-555555555555"
            builder = ClaudeLogBuilder(session_id, str(folder))
            self.claude.write(builder.prompt("one"), name=f"-app/{session_id}.jsonl")
        self.claude.sync(self.stage.store)
        return self.stage.run()

    def folders(self) -> dict[str, ProjectFolder]:
        with self.stage.store.projects() as ledger:
            return {folder.path: folder for folder in ledger.list_folders()}

    def get_project(self, folder: Path) -> str:
        return self.folders()[str(folder)].project

    def get_repository(self, path: Path) -> Repository:
        with self.stage.store.projects() as ledger:
            repositories = {each.path: each for each in ledger.list_repositories()}
        return repositories[str(path)]


@pytest.fixture
def harness(claude: ClaudeHome) -> Iterator[ProjectsHarness]:
    with Store(claude.store_path, claude.clock) as store:
        yield ProjectsHarness(claude, store)


@pytest.fixture
def repository(home: Path) -> Path:
    return make_repository(home / "app", remote=REMOTE)


def test_the_project_of_a_subfolder_is_the_git_top_level(
    harness: ProjectsHarness, repository: Path
):
    harness.work_in(repository / "src")

    assert harness.get_project(repository / "src") == str(repository)


def test_without_git_the_project_is_the_working_directory(
    harness: ProjectsHarness, home: Path
):
    harness.work_in(home / "notes" / "deep")

    assert harness.get_project(home / "notes" / "deep") == str(home / "notes" / "deep")


def test_a_repository_in_the_home_folder_is_not_a_project(
    harness: ProjectsHarness, home: Path
):
    (home / ".git").mkdir()

    harness.work_in(home / "notes")

    assert harness.get_project(home / "notes") == str(home / "notes")


def test_working_trees_are_grouped_under_their_repository(
    harness: ProjectsHarness, repository: Path, home: Path
):
    git(repository, "worktree", "add", "-q", str(home / "tree"))

    harness.work_in(home / "tree" / "src")

    folder = harness.folders()[str(home / "tree" / "src")]
    assert folder.project == str(repository)
    assert folder.worktree == str(home / "tree")


def test_a_removed_working_tree_stays_in_its_project(
    harness: ProjectsHarness, repository: Path, home: Path
):
    tree = home / "tree"
    git(repository, "worktree", "add", "-q", str(tree))
    harness.work_in(tree)
    git(repository, "worktree", "remove", "--force", str(tree))

    harness.stage.run()

    assert harness.get_project(tree) == str(repository)


def test_a_folder_that_becomes_a_repository_is_found_by_a_scan(
    harness: ProjectsHarness, home: Path
):
    harness.work_in(home / "app" / "src")
    make_repository(home / "app")

    harness.stage.run()

    assert harness.get_project(home / "app" / "src") == str(home / "app")


def test_what_identifies_a_repository_is_learned(
    harness: ProjectsHarness, repository: Path
):
    harness.work_in(repository)

    learned = harness.get_repository(repository)
    assert learned.remote == "example.org/team/app"
    assert learned.root_commit == get_root_commit(repository)


def test_no_history_is_followed_while_logs_change(
    harness: ProjectsHarness, repository: Path
):
    harness.claude.write(ClaudeLogBuilder(cwd=str(repository)).prompt("one"))
    harness.claude.sync(harness.stage.store)

    report = harness.stage.run(Budget(changed_paths={Path("/log")}))

    assert report.has_more
    assert harness.get_repository(repository).root_commit == ""
    assert harness.get_project(repository) == str(repository)


def test_a_long_history_is_followed_in_several_runs(
    harness: ProjectsHarness, repository: Path, monkeypatch: pytest.MonkeyPatch
):
    for number in range(4):
        git(repository, "commit", "-q", "--allow-empty", "-m", str(number))
    monkeypatch.setattr(projects, "_MAX_COMMITS_PER_RUN", 4)

    first = harness.work_in(repository)
    after_first = harness.get_repository(repository)
    second = harness.stage.run(Budget(changed_paths=()))

    assert (first.has_more, second.has_more) == (True, False)
    assert after_first.root_commit == ""
    learned = harness.get_repository(repository)
    assert (learned.root_commit, learned.walked) == (get_root_commit(repository), 6)


def test_the_search_for_a_first_commit_ends_after_too_many_commits(
    harness: ProjectsHarness, repository: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(projects, "_MAX_COMMITS_PER_RUN", 1)
    monkeypatch.setattr(projects, "MAX_COMMITS", 1)

    report = harness.work_in(repository)

    assert harness.get_repository(repository).walked == -1
    assert not report.has_more


def test_a_repository_without_commits_is_tried_again(
    harness: ProjectsHarness, home: Path
):
    repository = make_repository(home / "app", commits=0)
    harness.work_in(repository)
    git(repository, "commit", "-q", "--allow-empty", "-m", "first")

    harness.stage.run()

    root_commit = harness.get_repository(repository).root_commit
    assert root_commit == get_root_commit(repository)


def test_a_moved_repository_keeps_its_sessions(
    harness: ProjectsHarness, home: Path, repository: Path
):
    harness.work_in(repository / "src")
    repository.rename(home / "new")

    report = harness.work_in(home / "new")

    assert harness.get_project(repository / "src") == str(home / "new")
    assert report.moved == {str(repository): str(home / "new")}


def test_a_repository_that_was_cloned_elsewhere_keeps_its_sessions(
    harness: ProjectsHarness, home: Path, repository: Path
):
    harness.work_in(repository)
    git(home, "clone", "-q", str(repository), "new")
    git(home / "new", "remote", "set-url", "origin", "git@example.org:team/app")
    shutil.rmtree(repository)

    harness.work_in(home / "new")

    assert harness.get_project(repository) == str(home / "new")


def test_a_clone_is_another_project_while_the_first_exists(
    harness: ProjectsHarness, home: Path, repository: Path
):
    git(home, "clone", "-q", str(repository), "new")
    git(home / "new", "remote", "set-url", "origin", REMOTE)

    harness.work_in(repository, home / "new")

    assert harness.get_project(repository) == str(repository)
    assert harness.get_project(home / "new") == str(home / "new")


def test_a_repository_that_comes_back_is_its_own_project_again(
    harness: ProjectsHarness, home: Path, repository: Path
):
    harness.work_in(repository)
    git(home, "clone", "-q", str(repository), "new")
    git(home / "new", "remote", "set-url", "origin", REMOTE)
    repository.rename(home / "away")
    harness.work_in(home / "new")
    (home / "away").rename(repository)

    harness.stage.run()

    assert harness.get_project(repository) == str(repository)


def test_a_link_of_the_user_applies_at_the_next_run(
    harness: ProjectsHarness, home: Path
):
    harness.work_in(home / "a", home / "b")
    links = ProjectLinks(links={str(home / "a"): str(home / "b")})
    save_links(harness.stage.links_file, links)

    harness.stage.run(Budget(changed_paths={Path("/log")}))

    assert harness.get_project(home / "a") == str(home / "b")


def test_a_project_that_the_user_separated_is_not_linked(
    harness: ProjectsHarness, home: Path, repository: Path
):
    save_links(harness.stage.links_file, ProjectLinks(separate=[str(repository)]))
    harness.work_in(repository)
    repository.rename(home / "new")

    harness.work_in(home / "new")

    assert harness.get_project(repository) == str(repository)


def test_an_invalid_file_of_links_is_reported(harness: ProjectsHarness, home: Path):
    harness.stage.links_file.write_text("{")

    report = harness.work_in(home / "a")

    assert "cannot be read" in report.errors["links"]
    assert harness.get_project(home / "a") == str(home / "a")


def test_a_repository_that_replaces_another_is_identified(
    harness: ProjectsHarness, home: Path, repository: Path
):
    harness.work_in(repository)
    repository.rename(home / "away")
    make_repository(repository, commits=3)

    harness.stage.run()

    learned = harness.get_repository(repository)
    assert (learned.root_commit, learned.remote) == (get_root_commit(repository), "")


def test_a_run_without_news_changes_nothing(harness: ProjectsHarness, repository: Path):
    harness.work_in(repository)
    before = harness.stage.store.write_transactions

    harness.stage.run()

    assert harness.stage.store.write_transactions == before


def test_reloaded_settings_keep_the_pending_repositories(
    harness: ProjectsHarness, repository: Path
):
    harness.stage.memory.pending[str(repository)] = None
    stage = ProjectStage(
        store=harness.stage.store,
        home=harness.stage.home,
        links_file=harness.stage.links_file,
    )

    stage.adopt(harness.stage)

    assert list(stage.memory.pending) == [str(repository)]


def test_a_new_project_with_a_log_of_an_agent_asks_for_a_reload(
    harness: ProjectsHarness, project: Path
):
    harness.stage.log_names = (".agent.md",)
    (project / ".agent.md").touch(mode=0o600)
    (project / "src").mkdir()

    assert harness.work_in(project / "src").needs_reload
    assert not harness.stage.run().needs_reload
