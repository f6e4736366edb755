"""Threads of a project, and their lookup."""

from __future__ import annotations

from pathlib import Path

import pytest

from leslied.errors import LesliedError, UserError
from leslied.queries.context import QueryContext
from leslied.queries.threads.lookup import (
    get_latest_thread,
    get_thread,
    list_threads,
    load_thread_trees,
    render_graph,
)
from tests.support.queries import SECRET
from tests.unit.threads.test_context import ProjectBuilder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a project with a thread and its fork."""
    builder = ProjectBuilder(tmp_path / "app")
    builder.add("thread-aaaa", "plan.md", title=f"With {SECRET}")
    builder.add("thread-bbbb", "plan.md", parent="thread-aaaa")
    builder.build("thread-aaaa")
    return builder.base


def test_forks_are_below_their_parent(queries: QueryContext, project: Path):
    trees = load_thread_trees(queries, project)

    (tree,) = trees.projects
    assert [root.id for root in tree.threads] == ["thread-aaaa"]
    assert [child.id for child in tree.threads[0].children] == ["thread-bbbb"]
    assert "thread-bbbb" in render_graph(trees)


def test_titles_contain_no_secret(queries: QueryContext, project: Path):
    trees = load_thread_trees(queries, project)

    assert SECRET not in str(trees.to_dict())


def test_a_flat_list_names_the_forks_by_id(queries: QueryContext, project: Path):
    (data,) = list_threads(queries, project).to_dict()["projects"]

    assert data["project"] == str(project)
    assert {thread["id"]: thread["children"] for thread in data["threads"]} == {
        "thread-aaaa": ["thread-bbbb"],
        "thread-bbbb": [],
    }


def test_a_prefix_selects_a_thread_of_the_project(queries: QueryContext, project: Path):
    assert get_thread(queries, "thread-b", project) == ("thread-bbbb", project)


def test_an_unknown_thread_is_an_error(queries: QueryContext, project: Path):
    with pytest.raises(LesliedError):
        get_thread(queries, "thread-x", project)


def test_the_latest_thread_of_a_project_is_found(queries: QueryContext, project: Path):
    assert get_latest_thread(queries, project) == ("thread-bbbb", project)


def test_a_folder_without_threads_is_an_error(queries: QueryContext, tmp_path: Path):
    with pytest.raises(UserError, match="There is no thread"):
        get_latest_thread(queries, tmp_path)
