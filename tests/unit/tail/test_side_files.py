"""Tool results in files of their own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from leslied.store import StoreReader
from leslied.tail import ReadLimits, read_spill
from tests.support.claude import SESSION, ClaudeHome, ClaudeLogBuilder

LIMITS = ReadLimits(spill=100)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "session" / "tool-results"
    path.mkdir(parents=True)
    return path


def test_the_whole_text_is_read(folder: Path):
    (folder / "a.txt").write_text("héllo\n")

    assert read_spill(folder / "a.txt", LIMITS) == "héllo\n"


def test_a_long_text_is_cut_at_the_limit(folder: Path):
    """A8."""
    (folder / "a.txt").write_text("x" * 101)

    assert read_spill(folder / "a.txt", LIMITS) == "x" * 100


def test_damaged_text_is_shown_as_replaced(folder: Path):
    """A4."""
    (folder / "a.txt").write_bytes(b"pat\xe9" + b"x" * 95 + "é".encode())

    assert read_spill(folder / "a.txt", LIMITS) == "pat\ufffd" + "x" * 95 + "\ufffd"


@pytest.mark.parametrize("name", ["gone.txt", "x" * 300, "nul\0byte", "a.txt/below"])
def test_what_is_not_there_is_empty(folder: Path, name: str):
    (folder / "a.txt").touch()

    assert read_spill(folder / name, LIMITS) == ""


def test_a_pipe_is_empty_and_never_waited_for(folder: Path):
    """B13."""
    os.mkfifo(folder / "a.txt")

    assert read_spill(folder / "a.txt", LIMITS) == ""


@pytest.mark.parametrize("depth", [0, 1, 2], ids=["file", "folder", "session"])
def test_a_link_that_leads_away_is_not_followed(
    folder: Path, tmp_path: Path, depth: int
):
    """P5."""
    secret = tmp_path / "secret" / "tool-results" / "a.txt"
    secret.parent.mkdir(parents=True)
    secret.write_text("secret")
    asked = folder / "a.txt"
    link, target = [asked, *asked.parents][depth], [secret, *secret.parents][depth]
    if depth:
        link.rename(tmp_path / "aside")
    link.symlink_to(target)

    assert read_spill(asked, LIMITS) == ""


def test_a_folder_is_empty(folder: Path):
    """B13."""
    assert read_spill(folder, LIMITS) == ""


@pytest.mark.parametrize(
    "named",
    ["{}/out.txt", "/somewhere/else/out.txt", "C:\\logs\\out.txt", "../../out.txt"],
)
def test_a_spilled_result_is_found_beside_its_session(claude: ClaudeHome, named: str):
    folder = claude.log(f"-home-dev-app/{SESSION}/tool-results/x").parent
    (folder / "out.txt").write_text("all of it")
    talk = ClaudeLogBuilder()
    told = {"persistedOutputPath": named.format(folder)}
    claude.write(
        talk.call("Bash", {}, "c1"), talk.result("c1", "part", toolUseResult=told)
    )

    claude.sync()

    with StoreReader(claude.store_path) as reader:
        (session,) = reader.list_sessions()
        last = list(reader.list_records(session.row))[-1].record
    assert (last.content, last.spilled) == ("part", "all of it")


@pytest.mark.parametrize("named", ["..", "/", "", ".hidden", "a/..", "\ud800", "x\0y"])
def test_a_hostile_name_of_a_spill_costs_no_record(claude: ClaudeHome, named: str):
    """P5."""
    talk = ClaudeLogBuilder()
    told = {"persistedOutputPath": named}
    claude.write(
        talk.call("Bash", {}, "c1"), talk.result("c1", "part", toolUseResult=told)
    )

    done = claude.sync()

    assert (done.rejected, done.added.records) == (0, 3)
