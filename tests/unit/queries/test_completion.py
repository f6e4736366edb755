"""Fast queries for shell completion."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from msgspec.structs import replace

from leslied.annotations import Annotations, SessionName
from leslied.queries.completion import list_tags


def test_every_tag_is_listed_once(tmp_path: Path):
    annotations = Annotations(tmp_path / "annotations.db")
    for name, tags in {"one": ("later", "bug"), "two": ("bug",)}.items():
        change = partial(replace, tags=tags)
        annotations.update(SessionName("codex", name), change, 1)

    assert list_tags(annotations.path) == ["bug", "later"]


def test_no_tags_are_listed_without_a_file(tmp_path: Path):
    assert list_tags(tmp_path / "annotations.db") == []
