"""Forget sessions and texts, and check that they are in no file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from leslied import deletion
from leslied.archive import ArchiveReader
from leslied.queries.operations.forget_plan import ForgetAnswer, ForgetRequest
from tests.support.claude import ClaudeHome
from tests.support.queries import make_app


def list_holders(text: str, *folders: Path) -> list[str]:
    """Return the paths of files with the text in their bytes or names.

    Archive files are also searched decompressed, and every text is also searched as
    JSON escapes it.
    """
    needles = {text.encode(), json.dumps(text)[1:-1].encode()}
    return [
        str(path)
        for folder in folders
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and (text in path.name or any(n in d for d in _read(path) for n in needles))
    ]


def _read(path: Path) -> Iterator[bytes]:
    yield path.read_bytes()
    if path.suffix == ".zst":
        with ArchiveReader(path) as reader:
            for frame in reader.frames:
                yield json.dumps(frame.metadata).encode()
                yield b"".join(reader.read_frame(frame))


def forget(claude: ClaudeHome, session_id: str = "", text: str = "") -> ForgetAnswer:
    """Forget a session or a text."""
    request = ForgetRequest(id=session_id, text=text)
    return deletion.forget(make_app(claude), request, NoProgress())


class NoProgress:
    """Progress that nobody sees."""

    def start(self, label: str, /, *, in_bytes: bool = False) -> None:
        """Do nothing."""

    def update(self, done: int, total: int, /) -> None:
        """Do nothing."""
