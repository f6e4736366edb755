"""Projects: the list, and the paths and names by which users select them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from leslied.errors import UserError
from leslied.jobs import link_project, sync
from leslied.queries.context import QueryContext
from leslied.queries.projects import (
    get_link_target,
    get_project_path,
    list_projects,
    resolve_project,
)
from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.git import git, make_repository
from tests.support.queries import SECRET, make_app


class NoProgress:
    """Ignore the progress of a sync."""

    def start(self, label: str, /, *, in_bytes: bool = False) -> None:
        pass

    def update(self, done: int, total: int, /) -> None:
        pass


@pytest.fixture
def repository(home: Path) -> Path:
    return make_repository(home / "app")


@pytest.fixture
def queries(claude: ClaudeHome, repository: Path, home: Path) -> Iterator[QueryContext]:
    """Yield a store with sessions in a repository and in two folders."""
    git(repository, "worktree", "add", "-q", str(home / "tree"))
    folders = [repository / "src", home / "tree", home / "a/web", home / "b/web"]
    for number, folder in enumerate([*folders, home / SECRET]):
        session_id = f"{number}1111111-2222-4333-8444-555555555555"
        builder = ClaudeLogBuilder(session_id, str(folder))
        claude.write(builder.prompt("one"), name=f"-app/{session_id}.jsonl")
    app = make_app(claude)
    sync(app, NoProgress(), stop_all=False)
    with app.open_queries() as context:
        yield context


def test_sessions_are_counted_by_project(
    queries: QueryContext, repository: Path, home: Path
):
    projects = {each.path: each for each in list_projects(queries).projects}

    app = projects[str(repository)]
    assert (app.sessions, app.exists) == (2, True)
    assert app.folders == [f"{repository}/src", f"{home}/tree"]
    assert app.worktrees == [f"{home}/tree"]
    assert not projects[f"{home}/a/web"].exists


def test_hidden_sessions_and_their_projects_are_not_listed(
    queries: QueryContext, claude: ClaudeHome, repository: Path
):
    before = list_projects(queries)
    for number, folder in enumerate(["/hidden", str(repository)]):
        session_id = f"{number}0000000-2222-4333-8444-555555555555"
        command = "<command-name>/exit</command-name>"
        line = ClaudeLogBuilder(session_id, folder).prompt(command)
        claude.write(line, name=f"-hidden/{session_id}.jsonl")
    claude.sync()

    assert list_projects(queries) == before


def test_paths_contain_no_secrets(queries: QueryContext):
    assert SECRET not in str(list_projects(queries).to_dict())


def test_links_are_listed(queries: QueryContext, claude: ClaudeHome, home: Path):
    link_project(make_app(claude), str(home / "a/web"), str(home / "b/web"))

    (linked,) = (each for each in list_projects(queries).projects if each.links)
    assert linked.to_dict()["links"] == [{"path": f"{home}/a/web", "automatic": False}]


def test_a_clone_is_listed_as_similar(
    queries: QueryContext, claude: ClaudeHome, repository: Path, home: Path
):
    git(home, "clone", "-q", str(repository), "clone")
    builder = ClaudeLogBuilder("another", str(home / "clone"))
    claude.write(builder.prompt("one"), name="-app/another.jsonl")
    sync(make_app(claude), NoProgress(), stop_all=False)

    projects = {each.path: each for each in list_projects(queries).projects}
    assert projects[str(repository)].similar == [f"{home}/clone"]


@pytest.mark.parametrize("name", ["app", "~/app", "~/app/x/y", "~/tree", "~/tree/x"])
def test_a_project_is_found_by_name_and_by_path(
    queries: QueryContext, repository: Path, name: str
):
    assert get_project_path(queries, name) == str(repository)


@pytest.mark.parametrize("name", ["nothing", "~/nowhere", "~", "/"])
def test_an_unknown_project_is_explained(queries: QueryContext, name: str):
    with pytest.raises(UserError, match="No session worked in"):
        get_project_path(queries, name)


def test_an_ambiguous_name_is_explained(queries: QueryContext):
    with pytest.raises(UserError, match="Several projects are named web"):
        get_project_path(queries, "web")


def test_a_folder_without_sessions_can_be_the_target_of_a_link(
    queries: QueryContext, home: Path
):
    (home / "empty").mkdir()
    new = make_repository(home / "new", commits=0)
    (new / "src").mkdir()

    assert get_link_target(queries, "~/empty") == f"{home}/empty"
    assert get_link_target(queries, "~/new/src") == f"{home}/new"
    assert get_link_target(queries, "app") == f"{home}/app"


@pytest.mark.usefixtures("queries")
def test_a_path_in_a_working_tree_means_its_repository(repository: Path, home: Path):
    assert resolve_project("~/tree/src", home) == str(repository)
    assert resolve_project("~/app/src", home) == f"{repository}/src"
    assert resolve_project("tree", home) == "tree"
