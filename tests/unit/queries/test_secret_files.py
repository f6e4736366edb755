"""Files that leslied wrote and that contain secrets."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from leslied.app import App
from leslied.queries.context import QueryContext
from leslied.queries.secret_files import (
    OwnFile,
    count_secret_files,
    find_secret_files,
    iter_own_files,
)
from leslied.sinks import MAX_READ_BYTES
from tests.support.queries import SECRET

META = ".leslie/threads/thread-1/.meta"
OWN_NAMES = (
    ".leslie/INDEX.md",
    ".leslie/index.json",
    f"{META}/assets.json",
    f"{META}/exports/session.json.gz",
    f"{META}/transcripts/20261117-1200-task.txt",
    ".leslie/thread_relations.json",
    ".leslie/thread_relations.json.bak",
)


@pytest.fixture
def base(app: App) -> Path:
    """Return a folder of the central tree with files of leslied and of an agent."""
    folder = app.paths.central_dir / "app-12345678"
    for name in (*OWN_NAMES, ".leslie/threads/thread-1/plan.md", ".leslie/.gitignore"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = f"Use {SECRET}\n".encode()
        path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return folder


@pytest.fixture
def queries(app: App) -> Iterator[QueryContext]:
    with app.open_queries() as context:
        yield context


def test_only_files_that_leslied_writes_are_examined(queries: QueryContext, base: Path):
    assert sorted(iter_own_files(queries)) == sorted(
        OwnFile(base, n) for n in OWN_NAMES
    )


def test_files_with_secrets_are_listed_with_kinds_but_without_secrets(
    app: App, queries: QueryContext, base: Path
):
    (base / OWN_NAMES[0]).write_text("clean")

    result = find_secret_files(queries, app.load_redactor())

    assert len(result.files) == len(OWN_NAMES) - 1
    assert all(each.counts == {"github": 1} for each in result.files)
    assert result.to_dict()["count"] == len(OWN_NAMES) - 1
    assert SECRET not in repr(result.to_dict())


def test_a_quick_check_counts_the_files(queries: QueryContext, base: Path):
    assert base.exists()
    assert count_secret_files(queries, queries.redact) == len(OWN_NAMES)


@pytest.mark.parametrize("name", ["a.txt", "a.json.gz"])
def test_a_text_is_encoded_as_it_was_read(tmp_path: Path, name: str):
    file = OwnFile(tmp_path, name)
    data = file.encode("text \udcff")
    (tmp_path / name).write_bytes(data)

    assert file.read() == "text \udcff"
    assert file.encode(file.read()) == data


@pytest.mark.parametrize("name", ["large.txt", "large.gz", "damaged.gz", "missing.txt"])
def test_a_file_that_cannot_be_read_has_no_text(tmp_path: Path, name: str):
    large = bytes(MAX_READ_BYTES + 1)
    contents = {"large.txt": large, "large.gz": gzip.compress(large)}
    if name != "missing.txt":
        (tmp_path / name).write_bytes(contents.get(name, os.urandom(9)))

    assert OwnFile(tmp_path, name).read() == ""
