"""The context of a thread."""

from __future__ import annotations

from pathlib import Path

import pytest

from leslied.queries.context import QueryContext
from leslied.queries.threads.context import load_thread_context
from tests.unit.threads.test_context import ProjectBuilder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    builder = ProjectBuilder(tmp_path / "app")
    builder.add("thread-aaaa", "plan.md")
    builder.add("thread-bbbb", "design.md")
    builder.build("thread-aaaa")
    return builder.base


def test_the_context_lists_the_assets(queries: QueryContext, project: Path):
    data = load_thread_context(queries, "thread-aaaa", (), project).to_dict()

    assert [asset["type"] for asset in data["assets"]] == ["plan"]
    assert data["base"] == str(project)
    assert data["context"].startswith("<thread_context")


def test_an_extra_reference_adds_the_assets_of_another_thread(
    queries: QueryContext, project: Path
):
    located = load_thread_context(queries, "thread-aaaa", ("thread-bbbb",), project)

    assert [ref["thread"] for ref in located.to_dict()["refs"]] == ["thread-bbbb"]


def test_an_unknown_reference_is_a_warning(queries: QueryContext, project: Path):
    located = load_thread_context(queries, "thread-aaaa", ("thread-zzzz",), project)

    assert "thread-zzzz" in " ".join(located.context.warnings)
