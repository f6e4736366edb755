"""The threads of all projects, as trees."""

from __future__ import annotations

from pathlib import Path

import pytest

from leslied.layout import INDEX_FILE
from leslied.queries.context import QueryContext
from leslied.queries.threads.overview import load_thread_overview
from tests.support.thread_home import FORK, THREAD


def test_a_fork_is_below_its_parent(thread_queries: QueryContext, home: Path):
    overview = load_thread_overview(thread_queries)

    (project,) = overview.projects
    (root,) = project.threads
    assert (project.project, overview.total) == (str(home / "app"), 2)
    assert (root.id, [child.id for child in root.children]) == (THREAD, [FORK])


def test_a_thread_has_its_progress_and_assets(thread_queries: QueryContext):
    root = load_thread_overview(thread_queries).projects[0].threads[0]

    assert root.progress
    assert (root.progress.done, root.progress.open) == (1, 1)
    assert root.assets == {"plan": 1, "progress": 1, "transcript": 2}


def test_the_default_objective_is_not_shown(thread_queries: QueryContext):
    assert load_thread_overview(thread_queries).projects[0].threads[0].objective == ""


def test_the_json_form_is_nested(thread_queries: QueryContext):
    data = load_thread_overview(thread_queries).to_dict()

    assert data["projects"][0]["threads"][0]["children"][0]["id"] == FORK


@pytest.mark.parametrize("text", ["", "{", "[]", '{"threads": [{"id": 7}]}', None])
def test_threads_are_listed_without_a_usable_index(
    thread_queries: QueryContext, home: Path, text: str | None
):
    index = home / "app" / INDEX_FILE
    if text is None:
        index.unlink()
    else:
        index.write_text(text)

    overview = load_thread_overview(thread_queries)
    assert overview.total == 2
    assert overview.projects[0].threads[0].assets == {}


def test_a_store_without_threads_has_an_empty_overview(queries: QueryContext):
    assert load_thread_overview(queries).to_dict() == {"projects": [], "total": 0}
