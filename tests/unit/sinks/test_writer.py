"""Files are written atomically, and other files stay unharmed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from leslied import sinks
from leslied.errors import SinkError
from leslied.folders import Folder
from leslied.layout import GITIGNORE_FILE, GITIGNORE_TEXT, SHARED_FILES
from leslied.sinks import write_file
from tests.support.git import git, make_repository
from tests.support.waiting import MAX_WAIT_SECONDS


def test_a_temporary_file_left_by_a_crash_is_replaced(tmp_path: Path):
    (tmp_path / ".leslied-new").write_text("half")

    write_file(tmp_path, "a.txt", b"whole")

    assert (tmp_path / "a.txt").read_bytes() == b"whole"
    assert not (tmp_path / ".leslied-new").exists()


@pytest.mark.fault("B13")
@pytest.mark.threat("P6")
@pytest.mark.timeout(MAX_WAIT_SECONDS)
def test_a_pipe_with_the_temporary_name_does_not_block(tmp_path: Path):
    os.mkfifo(tmp_path / ".leslied-new")

    write_file(tmp_path, "a.txt", b"whole")

    assert (tmp_path / "a.txt").read_bytes() == b"whole"


@pytest.mark.threat("P2", "P6")
@pytest.mark.parametrize("is_hard", [True, False])
def test_a_link_with_the_temporary_name_is_not_followed(tmp_path: Path, is_hard: bool):  # noqa: FBT001
    victim = tmp_path / "victim"
    victim.write_text("mine")
    link = os.link if is_hard else os.symlink
    link(victim, tmp_path / ".leslied-new")

    write_file(tmp_path, "a.txt", b"whole")

    assert victim.read_text() == "mine"


@pytest.mark.threat("P6")
def test_a_file_that_is_replaced_keeps_its_other_names(tmp_path: Path):
    (tmp_path / "victim").write_text("mine")
    (tmp_path / "a.txt").hardlink_to(tmp_path / "victim")

    write_file(tmp_path, "a.txt", b"whole")

    assert (tmp_path / "victim").read_text() == "mine"


def test_of_a_sparse_file_of_any_size_only_the_first_bytes_are_read(tmp_path: Path):
    (tmp_path / "large").touch()
    os.truncate(tmp_path / "large", 2**40)

    data = sinks.read_file(tmp_path, "large")

    assert data is not None
    assert len(data) == sinks.MAX_READ_BYTES + 1


@pytest.mark.threat("S8")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, GITIGNORE_TEXT),
        ("", GITIGNORE_TEXT),
        (GITIGNORE_TEXT, GITIGNORE_TEXT),
        (f"# mine\n{GITIGNORE_TEXT}", f"# mine\n{GITIGNORE_TEXT}"),
        ("/index.json\n/.gitignore\n", GITIGNORE_TEXT),
        ("!*", f"!*\n{GITIGNORE_TEXT}"),
        (f"{GITIGNORE_TEXT}!*\n", f"{GITIGNORE_TEXT}!*\n{GITIGNORE_TEXT}"),
        (f"!{GITIGNORE_TEXT}", f"!{GITIGNORE_TEXT}{GITIGNORE_TEXT}"),
    ],
)
def test_the_rules_for_git_end_with_ours(
    tmp_path: Path, before: str | None, after: str
):
    (tmp_path / ".leslie").mkdir()
    if before is not None:
        (tmp_path / GITIGNORE_FILE).write_text(before)

    write_file(tmp_path, ".leslie/INDEX.md", b"titles")
    write_file(tmp_path, ".leslie/INDEX.md", b"titles")

    assert (tmp_path / GITIGNORE_FILE).read_text() == after


@pytest.mark.threat("S8")
@pytest.mark.parametrize("rules", ["# mine\n", f"{GITIGNORE_TEXT}!*\n"])
@pytest.mark.parametrize(
    "name", [".leslie/INDEX.md", ".leslie/threads/t/.meta/transcripts/a.txt"]
)
def test_rules_that_a_checkout_replaced_are_added_again(
    tmp_path: Path, rules: str, name: str
):
    write_file(tmp_path, name, b"text")
    (tmp_path / GITIGNORE_FILE).write_text(rules)

    write_file(tmp_path, name, b"text")

    assert (tmp_path / GITIGNORE_FILE).read_text() == rules + GITIGNORE_TEXT


@pytest.mark.threat("S8")
@pytest.mark.parametrize("name", SHARED_FILES)
def test_a_file_that_git_tracks_stays_as_it_is(tmp_path: Path, name: str):
    project = make_repository(tmp_path / "app", commits=0)
    (project / name).parent.mkdir()
    (project / name).write_text("theirs")
    git(project, "add", "-f", name)

    with pytest.raises(SinkError, match="is tracked by Git"):
        write_file(project, name, b"ours")
    assert (project / name).read_text() == "theirs"


@pytest.mark.threat("S8")
def test_a_thread_has_rules_of_its_own(tmp_path: Path):
    write_file(tmp_path, ".leslie/threads/t/.meta/transcripts/a.txt", b"text")

    assert (tmp_path / ".leslie/threads/t/.meta/.gitignore").read_text() == "*\n"


@pytest.mark.threat("S8")
def test_nothing_is_written_if_the_rules_are_too_large(tmp_path: Path):
    (tmp_path / ".leslie").mkdir()
    with (tmp_path / GITIGNORE_FILE).open("wb") as file:
        file.truncate(2_000_000)

    with pytest.raises(SinkError, match="larger than"):
        write_file(tmp_path, ".leslie/INDEX.md", b"titles")
    assert not (tmp_path / ".leslie/INDEX.md").exists()


@pytest.mark.fault("F4")
def test_rules_that_cannot_be_read_are_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / ".leslie").mkdir()
    (tmp_path / GITIGNORE_FILE).write_text("mine\n")
    monkeypatch.setattr(Folder, "read_file", lambda *_: None)

    with pytest.raises(SinkError, match="cannot be read"):
        write_file(tmp_path, ".leslie/INDEX.md", b"titles")
    assert (tmp_path / GITIGNORE_FILE).read_text() == "mine\n"


@pytest.mark.threat("S8", "P2")
def test_a_link_for_the_rules_is_replaced_and_not_followed(tmp_path: Path):
    (tmp_path / ".leslie").mkdir()
    (tmp_path / "victim").write_text("mine")
    (tmp_path / GITIGNORE_FILE).symlink_to("../victim")
    write_file(tmp_path, ".leslie/INDEX.md", b"titles")

    assert (tmp_path / GITIGNORE_FILE).read_text() == GITIGNORE_TEXT
    assert not (tmp_path / GITIGNORE_FILE).is_symlink()
    assert (tmp_path / "victim").read_text() == "mine"
