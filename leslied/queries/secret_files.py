"""Files into which leslied wrote secrets that it did not recognize then."""

from __future__ import annotations

import gzip
import os
import zlib
from collections import Counter
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from leslied.layout import (
    INDEX_FILE,
    INDEX_PAGE,
    LESLIE_FOLDER,
    META_FOLDER,
    RELATIONS_FILE,
    split_thread_path,
)
from leslied.sinks import MAX_READ_BYTES, read_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from leslied.queries.context import QueryContext
    from leslied.redact import Redactor

_MAX_CHECKED_FILES = 5000
"""Number of files that `doctor` reads; `secrets clean` reads all."""


class OwnFile(NamedTuple):
    """A text file that leslied wrote into a project or the central tree."""

    base: Path
    """The folder that holds `.leslie`."""
    name: str
    """Path below the base."""

    def read(self) -> str:
        """Return the text; empty if the file cannot be read or is too large."""
        data = read_file(self.base, self.name) or b""
        if self.name.endswith(".gz"):
            try:
                data = gzip.GzipFile(fileobj=BytesIO(data)).read(MAX_READ_BYTES + 1)
            except (OSError, EOFError, zlib.error):
                return ""
        if len(data) > MAX_READ_BYTES:
            return ""
        return data.decode(errors="surrogateescape")

    def encode(self, text: str) -> bytes:
        """Return the bytes of the file with this text."""
        data = text.encode(errors="surrogateescape")
        return gzip.compress(data, mtime=0) if self.name.endswith(".gz") else data


class SecretFile(Struct, frozen=True):
    """A file with secrets."""

    file: OwnFile
    counts: dict[str, int]
    """Number of secrets by kind."""


class SecretFiles(Struct, frozen=True, kw_only=True):
    """The files with secrets, before or after they were cleaned."""

    context: QueryContext
    files: tuple[SecretFile, ...]
    rendered: int = 0
    """Number of transcripts that were rendered again from the store."""
    is_done: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "done": self.is_done,
            "count": len(self.files),
            "rendered": self.rendered,
            "files": [
                {
                    "path": self.context.redact(str(each.file.base / each.file.name)),
                    "kinds": each.counts,
                }
                for each in self.files
            ],
        }


def find_secret_files(context: QueryContext, redactor: Redactor) -> SecretFiles:
    """Return the files of transcripts, indexes, relations and exports with secrets."""
    secret_files = []
    for file in iter_own_files(context):
        counts = Counter(secret.kind for secret in redactor.find(file.read()))
        if counts:
            secret_files.append(SecretFile(file, dict(counts.most_common())))
    return SecretFiles(context=context, files=tuple(secret_files))


def count_secret_files(context: QueryContext, redact: Callable[[str], str]) -> int:
    """Return how many of the first `_MAX_CHECKED_FILES` files have secrets."""
    files = islice(iter_own_files(context), _MAX_CHECKED_FILES)
    return sum(redact(text) != text for text in (file.read() for file in files))


def iter_own_files(context: QueryContext) -> Iterator[OwnFile]:
    """Yield every file that any version of leslied wrote; do not follow links."""
    folders = context.reader.sizes.list_transcript_folders()
    bases = {Path(os.fsdecode(folder)) for folder in folders}
    central = context.paths.central_dir
    # Threads whose sessions were pruned may still have files here.
    bases.update(central.iterdir() if central.is_dir() else ())
    for base in sorted(bases):
        for folder, _, names in os.walk(base / LESLIE_FOLDER):
            for name in sorted(names):
                file = OwnFile(base, str(Path(folder, name).relative_to(base)))
                if _is_own(file.name):
                    yield file


def _is_own(name: str) -> bool:
    """Return whether leslied writes a file with this path below a base."""
    if name in (INDEX_FILE, INDEX_PAGE) or name.startswith(RELATIONS_FILE):
        return True
    return split_thread_path(name)[1].startswith(f"{META_FOLDER}/")
