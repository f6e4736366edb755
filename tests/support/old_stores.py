"""Stores that earlier versions of leslied wrote, one for each schema.

To make the store of a checkout, in which the session of the Claude Code fixture
`hello` has been read, run: python -m tests.support.old_stores CHECKOUT NAME
"""

from __future__ import annotations

import gzip
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.golden import FIXTURES, copy_home

STORES = FIXTURES.parent / "stores"
NAMES = sorted(path.name.removesuffix(".db.gz") for path in STORES.glob("*.db.gz"))
SESSION_CASE = FIXTURES / "claude_code" / "hello"
SESSION_ID = "89ad4ba5-92c0-47ef-97b1-121633261074"
_SMALL_PAGE_BYTES = 1024


def get_version(name: str) -> int:
    """Return the schema version of a store; its name starts with it."""
    return int(name[:2])


def unpack(name: str, path: Path) -> Path:
    """Write a store to `path` and return the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.decompress((STORES / f"{name}.db.gz").read_bytes()))
    return path


def make_store(checkout: Path, name: str) -> None:
    """Sync the fixture's home with the leslied in `checkout`, and pack its store."""
    # Paths in the store must not depend on the machine.
    home = Path("/tmp/leslied-old-store")
    home.mkdir()
    try:
        copy_home(SESSION_CASE, home)
        environ = {"HOME": str(home), "PYTHONPATH": str(checkout), "LANG": "C.UTF-8"}
        command = [sys.executable, "-m", "leslied", "sync", "--stop-all"]
        subprocess.run(command, env=environ, cwd=home, check=True)
        _pack(home / ".local" / "share" / "leslied" / "store.db", name)
    finally:
        shutil.rmtree(home)


def _pack(store: Path, name: str) -> None:
    """Shrink a copy of the store and compress it into the fixture."""
    with TemporaryDirectory() as folder:
        copy = Path(shutil.copy(store, folder))
        db = sqlite3.connect(copy, isolation_level=None)
        db.execute("UPDATE source SET dev = 0, inode = 0")
        db.execute("PRAGMA journal_mode = DELETE")
        db.execute(f"PRAGMA page_size = {_SMALL_PAGE_BYTES}")
        db.execute("VACUUM")
        db.close()
        STORES.mkdir(exist_ok=True)
        packed = gzip.compress(copy.read_bytes(), mtime=0)
        (STORES / f"{name}.db.gz").write_bytes(packed)


if __name__ == "__main__":
    make_store(Path(sys.argv[1]).resolve(), sys.argv[2])
