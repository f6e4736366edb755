"""Assets in a thread's folder; symbolic links and pipes are not assets."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from leslied.layout import thread_folder
from leslied.threads import assets
from leslied.threads.assets import (
    compute_assets_digest,
    describe_file,
    find_assets,
    find_title,
    read_text,
)
from tests.support.records import rewrite_in_place

ID = "thread-1"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / thread_folder(ID)
    folder.mkdir(parents=True)
    return folder


def write_file(folder: Path, name: str, text: str = "x") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_assets_are_listed_in_order_in_both_forms(tmp_path: Path, folder: Path):
    names = ["design/a.md", "plan/b.md", "progress.md", "plan.md", "learnings/c.md"]
    for name in [*names, ".meta/transcripts/t.txt", "discuss/d.md", "design.md"]:
        write_file(folder, name)

    listed = find_assets(tmp_path, ID)

    assert [(asset.type, asset.relative_path) for asset in listed] == [
        ("plan", "plan.md"),
        ("plan", "plan"),
        ("progress", "progress.md"),
        ("design", "design.md"),
        ("design", "design"),
        ("learnings", "learnings"),
        ("discuss", "discuss"),
        ("transcript", ".meta/transcripts"),
    ]
    assert listed[0].path == ".leslie/threads/thread-1/plan.md"


def test_an_empty_folder_is_an_asset_and_a_missing_one_is_not(
    tmp_path: Path, folder: Path
):
    (folder / "learnings").mkdir()

    (asset,) = find_assets(tmp_path, ID)

    assert (asset.relative_path, asset.files) == ("learnings", ())
    assert find_assets(tmp_path, "thread-2") == []


def test_files_in_subfolders_belong_to_the_asset(tmp_path: Path, folder: Path):
    write_file(folder, "design/api/v2/routes.md")
    write_file(folder, "design/.hidden")
    write_file(folder, "design/a/b/c/d/too-deep.md")

    (asset,) = find_assets(tmp_path, ID)

    (file,) = asset.files
    assert file.path.endswith("design/api/v2/routes.md")


@pytest.mark.threat("X7")
def test_links_and_pipes_are_ignored(tmp_path: Path, folder: Path):
    secret = write_file(tmp_path, "secret.md")
    (folder / "plan.md").symlink_to(secret)
    (folder / "design").symlink_to(tmp_path)
    (folder / "learnings").mkdir()
    (folder / "learnings" / "secret.md").symlink_to(secret)
    os.mkfifo(folder / "progress.md")

    (asset,) = find_assets(tmp_path, ID)

    assert (asset.relative_path, asset.files) == ("learnings", ())


@pytest.mark.threat("X7")
def test_a_thread_folder_that_is_a_link_has_no_assets(tmp_path: Path, folder: Path):
    write_file(tmp_path, "elsewhere/plan.md")
    (folder.parent / "thread-2").symlink_to(tmp_path / "elsewhere")

    assert find_assets(tmp_path, "thread-2") == []


def test_a_file_is_described_by_its_hash_and_first_heading(
    tmp_path: Path, folder: Path
):
    text = "intro\n```\n# code\n```\n## Build the mill ##\n# other\n"
    write_file(folder, "plan.md", text)
    (asset,) = find_assets(tmp_path, ID)
    (file,) = asset.files

    description = describe_file(tmp_path, file)

    assert description.title == "Build the mill"
    assert description.sha256 == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# Plan", "Plan"),
        ("\ufeff# Plan\r\n", "Plan"),
        ("#Plan\n", ""),
        ("#\n# \n## Plan\n", "Plan"),
        ("# a\x1b[31mb\u202e\n", "a␛[31mb<U+202E>"),
        ("# " + "x" * 300, "x" * 119 + "…"),
        ("no heading", ""),
    ],
)
def test_a_title_is_one_line_with_visible_control_characters(text: str, title: str):
    assert find_title(text) == title


def test_a_large_file_is_listed_without_a_hash(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(assets, "MAX_HASHED_BYTES", 10)
    write_file(folder, "plan.md", "# Long\n" + "x" * 100)
    (asset,) = find_assets(tmp_path, ID)
    (file,) = asset.files

    description = describe_file(tmp_path, file)

    assert (description.sha256, description.title) == ("", "Long")


def test_a_file_that_changed_since_the_scan_has_no_hash(tmp_path: Path, folder: Path):
    path = write_file(folder, "plan.md", "one")
    (asset,) = find_assets(tmp_path, ID)
    (file,) = asset.files
    rewrite_in_place(path, b"two")

    assert describe_file(tmp_path, file).sha256 == ""


def test_files_beyond_the_limit_are_counted(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(assets, "MAX_FILES", 3)
    for number in range(5):
        write_file(folder, f"discuss/{number}.md")

    (asset,) = find_assets(tmp_path, ID)

    assert (len(asset.files), asset.omitted_files) == (3, 2)


def test_the_digest_changes_with_assets_but_not_with_transcripts(
    tmp_path: Path, folder: Path
):
    write_file(folder, "plan.md")
    before = compute_assets_digest(find_assets(tmp_path, ID))
    write_file(folder, ".meta/transcripts/t.txt")

    assert compute_assets_digest(find_assets(tmp_path, ID)) == before
    write_file(folder, "plan.md", "more")
    assert compute_assets_digest(find_assets(tmp_path, ID)) != before


def test_a_pipe_is_not_read(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")

    assert read_text(tmp_path, "pipe", 10) is None
