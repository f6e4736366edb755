"""Atomic replacement of files, and private folders."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from leslied import fs


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "folder" / "file"
    path.parent.mkdir()
    path.write_bytes(b"old")
    return path


@pytest.fixture(params=[0o000, 0o077, 0o777])
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    previous_umask = os.umask(request.param)
    yield
    os.umask(previous_umask)


@pytest.fixture
def folder_fd(path: Path) -> Iterator[int]:
    fd = os.open(path.parent, fs.FOLDER_FLAGS)
    yield fd
    os.close(fd)


def list_names(folder: Path) -> list[str]:
    return [entry.name for entry in folder.iterdir()]


def get_mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def test_a_file_is_replaced(path: Path):
    fs.replace_file(path, b"new")

    assert path.read_bytes() == b"new"
    assert list_names(path.parent) == ["file"]


def test_a_file_below_a_descriptor_is_replaced(path: Path, folder_fd: int):
    with fs.AtomicFile("file", dir_fd=folder_fd) as file:
        file.write(b"new")

    assert path.read_bytes() == b"new"
    assert list_names(path.parent) == ["file"]


@pytest.mark.fault("D8")
def test_the_old_file_stays_until_the_new_one_is_complete(path: Path):
    with fs.AtomicFile(str(path)) as file:
        file.write(b"new")
        file.sync()

        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"


def test_a_file_gets_its_name_after_its_bytes_are_on_disk(
    path: Path, monkeypatch: pytest.MonkeyPatch
):
    calls: list[str] = []
    for name in ("fsync", "rename"):
        record_calls(name, calls, monkeypatch)

    fs.replace_file(path, b"new")

    # Last, the folder is synced, so that the name survives a power loss, too.
    assert calls == ["fsync", "rename", "fsync"]


def record_calls(name: str, calls: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Add the name of a function of `os` to the list at each call of it."""
    function = getattr(os, name)

    def call(*args: Any, **options: Any) -> Any:
        calls.append(name)
        return function(*args, **options)

    monkeypatch.setattr(os, name, call)


def test_bytes_that_the_system_did_not_write_at_once_are_not_lost(
    path: Path, monkeypatch: pytest.MonkeyPatch
):
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:3]))

    fs.replace_file(path, b"new bytes")

    assert path.read_bytes() == b"new bytes"


@pytest.mark.fault("D8")
def test_the_old_file_stays_if_writing_fails(path: Path):
    with pytest.raises(TypeError), fs.AtomicFile(str(path)) as file:
        file.write([b"new", 3])

    assert path.read_bytes() == b"old"
    assert list_names(path.parent) == ["file"]


def test_a_file_that_cannot_be_replaced_leaves_nothing_behind(tmp_path: Path):
    folder = tmp_path / "folder" / "file"
    folder.mkdir(parents=True)

    with pytest.raises(OSError, match="directory"):
        fs.replace_file(folder, b"new")

    assert list_names(folder.parent) == ["file"]


def test_every_descriptor_is_closed(path: Path):
    before = list_names(Path("/dev/fd"))

    fs.replace_file(path, b"new")

    assert list_names(Path("/dev/fd")) == before


@pytest.mark.usefixtures("umask")
def test_a_new_file_is_private_whatever_the_umask(tmp_path: Path):
    fs.replace_file(tmp_path / "file", b"new")

    assert get_mode(tmp_path / "file") == 0o600


def test_a_leftover_of_a_crash_is_replaced_and_not_followed(path: Path):
    victim = path.with_name("victim")
    victim.write_bytes(b"precious")
    path.with_name(f".file{fs.TEMPORARY_SUFFIX}").hardlink_to(victim)

    fs.replace_file(path, b"new")

    assert (path.read_bytes(), victim.read_bytes()) == (b"new", b"precious")


@pytest.mark.usefixtures("umask")
def test_all_missing_folders_are_private(tmp_path: Path):
    fs.make_missing_folders(tmp_path / "a" / "b")

    assert [get_mode(tmp_path / name) for name in ("a", "a/b")] == [0o700, 0o700]


def test_a_folder_that_exists_keeps_its_mode(tmp_path: Path):
    tmp_path.chmod(0o755)

    fs.make_missing_folders(tmp_path)

    assert get_mode(tmp_path) == 0o755


def test_a_private_folder_is_closed_to_others(tmp_path: Path):
    tmp_path.chmod(0o755)

    fs.make_private_dir(tmp_path)

    assert get_mode(tmp_path) == 0o700


def test_a_file_in_the_way_of_a_folder_is_an_error(path: Path):
    with pytest.raises(NotADirectoryError):
        fs.make_private_dir(path / "folder")


def test_the_module_imports_nothing_but_os():
    code = "import os, sys; a = {*sys.modules}; import leslied.fs; "
    code += "print(*sorted(sys.modules.keys() - a))"

    result = subprocess.run(
        [sys.executable, "-S", "-c", code], capture_output=True, check=True, text=True
    )

    assert result.stdout.split() == ["__future__", "leslied", "leslied.fs"]


@pytest.mark.fault("D2")
def test_bytes_that_one_write_leaves_out_are_written_by_the_next(
    path: Path, monkeypatch: pytest.MonkeyPatch
):
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:7]))

    fs.replace_file(path, bytes(range(256)))

    assert path.read_bytes() == bytes(range(256))


@pytest.mark.fault("D2")
def test_a_write_that_stores_only_a_part_leaves_the_old_file(path: Path):
    """RLIMIT_FSIZE makes the first write short and lets the second one fail."""
    code = (
        "import resource, signal, sys\n"
        "from leslied import fs\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "fs.replace_file(sys.argv[1], bytes(5000))\n"
    )

    process = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, check=False, text=True
    )

    assert "File too large" in process.stderr
    assert path.read_bytes() == b"old"
    assert list_names(path.parent) == ["file"]


@pytest.mark.fault("D3")
def test_a_file_that_cannot_be_synced_does_not_replace_the_old_one(
    path: Path, monkeypatch: pytest.MonkeyPatch
):
    def fail(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)

    with pytest.raises(OSError, match="Input/output error"):
        fs.replace_file(path, b"new")

    assert path.read_bytes() == b"old"
    assert list_names(path.parent) == ["file"]
