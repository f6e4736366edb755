"""Test folders that are held open: no path leads through a link."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from leslied import folders
from leslied.errors import SinkError
from leslied.folders import FileBatch, LinkInPathError, open_folder, trust_folder
from tests.support.path_recorder import PathRecorder
from tests.support.waiting import MAX_WAIT_SECONDS

FILE = ".leslie/threads/thread-1/plan.md"


@pytest.fixture
def base(home: Path) -> Path:
    folder = home / "work" / "middle" / "app"
    folder.mkdir(parents=True)
    return folder


def replace_by_link(path: Path, victim: Path) -> None:
    """Put a link to the victim in place of a folder, which is moved away."""
    path.rename(path.with_name("moved"))
    path.symlink_to(victim)


def write(base: Path, name: str = FILE, owner: int | None = None) -> None:
    with open_folder(base, owner=owner) as folder:
        folder.write_file(name, b"new")


def list_files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.threat("P2")
@pytest.mark.parametrize(
    "part",
    [
        "work",
        "work/middle",
        "work/middle/app",
        "work/middle/app/.leslie",
        "work/middle/app/.leslie/threads",
        "work/middle/app/.leslie/threads/thread-1",
    ],
)
def test_a_link_in_any_part_of_a_path_is_refused(
    home: Path, base: Path, tmp_path: Path, part: str
):
    # Every path that leads below the victim exists there.
    victim = tmp_path / "victim"
    for folder in (home / part, victim):
        rest = (base / FILE).parent.relative_to(home / part)
        (folder / rest).mkdir(parents=True, exist_ok=True)
    replace_by_link(home / part, victim)

    with pytest.raises(LinkInPathError, match="symbolic link"):
        write(base)

    assert list_files(victim) == []


@pytest.mark.threat("P2")
def test_a_parent_that_is_swapped_while_the_folder_is_open_redirects_nothing(
    base: Path, tmp_path: Path
):
    (tmp_path / "victim" / "app").mkdir(parents=True)

    with open_folder(base) as folder:
        replace_by_link(base.parent, tmp_path / "victim")
        folder.write_file(FILE, b"new")
        folder.write_file("old.txt", b"")
        folder.remove_file("old.txt")

    assert list_files(tmp_path / "victim") == []
    assert list_files(base.parent.parent / "moved" / "app") == [
        base.parent.parent / "moved" / "app" / FILE
    ]


@pytest.mark.threat("P2")
def test_a_merge_moves_nothing_through_a_link(base: Path, tmp_path: Path):
    victim = tmp_path / "victim"
    victim.mkdir()
    (base / "old").mkdir()
    (base / "old" / "plan.md").write_text("mine")
    (base / "new").symlink_to(victim)

    with open_folder(base) as folder:
        folder.merge_folder("old", "new")

    assert list_files(victim) == []
    assert (base / "old" / "plan.md").read_text() == "mine"


@pytest.mark.threat("P1")
@pytest.mark.parametrize("name", ["", ".leslie", ".leslie/threads"])
def test_a_folder_that_everybody_can_write_to_is_refused(base: Path, name: str):
    (base / name).mkdir(parents=True, exist_ok=True)
    (base / name).chmod(0o777)

    with pytest.raises(SinkError, match="writable by everybody"):
        write(base, owner=os.getuid())


@pytest.mark.threat("P1")
def test_a_folder_of_another_user_is_refused(base: Path):
    with pytest.raises(SinkError, match="not owned by you"):
        write(base, owner=os.getuid() + 1)

    assert list_files(base) == []


@pytest.mark.threat("P3")
@pytest.mark.parametrize(
    "name", ["../x", "a/../x", "/x", "a//x", "./x", "a\0b/x", "a/b\0", "..", ""]
)
def test_a_name_that_is_not_below_the_folder_is_refused(base: Path, name: str):
    with pytest.raises(SinkError):
        write(base, name)

    assert list_files(base.parent) == []


@pytest.mark.threat("P3")
@pytest.mark.parametrize("path", ["relative", "/tmp/../tmp", "//tmp", "/a\0b", ""])
def test_a_path_that_is_not_absolute_and_plain_is_refused(path: str):
    with pytest.raises(SinkError), open_folder(Path(path)):
        pass


def test_links_are_followed_in_the_path_of_a_trusted_folder_only(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(folders, "_trusted_folders", {Path("/")})
    for name in ("app", "victim"):
        (tmp_path / "moved" / "central" / name).mkdir(parents=True)
    (tmp_path / "moved" / "central" / "link").symlink_to("victim")
    (home / "share").symlink_to(tmp_path / "moved")
    central = home / "share" / "central"

    trust_folder(central)
    write(central / "app")

    assert (central / "app" / FILE).read_bytes() == b"new"
    with pytest.raises(LinkInPathError):
        write(central / "link")


@pytest.mark.skipif(os.geteuid() == 0, reason="root can read every folder")
def test_parents_need_not_be_readable(base: Path):
    base.parent.chmod(0o100)
    try:
        write(base)
    finally:
        base.parent.chmod(0o700)

    assert (base / FILE).read_bytes() == b"new"


@pytest.mark.threat("P5")
@pytest.mark.timeout(MAX_WAIT_SECONDS)
def test_what_is_not_a_regular_file_is_not_read(base: Path):
    os.mkfifo(base / "pipe")
    (base / "folder").mkdir()
    (base / "link").symlink_to("/etc/hostname")

    with open_folder(base) as folder:
        data = [folder.read_file(name) for name in ("pipe", "folder", "link")]

    assert data == [None, None, None]


def test_an_entry_of_any_kind_occupies_its_name(base: Path):
    os.mkfifo(base / "pipe")
    (base / "link").symlink_to("nowhere")

    with open_folder(base) as folder:
        taken = [folder.has_entry(name) for name in ("pipe", "link", "none", "no/x")]

    assert taken == [True, True, False, False]


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc")
def test_the_path_of_a_folder_is_walked_once_for_all_its_files(base: Path):
    with open_folder(base) as folder, PathRecorder() as recorder:
        for number in range(10):
            folder.write_file(f".leslie/threads/t/.meta/transcripts/{number}", b"")

    # The five folders below the base, and the file.
    assert recorder.opens == 10 * 6


def test_every_descriptor_is_closed_after_errors_too(base: Path, tmp_path: Path):
    (base / "link").symlink_to(tmp_path)
    before = len(list(Path("/dev/fd").iterdir()))

    for _ in range(50):
        write(base)
        for name in ("link/x", "..", "missing/../x"):
            with pytest.raises(SinkError):
                write(base, name)
        with pytest.raises(SinkError):
            write(base / "link")
        with pytest.raises(SinkError):
            write(base, owner=os.getuid() + 1)

    # Descriptors of earlier tests may be closed meanwhile.
    assert len(list(Path("/dev/fd").iterdir())) <= before


def write_batch(base: Path, *names: str) -> None:
    with open_folder(base) as folder, FileBatch() as batch:
        for name in names:
            batch.add(folder, name, name.encode())


def test_no_file_of_a_batch_appears_before_all_are_written(base: Path):
    with open_folder(base) as folder, FileBatch() as batch:
        batch.add(folder, "a/1", b"one")
        batch.add(folder, "b/2", b"two")
        names_before = {path.name for path in list_files(base)}

    assert names_before == {".leslied-new"}
    assert {path.name for path in list_files(base)} == {"1", "2"}


@pytest.mark.fault("D8")
def test_a_batch_that_fails_leaves_the_old_files_and_nothing_else(base: Path):
    write_batch(base, "a", "b")
    (base / "c").mkdir()

    with pytest.raises(SinkError, match="cannot be written"):
        write_batch(base, "a", "c")

    assert sorted(path.name for path in list_files(base)) == ["a", "b"]


def test_an_error_in_the_block_of_a_batch_writes_nothing(base: Path):
    with (  # noqa: PT012
        pytest.raises(ZeroDivisionError),
        open_folder(base) as folder,
        FileBatch() as batch,
    ):
        batch.add(folder, "a", b"new")
        raise ZeroDivisionError

    assert list_files(base) == []


def test_the_next_batch_deletes_what_a_crash_left_of_a_batch(base: Path):
    for name in (".leslied-new", ".leslied-new-1", ".leslied-new-2"):
        (base / name).write_text("half")

    write_batch(base, "a")

    assert [path.name for path in list_files(base)] == ["a"]


def test_a_crash_while_files_get_their_names_leaves_the_first_temporary_name(
    base: Path, monkeypatch: pytest.MonkeyPatch
):
    left: list[set[str]] = []

    def record_names(_: str) -> None:
        left.append({path.name for path in list_files(base)})

    monkeypatch.setattr(folders, "failpoint", record_names)
    write_batch(base, "a", "b", "c")

    temporary_names = [
        {name for name in names if name.startswith(".leslied-new")} for names in left
    ]
    assert all(".leslied-new" in names for names in temporary_names if names)
    assert temporary_names[-1] == set()


def test_a_batch_syncs_each_folder_once(base: Path, monkeypatch: pytest.MonkeyPatch):
    synced: list[int] = []
    fsync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(fd) or fsync(fd))

    write_batch(base, *(f"folder/{number}" for number in range(10)))

    # Ten files and their folder.
    assert len(synced) == 10 + 1
