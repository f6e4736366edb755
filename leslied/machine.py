"""Which machine a data folder on a network file system belongs to.

SQLite's write-ahead log needs memory that all its processes share, so two machines with
the same home folder must not write to one store. A folder on a local disk belongs to
one machine, whatever that machine is called.
"""

from __future__ import annotations

import os
import platform
from pathlib import Path

from leslied.errors import UserError
from leslied.fs import make_private_dir, replace_file

_MOUNTS_FILE = Path("/proc/self/mountinfo")
_MACHINE_ID_FILE = Path("/etc/machine-id")
_NETWORK_FILE_SYSTEMS = frozenset(
    (
        *("afs", "beegfs", "ceph", "cifs", "fuse.glusterfs", "fuse.sshfs", "gfs2"),
        *("glusterfs", "gpfs", "lustre", "nfs", "nfs4", "ocfs2", "smb3", "smbfs"),
    )
)
_OWNER_NAME = "machine"
"""Name of the file that names the machine, below the data folder."""


def claim_folder(folder: Path) -> None:
    """Record that this machine uses a data folder that several machines can reach.

    Raise UserError if another machine uses it, and OSError if it cannot be written.
    """
    if not is_on_network(folder):
        return
    make_private_dir(folder)
    owner_file = folder / _OWNER_NAME
    machine = f"{_read_machine_id()} {platform.node()}"
    owner = owner_file.read_text("utf-8").strip() if owner_file.exists() else ""
    if not owner:
        replace_file(owner_file, f"{machine}\n".encode())
    elif owner.partition(" ")[0] != machine.partition(" ")[0]:
        name = owner.partition(" ")[2] or "another machine"
        raise UserError(
            f"The data folder {folder} is on a network file system and belongs to "
            f"{name}.",
            "Set LESLIED_DATA_DIR to a folder of this machine. If leslied does not run "
            f"on {name} any more, delete {owner_file}",
        )


def is_on_network(folder: Path) -> bool:
    """Return whether a folder is on a network file system; False if that is unknown."""
    try:
        text = os.fsdecode(_MOUNTS_FILE.read_bytes())
    except OSError:
        return False
    path = folder.resolve()
    kinds = dict(filter(None, map(_parse_mount, text.split("\n"))))
    parents = (path, *path.parents)
    mount_point = next((parent for parent in parents if parent in kinds), None)
    return mount_point is not None and kinds[mount_point] in _NETWORK_FILE_SYSTEMS


def _parse_mount(line: str) -> tuple[Path, str] | None:
    """Return mount point and type of a line of `mountinfo`, None if it has none."""
    mount, _, file_system = line.partition(" - ")
    fields, kind = mount.split(" "), file_system.partition(" ")[0]
    if not kind or len(fields) < 5:
        return None
    # A space, tab, line end or backslash in a path is written as an octal number.
    point = os.fsencode(fields[4])
    for character in b" \t\n\\":
        point = point.replace(b"\\%03o" % character, bytes([character]))
    return Path(os.fsdecode(point)), kind


def _read_machine_id() -> str:
    """Return an id that stays when the machine gets another name, or its name."""
    try:
        machine_id = _MACHINE_ID_FILE.read_text("utf-8").strip()
    except OSError:
        machine_id = ""
    return machine_id or platform.node()
