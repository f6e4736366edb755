"""Test reading tool results that agents store in separate files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from leslied.model.source import FileStamp, Shape, SourceRef
from leslied.store import StoreReader
from leslied.tail import ReadLimits, read_side_file, read_spill
from tests.support.claude import SESSION, ClaudeHome, ClaudeLogBuilder

LIMITS = ReadLimits(spill=100)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "session" / "tool-results"
    path.mkdir(parents=True)
    return path


def test_the_complete_text_is_read(folder: Path, tmp_path: Path):
    (folder / "a.txt").write_text("héllo\n")

    assert read_spill(folder / "a.txt", tmp_path, LIMITS) == "héllo\n"


@pytest.mark.fault("A8")
def test_a_long_text_is_cut_at_the_limit(folder: Path, tmp_path: Path):
    (folder / "a.txt").write_text("x" * 101)

    assert read_spill(folder / "a.txt", tmp_path, LIMITS) == "x" * 100


@pytest.mark.fault("A4")
def test_invalid_utf8_is_replaced(folder: Path, tmp_path: Path):
    (folder / "a.txt").write_bytes(b"pat\xe9" + b"x" * 95 + "é".encode())

    assert (
        read_spill(folder / "a.txt", tmp_path, LIMITS)
        == "pat\ufffd" + "x" * 95 + "\ufffd"
    )


@pytest.mark.parametrize("name", ["gone.txt", "x" * 300, "nul\0byte", "a.txt/below"])
def test_a_missing_file_is_read_as_empty(folder: Path, tmp_path: Path, name: str):
    (folder / "a.txt").touch()

    assert read_spill(folder / name, tmp_path, LIMITS) == ""


@pytest.mark.fault("B13")
def test_a_pipe_is_read_as_empty_and_does_not_block(folder: Path, tmp_path: Path):
    os.mkfifo(folder / "a.txt")

    assert read_spill(folder / "a.txt", tmp_path, LIMITS) == ""


@pytest.mark.threat("P5")
@pytest.mark.parametrize("depth", [0, 1, 2], ids=["file", "folder", "session"])
def test_a_link_is_not_followed(folder: Path, tmp_path: Path, depth: int):
    secret = tmp_path / "secret" / "tool-results" / "a.txt"
    secret.parent.mkdir(parents=True)
    secret.write_text("secret")
    path = folder / "a.txt"
    # The file itself, its folder, or the folder above becomes a link.
    link = [path, *path.parents][depth]
    target = [secret, *secret.parents][depth]
    if depth:
        link.rename(tmp_path / "aside")
    link.symlink_to(target)

    assert read_spill(path, tmp_path, LIMITS) == ""


@pytest.mark.threat("P3", "P5")
def test_a_path_outside_of_the_root_is_not_read(folder: Path, tmp_path: Path):
    (tmp_path / "a.txt").write_text("secret")

    paths = (tmp_path / "a.txt", folder / ".." / ".." / "a.txt")
    assert [read_spill(path, folder, LIMITS) for path in paths] == ["", ""]


@pytest.mark.fault("B13")
def test_a_folder_is_read_as_empty(folder: Path, tmp_path: Path):
    assert read_spill(folder, tmp_path, LIMITS) == ""


@pytest.mark.parametrize(
    "file_name",
    ["{}/out.txt", "/somewhere/else/out.txt", "C:\\logs\\out.txt", "../../out.txt"],
)
def test_a_spilled_result_is_found_beside_its_session(
    claude: ClaudeHome, file_name: str
):
    folder = claude.log(f"-home-dev-app/{SESSION}/tool-results/x").parent
    (folder / "out.txt").write_text("all of it")
    builder = ClaudeLogBuilder()
    metadata = {"persistedOutputPath": file_name.format(folder)}
    claude.write(
        builder.call("Bash", {}, "c1"),
        builder.result("c1", "part", toolUseResult=metadata),
    )

    claude.sync()

    with StoreReader(claude.store_path) as reader:
        (session,) = reader.list_sessions()
        result = list(reader.list_records(session.key))[-1].record
    assert (result.content, result.spilled) == ("part", "all of it")


@pytest.mark.threat("P5")
@pytest.mark.parametrize(
    "file_name", ["..", "/", "", ".hidden", "a/..", "\ud800", "x\0y"]
)
def test_a_hostile_file_name_loses_no_record(claude: ClaudeHome, file_name: str):
    builder = ClaudeLogBuilder()
    metadata = {"persistedOutputPath": file_name}
    claude.write(
        builder.call("Bash", {}, "c1"),
        builder.result("c1", "part", toolUseResult=metadata),
    )

    report = claude.sync()

    assert (report.rejected, report.added.records) == (0, 3)


def make_source(path: Path, root: Path, side_file: str) -> SourceRef:
    return SourceRef(
        agent="agent",
        path=path,
        root=root,
        shape=Shape.DOCUMENT,
        stamp=FileStamp(0, 0, 0, 0, 0),
        side_file=side_file,
    )


def test_a_side_file_may_have_the_name_of_its_source(tmp_path: Path):
    (tmp_path / "one.jsonl").write_text("first line\n")
    source = make_source(tmp_path / "one.settings.json", tmp_path, "{}.jsonl")

    assert read_side_file(source) == "first line\n"


def test_only_the_beginning_of_a_side_file_is_read(tmp_path: Path):
    (tmp_path / "one.jsonl").write_text("é" * 9000)
    source = make_source(tmp_path / "one.settings.json", tmp_path, "one.jsonl")

    assert read_side_file(source) == "é" * 2000


def test_a_missing_side_file_is_empty(tmp_path: Path):
    source = make_source(tmp_path / "one.settings.json", tmp_path, "{}.jsonl")

    assert read_side_file(source) == ""


def write_link(root: Path, parent: str, child: str) -> None:
    (root / child).mkdir(parents=True, exist_ok=True)
    path = root / parent / "links" / child
    path.mkdir(parents=True)
    (path / "x.json").write_text(f"{parent} to {child}")


def read_link(root: Path, name: str) -> str:
    pattern = "../*/links/{folder}/x.json"
    return read_side_file(make_source(root / name / "log.json", root, pattern))


def test_a_side_file_may_be_in_a_sibling_of_its_folder(tmp_path: Path):
    write_link(tmp_path, "b", "c")
    before = [read_link(tmp_path, name) for name in "bc"]

    write_link(tmp_path, "b", "a")

    assert before == ["", "b to c"]
    assert [read_link(tmp_path, name) for name in "abc"] == ["b to a", "", "b to c"]


@pytest.mark.threat("P5")
def test_a_sibling_that_is_a_link_is_not_followed(tmp_path: Path):
    write_link(tmp_path / "outside", "b", "c")
    (tmp_path / "root" / "c").mkdir(parents=True)
    (tmp_path / "root" / "b").symlink_to(tmp_path / "outside" / "b")

    assert read_link(tmp_path / "root", "c") == ""


def test_a_folder_that_is_gone_has_no_side_file(tmp_path: Path):
    assert read_link(tmp_path / "gone", "a") == ""


def test_a_side_file_can_be_read_from_the_place_that_names_the_source(tmp_path: Path):
    (tmp_path / "list.json").write_text("x" * 9000 + '"one" 1 "two" 2')
    source = make_source(tmp_path / "two.json", tmp_path, 'list.json#"{}"')

    assert read_side_file(source) == '"two" 2'


def test_a_side_file_that_does_not_name_the_source_is_empty(tmp_path: Path):
    (tmp_path / "list.json").write_text('"one"')
    source = make_source(tmp_path / "two.json", tmp_path, 'list.json#"{}"')

    assert read_side_file(source) == ""
