"""In which order sources are read that have more than is read at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from leslied.model.source import Cursor, FileStamp, Shape, SourceRef
from leslied.pipeline.ingest.backlog import Backlog, count_new_bytes

PATHS = [Path(f"/logs/{name}") for name in "abcd"]


def make_source(path: Path, size: int, shape: Shape = Shape.APPEND_LOG) -> SourceRef:
    stamp = FileStamp(dev=1, inode=1, size=size, mtime_ns=1, ctime_ns=1)
    return SourceRef(
        agent="claude-code", path=path, root=path.parent, shape=shape, stamp=stamp
    )


def load(path: Path) -> tuple[SourceRef, Cursor]:
    """Return a source; those with an even letter are large."""
    return make_source(path, 10**9 if path.name in "bd" else 10), Cursor()


def is_live(source: SourceRef, cursor: Cursor) -> bool:
    return count_new_bytes(source, cursor) < 100


def test_what_was_read_goes_to_the_end():
    backlog = Backlog()
    backlog.add(PATHS[:3])

    backlog.take([load(PATHS[0])])
    backlog.add([PATHS[1], PATHS[0]])

    assert list(backlog.paths) == [PATHS[1], PATHS[2], PATHS[0]]


def test_large_sources_are_read_alone_and_live_ones_together():
    backlog = Backlog()
    backlog.add(PATHS)

    groups = backlog.iter_groups(list(backlog.paths), load, is_live)

    assert [[source.path.name for source, _ in group] for group in groups] == [
        ["b"],
        ["d"],
        ["a", "c"],
    ]


def test_a_source_that_cannot_be_read_now_leaves_the_backlog():
    backlog = Backlog()
    backlog.add(PATHS[:2])

    groups = backlog.iter_groups(list(backlog.paths), lambda _: None, is_live)

    assert list(groups) == []
    assert backlog.paths == {}


@pytest.mark.parametrize(
    ("shape", "new_bytes"),
    [
        (Shape.APPEND_LOG, 40),
        (Shape.DOCUMENT, 100),
        (Shape.COMPRESSED_LOG, 100),
        (Shape.SQLITE, 0),
    ],
)
def test_the_bytes_after_the_cursor_are_new_in_logs_only(shape: Shape, new_bytes: int):
    source = make_source(PATHS[0], 100, shape)

    assert count_new_bytes(source, Cursor(offset=60)) == new_bytes
