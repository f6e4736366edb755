"""Test opening and reading other programs' files."""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path

import pytest

from leslied.errors import SourceError
from leslied.tail import files


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a"
    path.write_bytes(bytes(range(200)))
    return path


def count_open_files() -> int:
    return len(os.listdir("/dev/fd"))  # noqa: PTH208


@pytest.mark.fault("B13")
@pytest.mark.threat("P5")
def test_a_pipe_is_refused_at_once(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")

    with (
        pytest.raises(SourceError, match="not a regular file"),
        files.open_regular(tmp_path / "pipe"),
    ):
        pass


@pytest.mark.fault("B13")
def test_a_socket_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")

        with pytest.raises(SourceError), files.open_regular(Path("socket")):
            pass


@pytest.mark.fault("B13")
@pytest.mark.threat("P5")
@pytest.mark.parametrize("name", ["/dev/zero", "/dev/null", "/"])
def test_a_device_or_a_folder_is_refused(name: str):
    with pytest.raises(SourceError, match="regular"), files.open_regular(Path(name)):
        pass


def test_a_missing_file_raises_a_readable_error(tmp_path: Path):
    with (
        pytest.raises(SourceError, match="cannot be opened: No such file"),
        files.open_regular(tmp_path / "nowhere"),
    ):
        pass


@pytest.mark.fault("B14")
def test_a_failing_read_raises_a_readable_error(path: Path):
    with (
        pytest.raises(SourceError, match="cannot be read: Input/output error"),
        files.open_regular(path),
    ):
        raise OSError(errno.EIO, os.strerror(errno.EIO))


@pytest.mark.fault("F6")
@pytest.mark.parametrize("error", [None, OSError(errno.EIO, "x"), KeyError("x")])
def test_no_descriptor_is_left_open(path: Path, error: Exception | None):
    before = count_open_files()

    try:
        with files.open_regular(path):
            if error:
                raise error
    except (SourceError, KeyError):
        pass

    assert count_open_files() == before


@pytest.mark.fault("B13", "F6")
def test_a_refused_pipe_leaves_no_descriptor_open(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    before = count_open_files()

    for _ in range(3):
        with pytest.raises(SourceError), files.open_regular(tmp_path / "pipe"):
            pass

    assert count_open_files() == before


def test_a_descriptor_is_not_inherited(path: Path):
    with files.open_regular(path) as fd:
        assert not os.get_inheritable(fd)


def test_reading_does_not_change_the_file(path: Path):
    before = path.stat()
    with files.open_regular(path) as fd:
        files.read_at(fd, 100, 0)

    after = path.stat()
    assert files.make_stamp(after) == files.make_stamp(before)


@pytest.mark.fault("A3")
@pytest.mark.parametrize("limit", [1, 7, 64])
def test_short_reads_are_continued(
    path: Path, monkeypatch: pytest.MonkeyPatch, limit: int
):
    real_pread = os.pread
    monkeypatch.setattr(
        files.os, "pread", lambda fd, length, at: real_pread(fd, min(length, limit), at)
    )

    with files.open_regular(path) as fd:
        assert files.read_at(fd, 150, 20) == bytes(range(20, 170))
        assert b"".join(files.iter_range(fd, 20, 170, 50)) == bytes(range(20, 170))


def test_a_read_past_the_end_returns_the_existing_bytes(path: Path):
    with files.open_regular(path) as fd:
        assert files.read_at(fd, 100, 150) == bytes(range(150, 200))
        assert files.read_at(fd, 100, 500) == b""
        assert b"".join(files.iter_range(fd, 150, 900, 20)) == bytes(range(150, 200))


@pytest.mark.fault("A8")
def test_a_range_is_read_in_pieces_of_limited_size(path: Path):
    with files.open_regular(path) as fd:
        sizes = [len(piece) for piece in files.iter_range(fd, 5, 195, 50)]

    assert sizes == [50, 50, 50, 40]


@pytest.mark.fault("A14")
def test_an_unchanged_file_has_equal_stamps(path: Path):
    assert files.make_stamp(path.stat()) == files.make_stamp(path.stat())


@pytest.mark.parametrize("name", ["dev", "inode", "size", "mtime_ns", "ctime_ns"])
def test_a_stamp_has_the_values_of_stat(path: Path, name: str):
    status = path.stat()
    field = {"inode": "ino"}.get(name, name)

    assert getattr(files.make_stamp(status), name) == getattr(status, f"st_{field}")


# Only files below the root


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    (folder / "p").mkdir(parents=True)
    (folder / "p" / "a.jsonl").write_text("inside")
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "a.jsonl").write_text("outside")
    return folder


def read_inside(path: Path, root: Path, **options: bool) -> bytes:
    with files.open_regular(path, root, **options) as fd:
        return files.read_at(fd, 100, 0)


@pytest.mark.threat("P5")
@pytest.mark.parametrize("part", ["p", "p/a.jsonl"])
def test_a_link_that_leads_out_of_the_root_is_not_read(root: Path, part: str):
    target = root.parent / "secret" / Path(part).relative_to("p")
    (root / part).rename(root.parent / "moved")
    (root / part).symlink_to(target)

    with pytest.raises(SourceError, match="cannot be opened"):
        read_inside(root / "p" / "a.jsonl", root)


@pytest.mark.parametrize("link", ["q", "p/b.jsonl"])
def test_a_link_inside_the_root_is_followed_unless_forbidden(root: Path, link: str):
    (root / link).symlink_to("p" if link == "q" else "a.jsonl")
    path = root / link / "a.jsonl" if link == "q" else root / link

    assert read_inside(path, root) == b"inside"
    with pytest.raises(SourceError):
        read_inside(path, root, follow_links=False)


def test_the_root_itself_may_be_a_link(root: Path, tmp_path: Path):
    (tmp_path / "link").symlink_to(root)
    (root / "p" / "b.jsonl").symlink_to("a.jsonl")

    for name in ("a.jsonl", "b.jsonl"):
        data = read_inside(tmp_path / "link" / "p" / name, tmp_path / "link")

        assert data == b"inside"


@pytest.mark.threat("P5")
@pytest.mark.parametrize(
    "name", ["../secret/a.jsonl", "p/../../secret/a.jsonl", "p/a\0", "p/loop", "p"]
)
def test_what_is_not_a_file_below_the_root_is_refused(root: Path, name: str):
    (root / "p" / "loop").symlink_to("loop")

    with pytest.raises(SourceError):
        read_inside(root / name, root)
    with pytest.raises(SourceError):
        read_inside(root.parent / "secret" / "a.jsonl", root)
