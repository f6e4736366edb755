"""Copies of the files that users import."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path

import pytest

from leslied.agents import load_adapters
from leslied.pipeline.maintenance import import_files
from leslied.pipeline.maintenance.import_files import CopyReport, Importer

TRAJECTORY = {"schema_version": "ATIF-v1.8", "session_id": "run-1", "steps": []}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    folder.mkdir()
    return folder


def write_trajectory(path: Path, name: str = "run-1") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**TRAJECTORY, "session_id": name}))
    return path


def import_path(path: Path, tmp_path: Path, mask=None) -> CopyReport:
    importer = Importer(load_adapters(), tmp_path / "imports", mask)
    importer.import_path(path)
    return importer.report


def test_a_file_is_copied_with_its_time_and_is_private(files: Path, tmp_path: Path):
    path = write_trajectory(files / "a.json")
    os.utime(path, (1000, 1000))

    report = import_path(path, tmp_path)

    (copy,) = report.changed_paths
    assert copy == tmp_path / "imports" / "atif" / "run-1.json"
    assert copy.read_bytes() == path.read_bytes()
    status = copy.stat()
    assert (status.st_mtime, status.st_mode & 0o777) == (1000, 0o600)
    assert copy.parent.stat().st_mode & 0o777 == 0o700


def test_importing_again_changes_nothing(files: Path, tmp_path: Path):
    path = write_trajectory(files / "a.json")
    import_path(path, tmp_path)

    report = import_path(path, tmp_path)

    assert (report.sources, report.changed_paths) == ({"atif": 1}, [])


def test_a_newer_version_replaces_the_copy(files: Path, tmp_path: Path):
    path = write_trajectory(files / "a.json")
    import_path(path, tmp_path)
    path.write_text(json.dumps({**TRAJECTORY, "notes": "newer"}))

    report = import_path(path, tmp_path)

    assert [p.read_bytes() for p in report.changed_paths] == [path.read_bytes()]


def test_the_start_of_a_transcript_is_the_time_of_its_copy(files: Path, tmp_path: Path):
    path = files / "t.txt"
    path.write_text("Thread ID: a\nChat ID: b\nTime Range: 2026-11-01T09:00:00Z ~ x\n")

    (copy,) = import_path(path, tmp_path).changed_paths

    assert copy.stat().st_mtime == 1793523600


def test_the_sessions_of_a_folder_are_imported(files: Path, tmp_path: Path):
    write_trajectory(files / "x" / "a.json", "a")
    write_trajectory(files / ".hidden" / "b.json", "b")
    write_trajectory(files / "node_modules" / "c.json", "c")
    write_trajectory(files / "d.png", "d")
    (files / "link.json").symlink_to(files / "x" / "a.json")
    (files / "notes.txt").write_text("nothing")

    report = import_path(files, tmp_path)

    assert sorted(p.name for p in report.changed_paths) == ["a.json", "b.json"]
    assert report.problems == []


def test_the_sessions_of_a_zip_file_are_imported(files: Path, tmp_path: Path):
    path = files / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../../evil/a.json", json.dumps(TRAJECTORY))
        archive.writestr("readme.html", "x")

    report = import_path(path, tmp_path)

    assert report.changed_paths == [tmp_path / "imports" / "atif" / "run-1.json"]


def test_a_file_without_sessions_is_a_problem(files: Path, tmp_path: Path):
    path = files / "notes.txt"
    path.write_text("nothing")

    assert import_path(path, tmp_path).problems == [
        f"{path} has no sessions in a format that leslied imports."
    ]


@pytest.mark.parametrize("kind", ["missing", "device", "too large", "damaged"])
def test_a_file_that_cannot_be_read_is_a_problem(
    kind: str, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = files / "a.json"
    if kind == "too large":
        write_trajectory(path)
        monkeypatch.setattr(import_files, "MAX_FILE_BYTES", 10)
    elif kind == "damaged":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("a.json", json.dumps(TRAJECTORY) * 9)
        data = bytearray(path.read_bytes())
        data[40:60] = b"\xff" * 20
        path.write_bytes(data)
    elif kind == "device":
        path = Path("/dev/null")

    (problem,) = import_path(path, tmp_path).problems

    assert problem.startswith(f"{path} cannot be read: ")


def test_secrets_are_replaced_in_the_copy(files: Path, tmp_path: Path):
    path = write_trajectory(files / "a.json")

    report = import_path(path, tmp_path, lambda data: data.replace(b"ATIF", b"****"))

    assert b"****-v1.8" in report.changed_paths[0].read_bytes()
