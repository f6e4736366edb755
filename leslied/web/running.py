"""The server that already serves this data folder, if there is one.

A file names its port. The program that listens there must first prove that it has the
user's key, so that no other program gets a link that logs in.
"""

from __future__ import annotations

import secrets
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from typing import TYPE_CHECKING

from leslied.fs import make_private_dir, replace_file
from leslied.web.guard import IDENTITY_PATH
from leslied.web.listener import HOST

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from leslied.web.access import Access

_TIMEOUT_SECONDS = 10.0
"""Time for an answer; the daemon may have to start the server first."""
_PROOF_CHARACTERS = 64


def is_running(access: Access, port: int) -> bool:
    """Return whether a server with the user's key answers on this port."""
    challenge = secrets.token_urlsafe(16)
    connection = HTTPConnection(HOST, port, timeout=_TIMEOUT_SECONDS)
    with closing(connection), suppress(OSError, HTTPException):
        connection.request("GET", f"{IDENTITY_PATH}?challenge={challenge}")
        proof = connection.getresponse().read(_PROOF_CHARACTERS).decode("latin-1")
        return access.is_valid_proof(port, challenge, proof)
    return False


def find_running_port(access: Access, port_file: Path) -> int | None:
    """Return the port of the server that the file names, if it still runs."""
    with suppress(OSError, ValueError):
        port = int(port_file.read_text("ascii"))
        if 0 < port < 65536 and is_running(access, port):
            return port
    return None


@contextmanager
def recorded_port(port_file: Path, port: int) -> Iterator[None]:
    """Name the port in the file while the server runs."""
    text = str(port).encode()
    make_private_dir(port_file.parent)
    replace_file(port_file, text)
    try:
        yield
    finally:
        with suppress(OSError):
            # Another server may have written its own port meanwhile.
            if port_file.read_bytes() == text:
                port_file.unlink()
