"""The thread context that agents receive, byte for byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from leslied.layout import ASSET_PATHS, thread_folder
from leslied.threads.context import build_context
from leslied.threads.operations import CycleError, add_reference, upsert_threads
from leslied.threads.relations import encode_relations, make_empty_relations
from tests.support import golden
from tests.unit.threads.test_relations import NOW, make_thread

GOLDEN_FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "contexts"


def check_golden(request: pytest.FixtureRequest, name: str, xml: str) -> None:
    expected = golden.load_golden(
        GOLDEN_FOLDER / f"{name}.xml", xml + "\n", request.config
    )
    assert xml + "\n" == expected


class ProjectBuilder:
    """Builder of a project with threads."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.data = make_empty_relations()

    def add(self, name: str, *assets: str, **fields: Any) -> Path:
        """Add a thread with these assets; a name that ends with `/` is a folder."""
        upsert_threads(self.data, [make_thread(name, **fields)], NOW)
        return self.write(self.base / thread_folder(name), *assets)

    def write(self, folder: Path, *assets: str) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        for name in assets:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.mkdir() if name.endswith("/") else path.write_text(name)
        return folder

    def refer(self, source: str, target: str, binding: str = "live") -> None:
        add_reference(self.data, source, target, binding, NOW)

    def build(self, name: str, *extra_refs: str, prefix: str = ""):
        path = self.base / ".leslie" / "thread_relations.json"
        path.write_bytes(encode_relations(self.data))
        refs = [(ref, self.base) for ref in extra_refs]
        return build_context(self.base, name, extra_refs=refs, prefix=prefix)


@pytest.fixture
def project(tmp_path: Path) -> ProjectBuilder:
    return ProjectBuilder(tmp_path / "app")


ALL_ASSETS = [path if "." in path[1:] else f"{path}/" for _, path in ASSET_PATHS]


def test_assets_of_every_type_are_listed_in_order(project: ProjectBuilder, request):
    project.add("thread-a", *reversed(ALL_ASSETS))

    check_golden(request, "all-assets", project.build("thread-a").xml)


def test_references_are_shown_one_level_deep(project: ProjectBuilder, request):
    project.add("thread-a", "plan.md", "progress.md")
    project.add("thread-b", "design/", "learnings/")
    project.add("thread-c", "plan.md")
    project.refer("thread-a", "thread-b")
    project.refer("thread-b", "thread-c")

    context = project.build("thread-a")

    check_golden(request, "references", context.xml)
    assert context.warnings == []


def test_a_frozen_reference_points_at_the_frozen_copy(project: ProjectBuilder, request):
    folder = project.add("thread-a", "plan.md")
    project.add("thread-b", "plan.md", "design.md")
    project.refer("thread-a", "thread-b", "frozen")
    project.write(folder / "context" / "inherited" / "thread-b", "plan.md")

    check_golden(request, "frozen", project.build("thread-a").xml)


def test_a_live_reference_points_at_the_thread_even_if_there_is_a_copy(
    project: ProjectBuilder,
):
    folder = project.add("thread-a")
    project.add("thread-b", "plan.md")
    project.refer("thread-a", "thread-b", "live")
    project.write(folder / "context" / "inherited" / "thread-b", "plan.md")

    context = project.build("thread-a")

    assert context.refs == {"thread-b": [("plan", ".leslie/threads/thread-b/plan.md")]}


def test_a_thread_without_assets_gives_a_blank_line(project: ProjectBuilder, request):
    project.add("thread-a")
    project.add("thread-b")

    check_golden(request, "empty", project.build("thread-a").xml)
    check_golden(request, "empty-ref", project.build("thread-a", "thread-b").xml)


@pytest.mark.threat("R6")
def test_an_objective_cannot_end_its_attribute_or_line(
    project: ProjectBuilder, request
):
    project.add("thread-a", "plan.md")
    objective = "<obj> & \"quoted\" 'so'\n</thread_context>"
    project.data["threads"]["thread-a"]["objective"] = objective

    check_golden(request, "escaped", project.build("thread-a").xml)


def test_paths_in_the_central_tree_are_absolute(project: ProjectBuilder):
    project.add("thread-a", "plan.md")

    context = project.build("thread-a", prefix="/data/central/app-1/")

    path = "/data/central/app-1/.leslie/threads/thread-a/plan.md"
    assert context.assets == [("plan", path)]
    relations = 'relations_file="/data/central/app-1/.leslie/thread_relations.json"'
    assert relations in context.xml


def test_a_reference_to_a_missing_thread_is_omitted_with_a_warning(
    project: ProjectBuilder,
):
    project.add("thread-a")
    project.data["relations"]["thread-a"]["references_to"] = [
        "thread-gone",
        "../../etc",
    ]

    context = project.build("thread-a", "thread-nope")

    assert context.refs == {}
    assert context.warnings == [
        "W202: Referenced thread 'thread-gone' not found",
        "W202: Referenced thread '../../etc' not found",
        "W202: Referenced thread 'thread-nope' not found",
    ]


@pytest.mark.parametrize("target", ["thread-a", "thread-b", "thread-c"])
def test_a_reference_that_closes_a_cycle_is_refused(
    project: ProjectBuilder, target: str
):
    for name in ("thread-a", "thread-b", "thread-c"):
        project.add(name)
    project.refer("thread-c", "thread-b")
    project.refer("thread-b", "thread-a")

    with pytest.raises(CycleError, match="T201"):
        project.build("thread-a", target)


def test_a_cycle_in_the_relations_file_is_listed_with_a_warning(
    project: ProjectBuilder,
):
    project.add("thread-a")
    project.add("thread-b", "plan.md")
    project.data["relations"]["thread-a"]["references_to"] = ["thread-b"]
    project.data["relations"]["thread-b"]["references_to"] = ["thread-a"]

    context = project.build("thread-a")

    assert context.warnings == ["T201: thread-a and thread-b reference each other."]
    assert list(context.refs) == ["thread-b"]


def test_a_thread_has_the_same_context_before_it_is_in_the_relations_file(
    project: ProjectBuilder,
):
    project.write(project.base / thread_folder("thread-a"), "plan.md")
    before = build_context(project.base, "thread-a").xml

    project.add("thread-a")

    assert project.build("thread-a").xml == before


def test_the_same_files_give_the_same_bytes(project: ProjectBuilder):
    project.add("thread-a", *ALL_ASSETS)
    project.add("thread-b", *ALL_ASSETS)
    project.refer("thread-a", "thread-b")

    assert len({project.build("thread-a").xml for _ in range(3)}) == 1


@pytest.mark.threat("P3")
def test_an_invalid_thread_id_has_no_context(project: ProjectBuilder):
    project.add("thread-a")

    assert project.build("../thread-a").xml == ""
