"""A data folder on a network file system belongs to one machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from leslied import machine
from leslied.errors import UserError
from leslied.machine import claim_folder, is_on_network
from leslied.store import Store
from tests.support.clock import FakeClock


@pytest.fixture
def mounts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file that lists what is mounted; /tmp is a local file system."""
    path = tmp_path / "mountinfo"
    path.write_text("22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n")
    monkeypatch.setattr(machine, "_MOUNTS_FILE", path)
    set_machine_id(tmp_path, monkeypatch, "aaaa")
    return path


@pytest.fixture
def share(tmp_path: Path, mounts: Path) -> Path:
    """Return a folder on a network file system."""
    folder = tmp_path / "share"
    folder.mkdir()
    add_mount(mounts, str(folder), "nfs4")
    return folder


def set_machine_id(
    folder: Path, monkeypatch: pytest.MonkeyPatch, machine_id: str
) -> None:
    path = folder / "machine-id"
    path.write_text(f"{machine_id}\n")
    monkeypatch.setattr(machine, "_MACHINE_ID_FILE", path)


def add_mount(mounts: Path, point: str, kind: str) -> None:
    line = f"40 22 0:50 / {point} rw,relatime shared:9 master:1 - {kind} server:/x rw\n"
    mounts.write_text(mounts.read_text() + line)


def test_only_what_is_below_a_network_mount_is_on_the_network(
    tmp_path: Path, share: Path
):
    assert is_on_network(share / "data" / "leslied")
    assert not is_on_network(tmp_path)
    assert not is_on_network(tmp_path / "share-of-another-name")


def test_a_local_mount_below_a_network_mount_is_local(share: Path, mounts: Path):
    add_mount(mounts, f"{share}/local", "tmpfs")

    assert not is_on_network(share / "local" / "data")


def test_a_mount_point_may_contain_spaces(tmp_path: Path, mounts: Path):
    add_mount(mounts, f"{tmp_path}/a\\040b", "cifs")

    assert is_on_network(tmp_path / "a b" / "data")


def test_without_a_list_of_mounts_a_folder_counts_as_local(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(machine, "_MOUNTS_FILE", tmp_path / "missing")

    assert not is_on_network(tmp_path)


@pytest.mark.usefixtures("mounts")
def test_a_local_folder_is_not_claimed(tmp_path: Path):
    claim_folder(tmp_path / "data")

    assert not (tmp_path / "data").exists()


@pytest.mark.fault("E12")
def test_a_machine_can_use_its_folder_again(share: Path):
    claim_folder(share / "data")
    claim_folder(share / "data")

    assert (share / "data" / "machine").read_text().startswith("aaaa ")


@pytest.mark.fault("E12")
def test_a_machine_that_was_renamed_can_use_its_folder(
    share: Path, monkeypatch: pytest.MonkeyPatch
):
    claim_folder(share / "data")
    monkeypatch.setattr(machine.platform, "node", lambda: "renamed")

    claim_folder(share / "data")


@pytest.mark.fault("E12")
def test_a_second_machine_is_refused_with_a_next_step(
    share: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(machine.platform, "node", lambda: "laptop")
    claim_folder(share / "data")
    set_machine_id(tmp_path, monkeypatch, "bbbb")

    with pytest.raises(UserError, match="belongs to laptop") as caught:
        claim_folder(share / "data")

    assert "LESLIED_DATA_DIR" in caught.value.hint
    assert str(share / "data" / "machine") in caught.value.hint


@pytest.mark.fault("E12")
def test_a_second_machine_does_not_write_to_the_store(
    share: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: FakeClock
):
    path = share / "data" / "store.db"
    Store(path, clock).close()
    before = path.read_bytes()
    set_machine_id(tmp_path, monkeypatch, "bbbb")

    with pytest.raises(UserError, match="belongs to"):
        Store(path, clock)

    assert path.read_bytes() == before
